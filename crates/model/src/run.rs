//! The run file: one SQLite file that tells one run, measured or simulated.
//!
//! [`RunWriter`] writes it crash-safe while the run lasts and copies it out; [`Run`] reads it. The
//! schema is `run/schema.sql`, described in docs/formats/run.md. What it is not: it decides nothing about
//! tasks and adds nothing up for people.

mod anonymised_copy;
mod copy;
mod given;
mod header;
mod identity;
mod join;
mod machine_samples;
mod network;
mod note;
pub mod note_key;
mod reader;
mod run_file_check;
mod sql;
mod task_aggregation;
mod untrusted_file;
mod writer;

pub use crate::run_rows::{
    IoWait, OpKind, OpRow, OpenRow, ProcessRow, TaskRow, UnrelatedProcesses,
};
pub use header::{Header, RunOrigin};
pub use identity::RunIdentity;
pub use join::{JoinPart, JoinReport, LostJob, NodeRow, PartOpener};
pub use reader::Run;
pub use writer::RunWriter;

/// `PRAGMA application_id` of a run file: "FBRN".
pub const APPLICATION_ID: i32 = 0x4642_524E;

/// `PRAGMA user_version` that this Forebay writes, and the newest that it reads.
pub const SCHEMA_VERSION: i32 = 4;

pub(crate) const SCHEMA: &str = include_str!("run/schema.sql");

#[cfg(test)]
mod tests;
