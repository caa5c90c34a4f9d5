//! Names and attributes: stat, failed look-ups, unlink, rename, listing.

use super::entries::{check_entry_count, list_expecting};
use super::small::create_small_files;
use super::{FigureUnit, FileLayout, WorkDirectory, Workload, do_nothing, numbered_names};
use crate::error::{Error, Result};
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;
use std::ffi::CStr;

const STATTED: u64 = 1_000;
const REMOVED: u64 = 5_000;
const LISTED: u64 = 10_000;

const BASE: Workload = Workload {
    name: "",
    operation: "",
    unit: FigureUnit::OpsPerSecond,
    cold: false,
    starts_runs: false,
    over_uring: false,
    layout: FileLayout::Plain,
    setup: |place| create_small_files(place, STATTED),
    run: |_, _| Ok(()),
    verify: do_nothing,
    sample_every: 32,
};

/// Polling, as engines do.
pub(super) const STAT: Workload = Workload {
    name: "stat-watched",
    operation: "stat of the same 1,000 files, again and again for 1.5 s",
    run: |place, meter| {
        let names = numbered_names("f", place.scale.scaled_ops(STATTED));
        let count = names.len() as u64;
        meter.warm_up(count, |at| stat_small_file(place, &names[at as usize]))?;
        // Not scaled down: it is about what happens after the first second.
        meter.measure_passes(count, 1.5, |at| stat_small_file(place, &names[at as usize]))
    },
    sample_every: 250,
    ..BASE
};

/// Cleaning up.
pub(super) const UNLINK: Workload = Workload {
    name: "unlink",
    operation: "unlink, 5,000 files of 300 B new to the run",
    setup: |place| create_small_files(place, REMOVED),
    run: |place, meter| {
        let names = numbered_names("f", place.scale.scaled_ops(REMOVED));
        meter.measure_pass(names.len() as u64, |at| {
            rustix::fs::unlinkat(&place.dir, &names[at as usize], AtFlags::empty())?;
            Ok(0)
        })
    },
    verify: |place| check_entry_count(place, 0),
    ..BASE
};

/// Each file is asked for once.
pub(super) const STAT_FIRST: Workload = Workload {
    name: "stat-first",
    operation: "stat of 5,000 files new to the run",
    setup: |place| create_small_files(place, REMOVED),
    run: |place, meter| {
        let names = numbered_names("f", place.scale.scaled_ops(REMOVED));
        meter.measure_pass(names.len() as u64, |at| stat_small_file(place, &names[at as usize]))
    },
    ..BASE
};

/// The workloads on names.
pub(super) static WORKLOADS: &[Workload] = &[
    STAT_FIRST,
    STAT,
    Workload {
        name: "missing-first",
        operation: "failed stat, 5,000 names never asked for before",
        setup: do_nothing,
        run: |place, meter| {
            let names = numbered_names("no", place.scale.scaled_ops(REMOVED));
            meter.measure_pass(names.len() as u64, |at| expect_missing(place, &names[at as usize]))
        },
        ..BASE
    },
    Workload {
        name: "missing-again",
        operation: "failed stat of the same 1,000 names, again and again for 0.5 s",
        setup: do_nothing,
        run: |place, meter| {
            let names = numbered_names("no", place.scale.scaled_ops(STATTED));
            let count = names.len() as u64;
            meter.warm_up(count, |at| expect_missing(place, &names[at as usize]))?;
            let seconds = place.scale.scaled_seconds(0.5);
            meter.measure_passes(count, seconds, |at| expect_missing(place, &names[at as usize]))
        },
        sample_every: 250,
        ..BASE
    },
    UNLINK,
    Workload {
        name: "rename",
        operation: "rename to a new name in the same directory, 5,000 files new to the run",
        setup: |place| create_small_files(place, REMOVED),
        run: |place, meter| {
            let old = numbered_names("f", place.scale.scaled_ops(REMOVED));
            let new = numbered_names("g", old.len() as u64);
            meter.measure_pass(old.len() as u64, |at| {
                let (old, new) = (&old[at as usize], &new[at as usize]);
                rustix::fs::renameat(&place.dir, old, &place.dir, new)?;
                Ok(0)
            })
        },
        verify: |place| {
            for name in numbered_names("g", place.scale.scaled_ops(REMOVED)) {
                stat_small_file(place, &name)?;
            }
            check_entry_count(place, place.scale.scaled_ops(REMOVED))
        },
        ..BASE
    },
    Workload {
        name: "mkdir-rmdir",
        operation: "mkdir, rmdir; 2,000 times",
        setup: do_nothing,
        run: |place, meter| {
            let names = numbered_names("d", place.scale.scaled_ops(2_000));
            meter.measure_pass(names.len() as u64, |at| {
                let name = &names[at as usize];
                rustix::fs::mkdirat(&place.dir, name, Mode::RWXU)?;
                rustix::fs::unlinkat(&place.dir, name, AtFlags::REMOVEDIR)?;
                Ok(0)
            })
        },
        verify: |place| check_entry_count(place, 0),
        ..BASE
    },
    Workload {
        name: "readdir-10k",
        operation: "open the directory, list its 10,000 entries (the figure is lists/s), close",
        setup: |place| create_small_files(place, LISTED),
        run: |place, meter| {
            let expected = place.scale.scaled_ops(LISTED);
            meter.measure_passes(1, place.scale.scaled_seconds(0.5), |_| {
                list_expecting(place, expected, |_| Ok(()))
            })
        },
        sample_every: 1,
        ..BASE
    },
    Workload {
        name: "list-stat-10k",
        operation: "the same with a stat of each entry, as ls -l does (lists/s)",
        setup: |place| create_small_files(place, LISTED),
        run: |place, meter| {
            let expected = place.scale.scaled_ops(LISTED);
            meter.measure_passes(1, place.scale.scaled_seconds(0.5), |_| {
                list_expecting(place, expected, |name| stat_small_file(place, name).map(drop))
            })
        },
        sample_every: 1,
        ..BASE
    },
];

/// Stat by name; the size must be that of a small file.
pub(super) fn stat_small_file(place: &WorkDirectory<'_>, name: &CStr) -> Result<u64> {
    let found = rustix::fs::statat(&place.dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match found.st_size as usize {
        super::small::SMALL => Ok(0),
        size => Err(Error::check_failed(format!("stat of {name:?}: {size} bytes"))),
    }
}

fn expect_missing(place: &WorkDirectory<'_>, name: &CStr) -> Result<u64> {
    match rustix::fs::statat(&place.dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(0),
        Err(other) => Err(other.into()),
        Ok(_) => Err(Error::check_failed(format!("{name:?} is there"))),
    }
}
