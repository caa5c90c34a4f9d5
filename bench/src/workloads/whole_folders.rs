//! Whole folders against folders in place: the operations of other groups in a folder that the managed
//! runs see on a tier, which is memory or a directory of the same file system. All stages of a run are
//! one command, for nothing of the folder is there before it or after it.

use super::{FileLayout, TierMedium, Workload, metadata_operations, packed_files, small};

const IN_MEMORY: FileLayout = FileLayout::WholeFolder(TierMedium::Memory);
const BESIDE: FileLayout = FileLayout::WholeFolder(TierMedium::SameFileSystem);

/// The workloads in whole folders.
pub(super) static WORKLOADS: &[Workload] = &[
    Workload {
        name: "whole-create-300",
        operation: "create-300, in a whole folder in memory",
        layout: IN_MEMORY,
        ..small::CREATE
    },
    Workload {
        name: "whole-create-300-8",
        operation: "the same with 8 writers at once, each in a directory of its own",
        layout: IN_MEMORY,
        ..packed_files::CREATE_TOGETHER
    },
    Workload {
        name: "whole-stat",
        operation: "stat-watched, in a whole folder in memory",
        layout: IN_MEMORY,
        ..metadata_operations::STAT
    },
    Workload {
        name: "whole-read-small",
        operation: "read-small-first, in a whole folder in memory",
        layout: IN_MEMORY,
        ..small::READ_FIRST
    },
    Workload {
        name: "whole-unlink",
        operation: "unlink, in a whole folder in memory",
        layout: IN_MEMORY,
        ..metadata_operations::UNLINK
    },
    Workload {
        name: "beside-create-300",
        operation: "create-300, in a whole folder on the same file system",
        layout: BESIDE,
        ..small::CREATE
    },
    Workload {
        name: "beside-create-300-8",
        operation: "the same with 8 writers at once, each in a directory of its own",
        layout: BESIDE,
        ..packed_files::CREATE_TOGETHER
    },
    Workload {
        name: "beside-stat",
        operation: "stat-watched, in a whole folder on the same file system",
        layout: BESIDE,
        ..metadata_operations::STAT
    },
    Workload {
        name: "beside-read-small",
        operation: "read-small-first, in a whole folder on the same file system",
        layout: BESIDE,
        ..small::READ_FIRST
    },
    Workload {
        name: "beside-unlink",
        operation: "unlink, in a whole folder on the same file system",
        layout: BESIDE,
        ..metadata_operations::UNLINK
    },
];
