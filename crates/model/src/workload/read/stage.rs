//! One stage: its jobs, what they wait for, and what each of them does.

use super::lengths::{self, Named};
use crate::event::{Op, OpKey, Pattern};
use crate::toml::{Entry, Flaw, Table};
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
    pub(super) steps: Vec<ReadStep<'d>>,
}

/// A step of each job of a stage.
pub(super) struct ReadStep<'d> {
    pub(super) name: &'d str,
    pub(super) compute: Seconds,
    /// The time is one that was measured, storage included.
    pub(super) takes: bool,
    /// The time is of the slowest job, not of the mean one.
    pub(super) slowest: bool,
    pub(super) accesses: Vec<Used<'d>>,
}

/// How much of files a step reads or writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Much {
    /// So many times the job's share of them.
    Times(f64),
    /// So many bytes, whatever the length of the job.
    Bytes(ByteCount),
}

/// What a step does to a family of files.
pub(super) struct Used<'d> {
    pub(super) files: Entry<'d>,
    pub(super) read: Much,
    pub(super) write: Much,
    /// Bytes that one read or write moves, and whether one goes on where the last one ended.
    pub(super) block: ByteCount,
    pub(super) pattern: Pattern,
    /// Other operations, of the job that times are of.
    pub(super) ops: Vec<(OpKey, f64)>,
}

impl<'d> Stage<'d> {
    pub(super) fn read(table: Table<'d>, before: &[Self], named: &Named<'d>) -> Result<Self, Flaw> {
        table.only(&KEYS)?;
        let name = table.need("name")?;
        let taken = before.iter().any(|stage| Ok(stage.name) == name.text().map_err(drop));
        if taken {
            return Err(name.flaw(format!("there is another stage {:?}", name.text()?)));
        }
        let known: Vec<&str> = before.iter().map(|stage| stage.name).collect();
        let find = |item: Entry<'d>| -> Result<usize, Flaw> {
            let wanted = item.text()?;
            let place = known.iter().position(|name| *name == wanted);
            place.ok_or_else(|| item.unknown("stage before this one,", wanted, &known))
        };
        let after = match table.get("after") {
            None => Vec::new(),
            Some(entry) => match entry.items() {
                Some(items) => items.into_iter().map(find).collect::<Result<_, _>>()?,
                None => vec![find(entry)?],
            },
        };
        let slowest = match table.get("time") {
            None => false,
            Some(entry) => entry.word(&[("mean", false), ("slowest", true)])?,
        };
        let steps = table.need("step")?;
        let items = steps.items().ok_or_else(|| steps.not("a list of tables, [[stage.step]]"))?;
        let steps = items.into_iter().map(|item| step(item, slowest)).collect::<Result<_, _>>()?;
        Ok(Self {
            name: name.text()?,
            key: table.get("key").map(Entry::text).transpose()?,
            after,
            lengths: lengths::of(table, named)?,
            cores: table.need("cores")?.whole(1, 1 << 16)?,
            memory: table.get("memory").map(Entry::bytes).transpose()?,
            steps,
        })
    }
}

impl Stage<'_> {
    /// The step of this name.
    pub(super) fn step(&self, name: Entry<'_>) -> Option<u32> {
        let name = name.text().ok()?;
        self.steps.iter().position(|step| step.name == name).map(|step| step as u32)
    }
}

fn step(entry: Entry<'_>, slowest: bool) -> Result<ReadStep<'_>, Flaw> {
    let table = entry.table()?;
    table.only(&["name", "compute", "takes", "files"])?;
    let mut accesses = Vec::new();
    if let Some(files) = table.get("files") {
        for entry in files.table()?.entries() {
            accesses.push(used(entry)?);
        }
    }
    let (time, takes) = match (table.get("compute"), table.get("takes")) {
        (Some(_), Some(entry)) => {
            return Err(entry.key_flaw("compute says already how long it is"));
        }
        (Some(entry), None) => (entry.seconds()?, false),
        (None, Some(entry)) => (entry.seconds()?, true),
        (None, None) => (Seconds::ZERO, false),
    };
    Ok(ReadStep { name: table.need("name")?.text()?, compute: time, takes, slowest, accesses })
}

fn used(entry: Entry<'_>) -> Result<Used<'_>, Flaw> {
    let table = entry.table()?;
    table.only(&["read", "write", "block", "random", "ops"])?;
    let much = |key| match table.get(key) {
        None => Ok(Much::Times(0.0)),
        Some(entry) if entry.text().is_ok() => entry.bytes().map(Much::Bytes),
        Some(entry) => entry.number(0.0, 1e6).map(Much::Times),
    };
    let block = table.get("block").map(Entry::bytes).transpose()?.unwrap_or(ByteCount(1 << 20));
    if block == ByteCount::ZERO {
        return Err(table.flaw("a block has at least one byte"));
    }
    let random = table.get("random").map(Entry::truth).transpose()?.unwrap_or(false);
    let mut ops = Vec::new();
    if let Some(entry) = table.get("ops") {
        let known: Vec<&str> = Op::ALL.iter().map(|op| op.name()).collect();
        entry.table()?.only(&known)?;
        for entry in entry.table()?.entries() {
            if let Some(op) = Op::from_name(entry.key) {
                ops.push((OpKey::plain(op), entry.number(0.0, 1e12)?));
            }
        }
    }
    Ok(Used {
        files: entry,
        read: much("read")?,
        write: much("write")?,
        block,
        pattern: if random { Pattern::Random } else { Pattern::Sequential },
        ops,
    })
}
