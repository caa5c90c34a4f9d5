//! From one run to a script of what it did to storage, which can be done again without its tools:
//! files, sizes, order, operations, and the time between them.
//!
//! It stands on what [`learn`](crate::learn) finds in a run (tasks, their order and slots, what the
//! engine took) and on the rows of its opens, not on a [`Workload`](forebay_model::Workload): that
//! has one size for many files and counts operations by how much they held up a task. What it is
//! not: it makes no file and waits for nothing; the roof does.

mod act_order;
mod directory_lifetimes;
mod initial_state;
mod lanes;
mod metadata_acts;
mod process_lanes;
mod renames;
mod replay_paths;
mod run_lookup;
mod sessions;
mod timed_act;
mod visible_files;

use crate::learn::task_sequence::{SequencedTask, collect_turns};
use crate::loaded_run::LoadedRun;
use forebay_model::run::OpenRow;
use forebay_model::{ByteCount, Run, Seconds};
use run_lookup::RunLookup;

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayScript {
    /// Directories that are there before, parents first.
    pub directories: Vec<Vec<u8>>,
    /// Files that the run read and did not make, with their sizes.
    pub inputs: Vec<(Vec<u8>, ByteCount)>,
    /// Threads of work; some start others.
    pub lanes: Vec<ReplayLane>,
    /// Lanes that an engine starts, in its order.
    pub turns: Vec<LaneStart>,
    /// Cores that are taken at once, at most.
    pub slots: u32,
    /// How many names are waited for ([`ReplayStep::wait`]).
    pub names: usize,
    /// How many open files there are in all.
    pub sessions: usize,
    /// The most that all its files take at one moment.
    pub room: ByteCount,
    /// What it does not do as the run did, in sentences.
    pub notes: Vec<String>,
}

/// A lane that an engine starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneStart {
    /// Which.
    pub lane: usize,
    /// Earlier turns that must have ended.
    pub after: Vec<usize>,
    /// Cores that it takes.
    pub cores: u32,
}

/// Steps that follow each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayLane {
    /// In their order.
    pub steps: Vec<ReplayStep>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayStep {
    /// When it happened in the run; of those that wait for each other the earliest goes first.
    pub at: Seconds,
    /// Time without storage before it.
    pub think: Seconds,
    /// What must have been done before.
    pub wait: Option<NamePrecondition>,
    /// What is done.
    pub act: ReplayAction,
    /// The name that this is about, and whether it changes what others find there.
    pub name: Option<(usize, bool)>,
}

/// What must have been done with a name, by whomever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamePrecondition {
    /// Which.
    pub name: usize,
    /// How often it was changed.
    pub changes: u32,
    /// How often it was opened.
    pub opens: u32,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenMode {
    /// It is opened to read.
    pub read: bool,
    /// It is opened to write.
    pub write: bool,
    /// It is made.
    pub create: bool,
    /// What it held goes.
    pub truncate: bool,
}

/// What is done. Sessions are open files, by number; paths are relative.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayAction {
    /// A file is opened.
    Open(usize, Vec<u8>, OpenMode),
    /// Bytes are read, in so many calls.
    Read(usize, Transfer),
    /// Bytes are written.
    Write(usize, Transfer),
    /// It is made durable.
    Sync(usize),
    /// Its times are set.
    Touch(usize),
    /// Its attributes are asked for.
    Attributes(usize),
    /// It is closed, and is so long then (if that is known).
    Close(usize, Option<ByteCount>),
    /// The attributes of what has this name are asked for.
    AttributesOf(Vec<u8>),
    /// The times of what has this name are set.
    TouchOf(Vec<u8>),
    /// A name is looked up that is there.
    Look(Vec<u8>),
    /// A name is looked up that is not there, in this directory.
    LookInVain(Vec<u8>),
    /// Permissions are asked for.
    Access(Vec<u8>),
    /// A directory is listed.
    List(Vec<u8>),
    /// A directory is made.
    Mkdir(Vec<u8>),
    /// A directory is removed.
    Rmdir(Vec<u8>),
    /// A file gets another name.
    Rename(Vec<u8>, Vec<u8>),
    /// A file is removed.
    Unlink(Vec<u8>),
    /// Another lane begins.
    Start(usize),
    /// Its end is waited for.
    Join(usize),
    /// Only time passes.
    Pause,
}

/// Bytes through one open file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// How many.
    pub bytes: u64,
    /// In so many calls; some may move nothing.
    pub calls: u64,
    /// Where the first begins, if they follow each other; who comes to `end` goes on at 0.
    pub from: u64,
    /// Where the file ends, as far as that is known.
    pub end: Option<u64>,
    /// Each begins anywhere.
    pub random: bool,
}

/// Why a run can't be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReplayError(String);

/// Makes a script of a run.
///
/// # Errors
/// The run can't be read, or did nothing to storage that was seen; the message names the file.
pub fn script_from_run(run: &Run) -> Result<ReplayScript, ReplayError> {
    let mut opens: Vec<OpenRow> = Vec::new();
    let read =
        run.for_each_open(|row| opens.push(row)).and_then(|()| LoadedRun::read_from_run(run));
    let rows = read.map_err(|error| ReplayError(error.to_string()))?;
    opens.sort_by_key(|row| (row.open.opened, row.open.file));
    script_from_rows(&rows, &opens)
        .map_err(|why| ReplayError(format!("{}: {why}", run.path().display())))
}

fn script_from_rows(rows: &LoadedRun, opens: &[OpenRow]) -> Result<ReplayScript, String> {
    if opens.is_empty() {
        let origin = rows.header.origin.name();
        return Err(format!("this {origin} run has no file that was opened: nothing to replay"));
    }
    let turns = collect_turns(rows)?;
    let mut told = RunLookup::from_rows(rows, opens, &turns);
    renames::infer_renames(&mut told);
    let mut script = ReplayScript { slots: turns.slots, ..ReplayScript::default() };
    let acts = act_order::collect_acts(&told, &mut script);
    lanes::lay_out_lanes(&told, acts, &mut script);
    initial_state::add_initial_state(&told, &mut script);
    Ok(script)
}

/// The turn of each task.
type TurnByTask = std::collections::BTreeMap<u32, usize>;

fn turns_by_task(turns: &[SequencedTask]) -> TurnByTask {
    turns.iter().enumerate().map(|(at, turn)| (turn.task, at)).collect()
}

#[cfg(test)]
mod tests;
