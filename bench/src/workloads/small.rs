//! Small files: made, read, appended, replaced, one after the other in one directory.

use super::{Layout, Place, Unit, Workload, names_of, nothing};
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
    unit: Unit::OpsPerSecond,
    cold: false,
    starts_runs: false,
    layout: Layout::Plain,
    setup: |place| make(place, READ),
    run: |_, _| Ok(()),
    verify: nothing,
    sample_every: 16,
};

/// Small files made one after the other.
pub(super) const CREATE: Workload = Workload {
    name: "create-300",
    operation: "open(O_CREAT|O_EXCL), write 300 B, close; 10,000 new files",
    setup: nothing,
    run: |place, meter| {
        let names = names_of("f", place.scale.ops(CREATED));
        meter.once(names.len() as u64, |at| create(place, &names[at as usize], at))
    },
    verify: |place| check(place, CREATED),
    ..BASE
};

/// The workloads on small files.
pub(super) static WORKLOADS: &[Workload] = &[
    CREATE,
    Workload {
        name: "read-small-first",
        operation: "open, read 300 B, close; 5,000 files new to the run",
        run: |place, meter| {
            let names = names_of("f", place.scale.ops(READ));
            meter.once(names.len() as u64, |at| read_one(place, &names[at as usize], at))
        },
        ..BASE
    },
    Workload {
        name: "read-small-again",
        operation: "open, read 300 B, close; the same files once more and again",
        run: |place, meter| {
            let names = names_of("f", place.scale.ops(READ));
            let count = names.len() as u64;
            meter.warm(count, |at| read_one(place, &names[at as usize], at))?;
            let seconds = place.scale.seconds(0.5);
            meter.passes(count, seconds, |at| read_one(place, &names[at as usize], at))
        },
        ..BASE
    },
    Workload {
        name: "replace",
        operation: "create a temporary file of 300 B, rename it over an existing name",
        setup: |place| make(place, REPLACED),
        run: |place, meter| {
            let names = names_of("f", place.scale.ops(REPLACED));
            let temporary = names_of("t", names.len() as u64);
            meter.once(names.len() as u64, |at| {
                let new = &temporary[at as usize];
                let bytes = create(place, new, at)?;
                rustix::fs::renameat(&place.dir, new, &place.dir, &names[at as usize])?;
                Ok(bytes)
            })
        },
        verify: |place| check(place, REPLACED),
        ..BASE
    },
];

fn content(at: u64) -> [u8; SMALL] {
    let mut bytes = [b'x'; SMALL];
    bytes[..8].copy_from_slice(&at.to_le_bytes());
    bytes
}

/// Creates one small file.
pub(super) fn create(place: &Place<'_>, name: &CStr, at: u64) -> Result<u64> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let file = rustix::fs::openat(&place.dir, name, flags, mode)?;
    match write(&file, &content(at))? {
        SMALL => Ok(SMALL as u64),
        got => Err(Error::wrong(format!("wrote {got} of {SMALL} bytes"))),
    }
}

fn read_one(place: &Place<'_>, name: &CStr, at: u64) -> Result<u64> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&place.dir, name, flags, Mode::empty())?;
    let mut buffer = [0; 4096];
    let got = read(&file, &mut buffer)?;
    if got != SMALL || buffer[..8] != at.to_le_bytes() {
        return Err(Error::wrong(format!("{name:?} came with {got} other bytes")));
    }
    Ok(got as u64)
}

/// Makes `full` (scaled) small files, for this and the other groups.
pub(super) fn make(place: &Place<'_>, full: u64) -> Result<()> {
    for (at, name) in names_of("f", place.scale.ops(full)).iter().enumerate() {
        create(place, name, at as u64)?;
    }
    Ok(())
}

/// Each name is there with its own bytes, and nothing else is.
pub(super) fn check(place: &Place<'_>, full: u64) -> Result<()> {
    let names = names_of("f", place.scale.ops(full));
    for (at, name) in names.iter().enumerate() {
        read_one(place, name, at as u64)?;
        rustix::fs::statat(&place.dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    }
    super::names::check_count(place, names.len() as u64)
}
