//! The nouns of Forebay: units, the facts that a run is made of, the run file, sites and rules.
//!
//! This crate is the ground floor: it knows no kernel, no clock and no terminal. The volume writes
//! [`Fact`]s through a [`RunWriter`]; everything else reads a [`Run`]. What it is not: it measures
//! nothing and prints nothing.

pub mod attached;
mod dates;
pub mod error;
pub mod event;
pub mod file_classes;
mod file_name;
pub mod machine_timeline;
pub mod name_escaping;
pub mod prices;
pub mod privacy;
pub mod profile;
mod reach;
pub mod rules;
#[allow(clippy::disallowed_methods)]
// The run file: the one thing that this floor reads and writes.
pub mod run;
pub mod run_rows;
pub mod site;
pub mod study;
pub mod summary;
pub mod tasks;
mod toml;
pub mod units;
pub mod workload;

pub use self::toml::Flaw;
pub use attached::{Attached, Attachment};
pub use dates::civil_from_days;
pub use error::{Error, Kind, Result};
pub use event::{
    ClassId, Cpu, Device, Ended, EngineFile, Exit, Fact, File, FileId, GivenTask, Io, Memory,
    Network, Op, OpCount, OpGroup, OpKey, Open, Ops, Outside, Pattern, Pressure, Process,
    ProcessCounters, ProcessId, ProcessIo, ProcessUsage, Sample, SizeClass, Tree, TreeId,
};
pub use file_name::{NAME_MAX, is_file_name};
pub use machine_timeline::{Machine, align_machines};
pub use prices::{Per, Price, Prices};
pub use privacy::{Commands, Privacy, Salt};
pub use profile::Profile;
pub use rules::{
    After, Ahead, Cache, Drain, Fsync, Full, Home, Kept, Layout, Placement, Rules, SyncTo,
};
pub use run::{Header, Origin, Run, RunWriter};
pub use site::{Nodes, Reach, Site, Tier, TierId};
pub use study::Study;
pub use summary::Summary;
pub use units::{ByteCount, Micros, NotBytes, NotReal, Rate, Seconds, Usd};
pub use workload::Workload;
