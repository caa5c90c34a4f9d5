//! The micro workloads: one entry each in `WORKLOADS`. File system calls only, nothing else.
//!
//! `setup` and `verify` run on the bare directory, as the same user as the measured `run`; those of
//! covered runs with packed files run covered as well, since nobody else sees such files.

use crate::error::{Error, ErrorContext, Kind, Result};
use crate::measure::{Measurement, Meter};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::ffi::{CString, OsString};
use std::path::Path;

mod append;
mod entries;
mod large_files;
mod metadata_operations;
mod packed_files;
mod process;
mod small;
mod unmounted;
mod uring;
mod whole_folders;

/// How much work is done; 1.0 is what the tables are made with.
#[derive(Debug, Clone, Copy)]
pub struct WorkScale(pub f64);

impl WorkScale {
    /// `full` operations, scaled, at least one.
    pub fn scaled_ops(self, full: u64) -> u64 {
        ((full as f64 * self.0) as u64).max(1)
    }

    /// `full` seconds, scaled.
    pub fn scaled_seconds(self, full: f64) -> f64 {
        full * self.0
    }
}

/// Where a workload works.
#[derive(Debug)]
pub struct WorkDirectory<'a> {
    /// The directory, as given.
    pub path: &'a Path,
    /// The directory, open: after the cover, if there is one.
    pub dir: OwnedFd,
    /// How much work.
    pub scale: WorkScale,
    /// Put before the command of workloads that start commands themselves; `{}` is a number.
    pub prefix: &'a [OsString],
}

impl<'a> WorkDirectory<'a> {
    /// Opens `path`.
    pub fn open(path: &'a Path, scale: WorkScale, prefix: &'a [OsString]) -> Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty()).with_context("open", path)?;
        Ok(Self { path, dir, scale, prefix })
    }

    /// True when the directory is on a FUSE file system.
    pub fn is_on_fuse(&self) -> Result<bool> {
        Ok(rustix::fs::fstatfs(&self.dir)?.f_type as i64 == 0x6573_5546)
    }
}

/// What the figure of a workload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureUnit {
    /// Operations per second.
    OpsPerSecond,
    /// MiB per second.
    MibPerSecond,
    /// Milliseconds per operation.
    MsPerOp,
}

/// How the files of covered runs are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileLayout {
    /// In place, each a file: no rule.
    Plain,
    /// In place, recorded from the kernel: root's runs alone.
    Unmounted,
    /// In place, recorded while system calls wait.
    Watched,
    /// By a rule, all in one log on a tier, which is on the same file system as the bare files.
    Packed,
    /// By a rule, in a folder that is on a tier as a whole.
    WholeFolder(TierMedium),
}

/// Where a tier is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierMedium {
    /// In memory (tmpfs).
    Memory,
    /// On the file system of the bare files.
    SameFileSystem,
}

impl FileLayout {
    /// Where a workload works, below its directory.
    pub fn work_directory(self) -> &'static str {
        match self {
            Self::Plain | Self::Unmounted | Self::Watched | Self::Packed => ".",
            Self::WholeFolder(_) => "folder",
        }
    }
}

/// One workload.
#[derive(Debug)]
pub struct Workload {
    /// Its name on the command line and in the tables.
    pub name: &'static str,
    /// One operation, in words.
    pub operation: &'static str,
    /// What its figure is.
    pub unit: FigureUnit,
    /// Drop all caches (root) before the measured run.
    pub cold: bool,
    /// It starts `forebay run` itself instead of being run under it.
    pub starts_runs: bool,
    /// Requests of its managed runs come through io_uring, else through `/dev/fuse`.
    pub over_uring: bool,
    /// How the files of its covered runs are stored.
    pub layout: FileLayout,
    /// Makes what the workload needs.
    pub setup: fn(&WorkDirectory<'_>) -> Result<()>,
    /// Does the measured work.
    pub run: fn(&WorkDirectory<'_>, &mut Meter) -> Result<()>,
    /// Looks at the bare directory afterwards.
    pub verify: fn(&WorkDirectory<'_>) -> Result<()>,
    /// Each how many operations one is timed on its own.
    pub sample_every: u64,
}

/// All workloads, in the order of the tables.
pub fn all_workloads() -> impl Iterator<Item = &'static Workload> {
    let data = [
        large_files::WORKLOADS,
        small::WORKLOADS,
        metadata_operations::WORKLOADS,
        append::WORKLOADS,
    ];
    let rules =
        [packed_files::WORKLOADS, uring::WORKLOADS, whole_folders::WORKLOADS, unmounted::WORKLOADS];
    data.into_iter().chain(rules).chain([process::WORKLOADS]).flatten()
}

/// The workload called `name`.
pub fn find_workload(name: &str) -> Result<&'static Workload> {
    all_workloads().find(|workload| workload.name == name).ok_or_else(|| {
        let names: Vec<_> = all_workloads().map(|workload| workload.name).collect();
        Error::new(Kind::Usage, format!("no workload {name}; there are {}", names.join(", ")))
    })
}

/// Runs the measured part of `workload` in `path`.
pub fn measure_workload(
    workload: &Workload,
    path: &Path,
    scale: WorkScale,
    prefix: &[OsString],
) -> Result<Measurement> {
    let place = WorkDirectory::open(path, scale, prefix)?;
    let mut meter = Meter::new(workload.sample_every);
    (workload.run)(&place, &mut meter)?;
    let mut done = meter.finish();
    done.on_fuse = place.is_on_fuse()?;
    Ok(done)
}

/// For workloads without setup or verify.
fn do_nothing(_: &WorkDirectory<'_>) -> Result<()> {
    Ok(())
}

/// `prefix000000`, `prefix000001`, …, made before the clock starts.
fn numbered_names(prefix: &str, count: u64) -> Vec<CString> {
    (0..count)
        .map(|at| CString::new(format!("{prefix}{at:06}")).expect("no NUL in a decimal number"))
        .collect()
}

#[cfg(test)]
mod tests;
