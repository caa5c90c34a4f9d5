//! Appending: a log with a sync after each line, and the shell's `>>`.

use super::{FigureUnit, FileLayout, WorkDirectory, Workload, do_nothing};
use crate::error::{Error, Result};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::write;

const LINE: &[u8; 100] = &[b'l'; 100];
const LOG: &str = "log.txt";
const REOPENED: u64 = 5_000;

/// A journal.
pub(super) const SYNCED: Workload = Workload {
    name: "append-fsync",
    operation: "write 100 B to an open log, fsync; for 1 s",
    unit: FigureUnit::OpsPerSecond,
    cold: false,
    starts_runs: false,
    over_uring: false,
    layout: FileLayout::Plain,
    setup: |place| append_line(&open_log(place)?).map(drop),
    run: |place, meter| {
        let file = open_log(place)?;
        meter.warm_up(1, |_| append_line(&file))?;
        meter.measure_passes(20, place.scale.scaled_seconds(1.0), |_| {
            let bytes = append_line(&file)?;
            rustix::fs::fsync(&file)?;
            Ok(bytes)
        })
    },
    verify: do_nothing,
    sample_every: 1,
};

/// The workloads that append.
pub(super) static WORKLOADS: &[Workload] = &[
    SYNCED,
    Workload {
        name: "append-open",
        operation: "open(O_APPEND|O_CREAT), write 100 B, close, as `>>` does; 5,000 times",
        unit: FigureUnit::OpsPerSecond,
        cold: false,
        starts_runs: false,
        over_uring: false,
        layout: FileLayout::Plain,
        setup: do_nothing,
        run: |place, meter| {
            meter.measure_pass(place.scale.scaled_ops(REOPENED), |_| append_line(&open_log(place)?))
        },
        verify: |place| {
            let found = rustix::fs::statat(&place.dir, LOG, AtFlags::empty())?.st_size as u64;
            match place.scale.scaled_ops(REOPENED) * LINE.len() as u64 {
                expected if expected == found => Ok(()),
                expected => Err(Error::check_failed(format!("{LOG}: {found} of {expected} bytes"))),
            }
        },
        sample_every: 16,
    },
];

fn open_log(place: &WorkDirectory<'_>) -> Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::APPEND | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(&place.dir, LOG, flags, Mode::RUSR | Mode::WUSR)?)
}

fn append_line(file: &OwnedFd) -> Result<u64> {
    match write(file, LINE)? {
        100 => Ok(100),
        got => Err(Error::check_failed(format!("wrote {got} of 100 bytes"))),
    }
}
