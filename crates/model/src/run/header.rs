//! The header of a run: what ran, where, by what.

use super::sql::{
    SqlText, bytes_of_value, from_sql_int, text_value, to_sql_int, words_from_json, words_to_json,
};
use crate::{ByteCount, CommandExit, Micros, Privacy, RunEnd};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use std::collections::BTreeMap;

/// Whether a run happened or was computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOrigin {
    /// It happened.
    #[default]
    Measured,
    /// It was computed by the simulator.
    Simulated,
    /// It happened, and another tool's records tell it.
    Imported,
}

impl RunOrigin {
    const ALL: [Self; 3] = [Self::Measured, Self::Simulated, Self::Imported];

    /// The name in the run file.
    pub const fn name(self) -> &'static str {
        ["measured", "simulated", "imported"][self as usize]
    }

    fn from_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|origin| origin.name() == name).unwrap_or_default()
    }
}

/// What is known when a run starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Version of Forebay, such as `0.1.0`.
    pub forebay: String,
    /// Whether it happened.
    pub origin: RunOrigin,
    /// Start in microseconds since 1970 (UTC).
    pub started_unix: Micros,
    /// The command's words.
    pub command: Vec<Vec<u8>>,
    /// Where it was started, absolute.
    pub directory: Vec<u8>,
    /// Name of the machine, if known.
    pub host: Option<String>,
    /// Name of the user, if known.
    pub user: Option<String>,
    /// Kernel release, if known.
    pub kernel: Option<String>,
    /// Cores that the command may use, if known.
    pub cpus: Option<u32>,
    /// Memory of the machine, if known.
    pub memory: Option<ByteCount>,
    /// What may be told.
    pub privacy: Privacy,
    /// Anything else worth keeping, as `(key, value)`; keys start with a letter and name the unit.
    /// Those that Forebay reads again are [`note_key`](super::note_key)'s.
    pub more: Vec<(String, String)>,
}

/// Names of the keys in table `header`.
pub(super) mod key {
    pub(in crate::run) const COMMAND: &str = "command";
    pub(in crate::run) const DIRECTORY: &str = "directory";
    pub(in crate::run) const HOST: &str = "host";
    pub(in crate::run) const USER: &str = "user";
    pub(in crate::run) const COMMANDS: &str = "commands";
    pub(in crate::run) const ANONYMISED: &str = "anonymised";
    pub(in crate::run) const SEALED: &str = "sealed";
    pub(in crate::run) const FOLDED: &str = "folded";
    pub(in crate::run) const COMPLETE: &str = "complete";
    pub(in crate::run) const ENDED: &str = "ended_us";
    pub(in crate::run) const STATUS: &str = "exit_status";
    pub(in crate::run) const SIGNAL: &str = "exit_signal";
    pub(in crate::run) const CPU_USER: &str = "cpu_user_us";
    pub(in crate::run) const CPU_SYSTEM: &str = "cpu_system_us";
}

/// Sets one key.
pub(super) fn set_value(
    c: &Connection,
    key: &str,
    value: impl Into<Value>,
) -> rusqlite::Result<()> {
    c.prepare_cached("INSERT OR REPLACE INTO header VALUES (?1, ?2)")?
        .execute(params![key, value.into()])?;
    Ok(())
}

/// Reads one key as bytes.
pub(super) fn get_bytes(c: &Connection, key: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    c.prepare_cached("SELECT value FROM header WHERE key = ?1")?
        .query_row([key], |row| Ok(bytes_of_value(row.get_ref(0)?)))
        .optional()
        .map(Option::flatten)
}

/// Reads one key as a number.
pub(super) fn get_int(c: &Connection, key: &str) -> rusqlite::Result<Option<i64>> {
    c.prepare_cached("SELECT value FROM header WHERE key = ?1")?
        .query_row([key], |row| Ok(row.get_ref(0)?.as_i64().ok()))
        .optional()
        .map(Option::flatten)
}

/// All of the table `header`: one query for what else would be one for each key.
#[derive(Debug)]
pub(super) struct HeaderTable(BTreeMap<String, Value>);

impl HeaderTable {
    /// Reads them. Keys are text; of a foreign hand, anything else is passed over.
    pub(super) fn read(c: &Connection) -> rusqlite::Result<Self> {
        let mut statement = c.prepare_cached("SELECT key, value FROM header")?;
        let mut rows = statement.query([])?;
        let mut values = BTreeMap::new();
        while let Some(row) = rows.next()? {
            if let Ok(name) = row.get_ref(0)?.as_str() {
                let value = match row.get_ref(1)? {
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => text_value(bytes.to_vec()),
                    ValueRef::Integer(number) => Value::Integer(number),
                    ValueRef::Null | ValueRef::Real(_) => Value::Null,
                };
                values.insert(name.to_owned(), value);
            }
        }
        Ok(Self(values))
    }

    /// One key as bytes.
    pub(super) fn bytes(&self, key: &str) -> Option<Vec<u8>> {
        bytes_of_value(self.0.get(key)?.into())
    }

    /// One key as a number.
    pub(super) fn int(&self, key: &str) -> Option<i64> {
        match self.0.get(key)? {
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.int(key).map(from_sql_int)
    }

    fn string(&self, key: &str) -> Option<String> {
        self.bytes(key).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Whether it happened.
    pub(super) fn origin(&self) -> RunOrigin {
        RunOrigin::from_name(&self.string("origin").unwrap_or_default())
    }

    /// How the command ended; `None` if that was not written.
    pub(super) fn end(&self) -> Option<RunEnd> {
        let at = self.number(key::ENDED)?;
        let small = |key| self.int(key).and_then(|n| i32::try_from(n).ok());
        let exit = match (small(key::STATUS), small(key::SIGNAL)) {
            (Some(code), _) => Some(CommandExit::Code(code)),
            (None, Some(signal)) => Some(CommandExit::Signal(signal)),
            (None, None) => None,
        };
        Some(RunEnd {
            at: Micros(at),
            exit,
            cpu_user: self.number(key::CPU_USER).map(Micros),
            cpu_system: self.number(key::CPU_SYSTEM).map(Micros),
            complete: self.int(key::COMPLETE) == Some(1),
        })
    }
}

impl Header {
    /// Writes all keys of a run that starts.
    pub(super) fn store(&self, c: &Connection) -> rusqlite::Result<()> {
        set_value(c, "forebay", self.forebay.clone())?;
        set_value(c, "origin", self.origin.name().to_owned())?;
        set_value(c, "started_unix_us", to_sql_int(self.started_unix.0))?;
        let words = crate::privacy::mask_words(&self.command);
        set_value(c, key::COMMAND, words_to_json(words.iter().map(|word| &**word)))?;
        set_value(c, key::DIRECTORY, text_value(self.directory.clone()))?;
        set_value(c, key::HOST, self.host.clone())?;
        set_value(c, key::USER, self.user.clone())?;
        set_value(c, "kernel", self.kernel.clone())?;
        set_value(c, "cpus", self.cpus.map(i64::from))?;
        set_value(c, "memory_bytes", self.memory.map(|m| to_sql_int(m.0)))?;
        let commands = match self.privacy.commands {
            crate::CommandPrivacy::Masked => "masked",
            crate::CommandPrivacy::LeftOut => "left out",
        };
        set_value(c, key::COMMANDS, commands.to_owned())?;
        set_value(c, key::ANONYMISED, i64::from(self.privacy.anonymise.is_some()))?;
        set_value(c, key::SEALED, 0)?;
        set_value(c, key::FOLDED, 0)?;
        set_value(c, key::COMPLETE, 0)?;
        store_notes(c, &self.more)
    }

    /// What a header says. The salt of an anonymised run is gone for good, so `privacy` is not told.
    pub(super) fn of_table(table: &HeaderTable) -> Self {
        let more = table.0.iter().filter_map(|(key, value)| {
            let value = bytes_of_value(value.into()).unwrap_or_default();
            Some((key.strip_prefix("more.")?.to_owned(), String::from_utf8_lossy(&value).into()))
        });
        Self {
            forebay: table.string("forebay").unwrap_or_default(),
            origin: table.origin(),
            started_unix: Micros(table.number("started_unix_us").unwrap_or(0)),
            command: words_from_json(&table.string(key::COMMAND).unwrap_or_default()),
            directory: table.bytes(key::DIRECTORY).unwrap_or_default(),
            host: table.string(key::HOST),
            user: table.string(key::USER),
            kernel: table.string("kernel"),
            cpus: table.number("cpus").and_then(|n| u32::try_from(n).ok()),
            memory: table.number("memory_bytes").map(ByteCount),
            privacy: Privacy::default(),
            more: more.collect(),
        }
    }
}

/// Keeps notes among what the header says.
pub(super) fn store_notes(c: &Connection, notes: &[(String, String)]) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO header VALUES (?1, ?2)";
    for (name, value) in notes {
        c.execute(sql, params![format!("more.{name}"), SqlText(value.as_bytes())])?;
    }
    Ok(())
}

/// Writes how the command ended.
pub(super) fn store_end(c: &Connection, ended: &RunEnd) -> rusqlite::Result<()> {
    let (status, signal) = match ended.exit {
        Some(CommandExit::Code(code)) => (Some(i64::from(code)), None),
        Some(CommandExit::Signal(signal)) => (None, Some(i64::from(signal))),
        None => (None, None),
    };
    set_value(c, key::ENDED, to_sql_int(ended.at.0))?;
    set_value(c, key::STATUS, status)?;
    set_value(c, key::SIGNAL, signal)?;
    set_value(c, key::CPU_USER, ended.cpu_user.map(|t| to_sql_int(t.0)))?;
    set_value(c, key::CPU_SYSTEM, ended.cpu_system.map(|t| to_sql_int(t.0)))?;
    set_value(c, key::COMPLETE, i64::from(ended.complete))
}

/// Reads how the command ended; `None` if that was not written.
pub(super) fn load_end(c: &Connection) -> rusqlite::Result<Option<RunEnd>> {
    Ok(HeaderTable::read(c)?.end())
}
