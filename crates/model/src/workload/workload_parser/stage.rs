//! One stage: its jobs, what they wait for, and what each of them does.

use super::lengths::{self, NamedLengths};
use crate::event::{AccessPattern, Op, OpKey};
use crate::toml::{ConfigError, TomlEntry, TomlTable};
use crate::units::{ByteCount, Seconds};

const KEYS: [&str; 11] = [
    "name", "key", "after", "jobs", "times", "spread", "shortest", "cores", "memory", "time",
    "step",
];

/// Jobs of one kind, with a barrier behind them.
pub(super) struct Stage<'d> {
    pub(super) name: &'d str,
    pub(super) key: Option<&'d str>,
    /// Places of the stages before it.
    pub(super) after: Vec<usize>,
    pub(super) lengths: Vec<f64>,
    pub(super) cores: u32,
    pub(super) memory: Option<ByteCount>,
    pub(super) steps: Vec<StageStep<'d>>,
}

/// A step of each job of a stage.
pub(super) struct StageStep<'d> {
    pub(super) name: &'d str,
    pub(super) compute: Seconds,
    /// The time is one that was measured, storage included.
    pub(super) takes: bool,
    /// The time is of the slowest job, not of the mean one.
    pub(super) slowest: bool,
    pub(super) accesses: Vec<FamilyAccess<'d>>,
}

/// How much of files a step reads or writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AccessAmount {
    /// So many times the job's share of them.
    Times(f64),
    /// So many bytes, whatever the length of the job.
    Bytes(ByteCount),
}

/// What a step does to a family of files.
pub(super) struct FamilyAccess<'d> {
    pub(super) files: TomlEntry<'d>,
    pub(super) read: AccessAmount,
    pub(super) write: AccessAmount,
    /// Bytes that one read or write moves, and whether one goes on where the last one ended.
    pub(super) block: ByteCount,
    pub(super) pattern: AccessPattern,
    /// Other operations, of the job that times are of.
    pub(super) ops: Vec<(OpKey, f64)>,
}

impl<'d> Stage<'d> {
    pub(super) fn from_table(
        table: TomlTable<'d>,
        before: &[Self],
        named: &NamedLengths<'d>,
    ) -> Result<Self, ConfigError> {
        table.refuse_unknown_keys(&KEYS)?;
        let name = table.get_required("name")?;
        let taken = before.iter().any(|stage| Ok(stage.name) == name.as_text().map_err(drop));
        if taken {
            return Err(name.value_error(format!("there is another stage {:?}", name.as_text()?)));
        }
        let known: Vec<&str> = before.iter().map(|stage| stage.name).collect();
        let find = |item: TomlEntry<'d>| -> Result<usize, ConfigError> {
            let wanted = item.as_text()?;
            let place = known.iter().position(|name| *name == wanted);
            place.ok_or_else(|| item.unknown_name_error("stage before this one,", wanted, &known))
        };
        let after = match table.get("after") {
            None => Vec::new(),
            Some(entry) => match entry.as_list() {
                Some(items) => items.into_iter().map(find).collect::<Result<_, _>>()?,
                None => vec![find(entry)?],
            },
        };
        let slowest = match table.get("time") {
            None => false,
            Some(entry) => entry.as_one_of(&[("mean", false), ("slowest", true)])?,
        };
        let steps = table.get_required("step")?;
        let items = steps
            .as_list()
            .ok_or_else(|| steps.wrong_type_error("a list of tables, [[stage.step]]"))?;
        let steps =
            items.into_iter().map(|item| parse_step(item, slowest)).collect::<Result<_, _>>()?;
        Ok(Self {
            name: name.as_text()?,
            key: table.get("key").map(TomlEntry::as_text).transpose()?,
            after,
            lengths: lengths::job_lengths(table, named)?,
            cores: table.get_required("cores")?.as_integer(1, 1 << 16)?,
            memory: table.get("memory").map(TomlEntry::as_byte_count).transpose()?,
            steps,
        })
    }
}

impl Stage<'_> {
    /// The step of this name.
    pub(super) fn step_number(&self, name: TomlEntry<'_>) -> Option<u32> {
        let name = name.as_text().ok()?;
        self.steps.iter().position(|step| step.name == name).map(|step| step as u32)
    }
}

fn parse_step(entry: TomlEntry<'_>, slowest: bool) -> Result<StageStep<'_>, ConfigError> {
    let table = entry.as_table()?;
    table.refuse_unknown_keys(&["name", "compute", "takes", "files"])?;
    let mut accesses = Vec::new();
    if let Some(files) = table.get("files") {
        for entry in files.as_table()?.entries() {
            accesses.push(parse_file_access(entry)?);
        }
    }
    let (time, takes) = match (table.get("compute"), table.get("takes")) {
        (Some(_), Some(entry)) => {
            return Err(entry.key_error("compute says already how long it is"));
        }
        (Some(entry), None) => (entry.as_seconds()?, false),
        (None, Some(entry)) => (entry.as_seconds()?, true),
        (None, None) => (Seconds::ZERO, false),
    };
    Ok(StageStep {
        name: table.get_required("name")?.as_text()?,
        compute: time,
        takes,
        slowest,
        accesses,
    })
}

fn parse_file_access(entry: TomlEntry<'_>) -> Result<FamilyAccess<'_>, ConfigError> {
    let table = entry.as_table()?;
    table.refuse_unknown_keys(&["read", "write", "block", "random", "ops"])?;
    let much = |key| match table.get(key) {
        None => Ok(AccessAmount::Times(0.0)),
        Some(entry) if entry.as_text().is_ok() => entry.as_byte_count().map(AccessAmount::Bytes),
        Some(entry) => entry.as_number(0.0, 1e6).map(AccessAmount::Times),
    };
    let block =
        table.get("block").map(TomlEntry::as_byte_count).transpose()?.unwrap_or(ByteCount(1 << 20));
    if block == ByteCount::ZERO {
        return Err(table.table_error("a block has at least one byte"));
    }
    let random = table.get("random").map(TomlEntry::as_bool).transpose()?.unwrap_or(false);
    let mut ops = Vec::new();
    if let Some(entry) = table.get("ops") {
        let known: Vec<&str> = Op::ALL.iter().map(|op| op.name()).collect();
        entry.as_table()?.refuse_unknown_keys(&known)?;
        for entry in entry.as_table()?.entries() {
            if let Some(op) = Op::from_name(entry.key) {
                ops.push((OpKey::without_bytes(op), entry.as_number(0.0, 1e12)?));
            }
        }
    }
    Ok(FamilyAccess {
        files: entry,
        read: much("read")?,
        write: much("write")?,
        block,
        pattern: if random { AccessPattern::Random } else { AccessPattern::Sequential },
        ops,
    })
}
