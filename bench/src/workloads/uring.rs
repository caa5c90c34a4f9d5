//! The operations of other groups with io_uring as the kernel's way to Forebay, where root has allowed
//! that to FUSE; the rows of other groups take `/dev/fuse`.

use super::{FileLayout, Workload, metadata_operations, packed_files, small};

/// The workloads over io_uring, in place and packed.
pub(super) static WORKLOADS: &[Workload] = &[
    Workload {
        name: "uring-create-300",
        operation: "create-300, over io_uring",
        layout: FileLayout::Plain,
        over_uring: true,
        ..small::CREATE
    },
    Workload {
        name: "uring-create-300-8",
        operation: "the same with 8 writers at once, each in a directory of its own",
        layout: FileLayout::Plain,
        over_uring: true,
        ..packed_files::CREATE_TOGETHER
    },
    Workload {
        name: "uring-stat",
        operation: "stat-first, over io_uring",
        layout: FileLayout::Plain,
        over_uring: true,
        ..metadata_operations::STAT_FIRST
    },
    Workload {
        name: "uring-read-small",
        operation: "read-small-first, over io_uring",
        layout: FileLayout::Plain,
        over_uring: true,
        ..small::READ_FIRST
    },
    Workload {
        name: "uring-unlink",
        operation: "unlink, over io_uring",
        layout: FileLayout::Plain,
        over_uring: true,
        ..metadata_operations::UNLINK
    },
    Workload {
        name: "uring-packed-create-300",
        operation: "create-300, packed, over io_uring",
        layout: FileLayout::Packed,
        over_uring: true,
        ..small::CREATE
    },
    Workload {
        name: "uring-packed-create-300-8",
        operation: "the same with 8 writers at once, each in a directory of its own",
        layout: FileLayout::Packed,
        over_uring: true,
        ..packed_files::CREATE_TOGETHER
    },
    Workload {
        name: "uring-packed-stat",
        operation: "stat-first, packed, over io_uring",
        layout: FileLayout::Packed,
        over_uring: true,
        ..metadata_operations::STAT_FIRST
    },
    Workload {
        name: "uring-packed-read-small",
        operation: "read-small-first, packed, over io_uring",
        layout: FileLayout::Packed,
        over_uring: true,
        ..small::READ_FIRST
    },
    Workload {
        name: "uring-packed-unlink",
        operation: "unlink, packed, over io_uring",
        layout: FileLayout::Packed,
        over_uring: true,
        ..metadata_operations::UNLINK
    },
];
