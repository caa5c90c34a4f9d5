//! The operations of other groups under the recorders that leave the directory bare: nothing lies
//! between program and file system, but the kernel tells Forebay of each call (`bpf`), or calls wait
//! until Forebay has seen them (`notify`).

use super::{FileLayout, Workload, metadata_operations, packed_files, small};

/// The workloads of runs without a mount.
pub(super) static WORKLOADS: &[Workload] = &[
    Workload {
        name: "bpf-create-300",
        operation: "create-300, recorded from the kernel",
        layout: FileLayout::Unmounted,
        ..small::CREATE
    },
    Workload {
        name: "bpf-create-300-8",
        operation: "the same with 8 writers at once, each in a directory of its own",
        layout: FileLayout::Unmounted,
        ..packed_files::CREATE_TOGETHER
    },
    Workload {
        name: "bpf-stat",
        operation: "stat-watched, recorded from the kernel",
        layout: FileLayout::Unmounted,
        ..metadata_operations::STAT
    },
    Workload {
        name: "bpf-read-small",
        operation: "read-small-first, recorded from the kernel",
        layout: FileLayout::Unmounted,
        ..small::READ_FIRST
    },
    Workload {
        name: "bpf-unlink",
        operation: "unlink, recorded from the kernel",
        layout: FileLayout::Unmounted,
        ..metadata_operations::UNLINK
    },
    Workload {
        name: "notify-create-300",
        operation: "create-300, recorded while system calls wait",
        layout: FileLayout::Watched,
        ..small::CREATE
    },
    Workload {
        name: "notify-create-300-8",
        operation: "the same with 8 writers at once, each in a directory of its own",
        layout: FileLayout::Watched,
        ..packed_files::CREATE_TOGETHER
    },
    Workload {
        name: "notify-stat",
        operation: "stat-watched, recorded while system calls wait",
        layout: FileLayout::Watched,
        ..metadata_operations::STAT
    },
    Workload {
        name: "notify-read-small",
        operation: "read-small-first, recorded while system calls wait",
        layout: FileLayout::Watched,
        ..small::READ_FIRST
    },
    Workload {
        name: "notify-unlink",
        operation: "unlink, recorded while system calls wait",
        layout: FileLayout::Watched,
        ..metadata_operations::UNLINK
    },
];
