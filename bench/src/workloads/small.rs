//! Small files: made, read, appended, replaced, one after the other in one directory.

use super::{FigureUnit, FileLayout, WorkDirectory, Workload, do_nothing, numbered_names};
use crate::error::{Error, Result};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::{read, write};
use std::ffi::CStr;

/// Size of a small file: the marker and log files of a workflow engine are about this long.
pub(super) const SMALL: usize = 300;
pub(super) const CREATED: u64 = 10_000;
const READ: u64 = 5_000;
const REPLACED: u64 = 3_000;

const BASE: Workload = Workload {
    name: "",
    operation: "",
    unit: FigureUnit::OpsPerSecond,
    cold: false,
    starts_runs: false,
    over_uring: false,
    layout: FileLayout::Plain,
    setup: |place| create_small_files(place, READ),
    run: |_, _| Ok(()),
    verify: do_nothing,
    sample_every: 16,
};

/// Small files made one after the other.
pub(super) const CREATE: Workload = Workload {
    name: "create-300",
    operation: "open(O_CREAT|O_EXCL), write 300 B, close; 10,000 new files",
    setup: do_nothing,
    run: |place, meter| {
        let names = numbered_names("f", place.scale.scaled_ops(CREATED));
        meter.measure_pass(names.len() as u64, |at| {
            create_small_file(place, &names[at as usize], at)
        })
    },
    verify: |place| check_small_files(place, CREATED),
    ..BASE
};

/// Small files read for the first time.
pub(super) const READ_FIRST: Workload = Workload {
    name: "read-small-first",
    operation: "open, read 300 B, close; 5,000 files new to the run",
    run: |place, meter| {
        let names = numbered_names("f", place.scale.scaled_ops(READ));
        meter.measure_pass(names.len() as u64, |at| read_small_file(place, &names[at as usize], at))
    },
    ..BASE
};

/// The workloads on small files.
pub(super) static WORKLOADS: &[Workload] = &[
    CREATE,
    READ_FIRST,
    Workload {
        name: "read-small-again",
        operation: "open, read 300 B, close; the same files once more and again",
        run: |place, meter| {
            let names = numbered_names("f", place.scale.scaled_ops(READ));
            let count = names.len() as u64;
            meter.warm_up(count, |at| read_small_file(place, &names[at as usize], at))?;
            let seconds = place.scale.scaled_seconds(0.5);
            meter.measure_passes(count, seconds, |at| {
                read_small_file(place, &names[at as usize], at)
            })
        },
        ..BASE
    },
    Workload {
        name: "replace",
        operation: "create a temporary file of 300 B, rename it over an existing name",
        setup: |place| create_small_files(place, REPLACED),
        run: |place, meter| {
            let names = numbered_names("f", place.scale.scaled_ops(REPLACED));
            let temporary = numbered_names("t", names.len() as u64);
            meter.measure_pass(names.len() as u64, |at| {
                let new = &temporary[at as usize];
                let bytes = create_small_file(place, new, at)?;
                rustix::fs::renameat(&place.dir, new, &place.dir, &names[at as usize])?;
                Ok(bytes)
            })
        },
        verify: |place| check_small_files(place, REPLACED),
        ..BASE
    },
];

fn small_content(at: u64) -> [u8; SMALL] {
    let mut bytes = [b'x'; SMALL];
    bytes[..8].copy_from_slice(&at.to_le_bytes());
    bytes
}

/// Creates one small file.
pub(super) fn create_small_file(place: &WorkDirectory<'_>, name: &CStr, at: u64) -> Result<u64> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let file = rustix::fs::openat(&place.dir, name, flags, mode)?;
    match write(&file, &small_content(at))? {
        SMALL => Ok(SMALL as u64),
        got => Err(Error::check_failed(format!("wrote {got} of {SMALL} bytes"))),
    }
}

fn read_small_file(place: &WorkDirectory<'_>, name: &CStr, at: u64) -> Result<u64> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&place.dir, name, flags, Mode::empty())?;
    let mut buffer = [0; 4096];
    let got = read(&file, &mut buffer)?;
    if got != SMALL || buffer[..8] != at.to_le_bytes() {
        return Err(Error::check_failed(format!("{name:?} came with {got} other bytes")));
    }
    Ok(got as u64)
}

/// Makes `full` (scaled) small files, for this and the other groups.
pub(super) fn create_small_files(place: &WorkDirectory<'_>, full: u64) -> Result<()> {
    for (at, name) in numbered_names("f", place.scale.scaled_ops(full)).iter().enumerate() {
        create_small_file(place, name, at as u64)?;
    }
    Ok(())
}

/// Each name is there with its own bytes, and nothing else is.
pub(super) fn check_small_files(place: &WorkDirectory<'_>, full: u64) -> Result<()> {
    let names = numbered_names("f", place.scale.scaled_ops(full));
    for (at, name) in names.iter().enumerate() {
        read_small_file(place, name, at as u64)?;
        rustix::fs::statat(&place.dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    }
    super::entries::check_entry_count(place, names.len() as u64)
}
