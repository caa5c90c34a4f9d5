//! The nouns of Forebay: units, the facts that a run is made of, the run file, sites and rules.
//!
//! This crate is the ground floor: it knows no kernel, no clock and no terminal. The volume writes
//! [`Fact`]s through a [`RunWriter`]; everything else reads a [`Run`]. What it is not: it measures
//! nothing and prints nothing.

pub mod attached;
pub mod bucket_url;
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

pub use self::toml::ConfigError;
pub use attached::{Attachment, AttachmentSet};
pub use dates::civil_from_days;
pub use error::{Error, Kind, Result};
pub use event::{
    AccessPattern, ClassId, CommandExit, CpuSample, DeviceSample, DirectoryTree, EngineFile, Fact,
    FileId, FileRecord, IoCount, MachineSample, MemorySample, NetworkSample, Op, OpCount, OpDelta,
    OpGroup, OpKey, OpenSession, OutsideFile, PressureSample, Process, ProcessCounters, ProcessId,
    ProcessIo, ProcessUsage, ReportedTask, RunEnd, SizeClass, TreeId,
};
pub use file_name::{NAME_MAX, is_file_name};
pub use machine_timeline::{MachineTimeline, align_machines};
pub use prices::{BillingUnit, Price, Prices};
pub use privacy::{CommandPrivacy, Privacy, Salt};
pub use profile::StorageProfile;
pub use rules::{
    BucketRules, CacheRule, FileLayout, FileLocation, FsyncMode, FsyncTarget, FullTierPolicy,
    Placement, PrefetchMode, Rules, RunEndAction, WholeFolder, WriteBackTrigger,
};
pub use run::{Header, Run, RunOrigin, RunWriter};
pub use site::{Nodes, Reach, Site, Tier, TierId};
pub use study::Study;
pub use summary::Summary;
pub use units::{ByteCount, Micros, ParseByteCountError, ParseRealError, Rate, Seconds, Usd};
pub use workload::Workload;
