//! From processes to tasks: who did the work, in the words of the workflow. Pure.
//!
//! Workflow engines are a table; each reads its own control files ([`is_control_file`] says which)
//! and claims the processes that it recognises. The last entry takes the rest by the process tree.
//! What it is not: it reads no file and knows no kernel; the run file feeds it.

mod accounts;
mod live;
mod nextflow;
mod not_seen;
pub(crate) mod process_claims;
mod processes;
mod program;
mod remote_executor;
mod snakemake;
mod trinity;

pub(crate) use accounts::{OwnUsage, usage_by_process};
pub use live::{live_task_name, task_from_control_file};
pub(crate) use not_seen::count_unseen_programs;
pub use not_seen::find_batch_submit;
pub(crate) use process_claims::{EngineNote, EngineNoteValue, ObservedRun, TaskClaims};
pub use processes::OTHERS;
pub(crate) use program::{base_name, program_name};
pub use remote_executor::{find_engine, find_remote_executor};
pub use snakemake::snakemake_output;

/// How much of a control file is looked at, in bytes; the rest need not be kept.
pub const WANTED_BYTES_MAX: usize = 64 << 10;

/// One workflow engine.
pub(crate) struct EngineAdapter {
    /// Its name in the run file.
    pub(crate) name: &'static str,
    /// Is the file with this path, relative to its tree, one of its control files?
    wanted: fn(&[u8]) -> bool,
    /// What such a file says, by its path and content.
    read: fn(&[u8], &[u8]) -> Vec<EngineNote>,
    /// Claims processes for tasks.
    claim: fn(&ObservedRun, &mut TaskClaims),
}

/// All engines, in the order in which they may claim.
pub(crate) const ENGINES: &[EngineAdapter] =
    &[nextflow::ENGINE, snakemake::ENGINE, trinity::ENGINE, processes::ENGINE];

/// Is this a control file of a workflow engine, so that its content is worth a
/// [`Fact::EngineFile`](crate::Fact::EngineFile) when it is closed? `path` is relative to its tree.
/// Cheap: meant to be asked for every file that was written.
pub fn is_control_file(path: &[u8]) -> bool {
    ENGINES.iter().any(|engine| (engine.wanted)(path))
}

/// What a control file says; nothing if it is none.
pub(crate) fn parse_control_file(path: &[u8], content: &[u8]) -> Vec<(&'static str, EngineNote)> {
    let engine = ENGINES.iter().find(|engine| (engine.wanted)(path));
    let content = &content[..content.len().min(WANTED_BYTES_MAX)];
    engine.map_or(Vec::new(), |e| {
        (e.read)(path, content).into_iter().map(|note| (e.name, note)).collect()
    })
}

/// Puts every process into a task.
pub(crate) fn assign_tasks(seen: &ObservedRun) -> TaskClaims {
    let mut claims = TaskClaims::new(seen);
    for engine in ENGINES {
        (engine.claim)(seen, &mut claims);
    }
    claims
}

#[cfg(test)]
pub(crate) mod tests;
