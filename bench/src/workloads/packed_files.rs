//! Packed files against files in place: the operations of other groups, whose covered runs have a
//! rule that packs all files, and several writers at once.

use super::{
    FileLayout, WorkDirectory, Workload, append, metadata_operations, numbered_names, small,
};
use crate::error::{ErrorContext, Result};
use crate::measure::Meter;
use std::path::PathBuf;

const WRITERS: u64 = 8;

/// Small files made by several writers at once.
pub(super) const CREATE_TOGETHER: Workload = Workload {
    name: "packed-create-300-8",
    operation: "the same with 8 writers at once, each in a directory of its own",
    layout: FileLayout::Packed,
    setup: |place| {
        let made = |path: &PathBuf| std::fs::create_dir(path).with_context("create", path);
        writer_directories(place).iter().try_for_each(made)
    },
    run: create_together,
    verify: |place| {
        let directories = writer_directories(place);
        directories.iter().try_for_each(|path| {
            small::check_small_files(
                &WorkDirectory::open(path, place.scale, &[])?,
                small::CREATED / WRITERS,
            )
        })
    },
    ..small::CREATE
};

/// The workloads on packed files.
pub(super) static WORKLOADS: &[Workload] = &[
    Workload {
        name: "packed-create-300",
        operation: "create-300, packed",
        layout: FileLayout::Packed,
        ..small::CREATE
    },
    CREATE_TOGETHER,
    Workload {
        name: "packed-stat",
        operation: "stat-watched, packed",
        layout: FileLayout::Packed,
        ..metadata_operations::STAT
    },
    Workload {
        name: "packed-unlink",
        operation: "unlink, packed by an earlier run",
        layout: FileLayout::Packed,
        ..metadata_operations::UNLINK
    },
    Workload {
        name: "packed-append-fsync",
        operation: "append-fsync, packed",
        layout: FileLayout::Packed,
        ..append::SYNCED
    },
];

/// A directory for each writer: tasks of a workflow have their own, too.
fn writer_directories(place: &WorkDirectory<'_>) -> Vec<PathBuf> {
    (0..WRITERS).map(|writer| place.path.join(format!("w{writer}"))).collect()
}

fn create_together(place: &WorkDirectory<'_>, meter: &mut Meter) -> Result<()> {
    let directories = writer_directories(place);
    let places: Vec<WorkDirectory<'_>> = directories
        .iter()
        .map(|path| WorkDirectory::open(path, place.scale, &[]))
        .collect::<Result<_>>()?;
    let names = numbered_names("f", place.scale.scaled_ops(small::CREATED / WRITERS));
    meter.measure_writers(WRITERS, names.len() as u64, |writer, at| {
        small::create_small_file(&places[writer as usize], &names[at as usize], at)
    })
}
