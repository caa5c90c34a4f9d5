//! How many requests a class of files makes of its storage, in the kinds that are paid for.

use super::to_gigabytes;
use crate::write_back_estimate::ResultFiles;
use forebay_model::{
    BillingUnit, ByteCount, FileLocation, Op, OpGroup, Placement, TierId, Workload,
};

/// A file goes up in parts of so many bytes, each a request: what S3 clients do by default.
const PART_BYTES: f64 = 8.0 * 1024.0 * 1024.0;

/// What a class asks for in one pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct BilledRequests {
    /// Bytes, attributes and look-ups that are asked for.
    pub(super) reads: f64,
    /// Uploads, parts of them, copies and listings.
    pub(super) writes: f64,
    pub(super) deletes: f64,
    /// Bytes of its files, whoever made them.
    pub(super) bytes: ByteCount,
    /// Bytes that tasks read.
    read: ByteCount,
    /// Bytes that tasks write.
    written: ByteCount,
    /// Of reads and bytes read, what the memory of a node may answer.
    spared: (f64, ByteCount),
}

impl BilledRequests {
    pub(super) fn has_requests(&self) -> bool {
        self.reads + self.writes + self.deletes > 0.0
    }

    pub(super) fn add_counts(&mut self, other: &Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.deletes += other.deletes;
    }

    /// Takes in so many operations of a kind.
    pub(super) fn count_operations(&mut self, op: Op, count: f64) {
        match op {
            Op::Create
            | Op::Rename
            | Op::Link
            | Op::Symlink
            | Op::Mkdir
            | Op::Mknod
            | Op::Opendir
            | Op::Readdir => self.writes += count,
            Op::Unlink | Op::Rmdir => self.deletes += count,
            Op::Read
            | Op::Lookup
            | Op::LookupFailed
            | Op::Getattr
            | Op::Open
            | Op::Readlink
            | Op::Xattr
            | Op::CopyRange => self.reads += count,
            // Bytes that are written count by part; the rest stays in the client.
            Op::Write
            | Op::Flush
            | Op::Close
            | Op::Fsync
            | Op::Fsyncdir
            | Op::Setattr
            | Op::Access
            | Op::Truncate
            | Op::Lock
            | Op::Fallocate
            | Op::Seek
            | Op::Ioctl
            | Op::Statfs => {}
        }
    }

    /// Takes in bytes that are written: each part of a file is a request.
    pub(super) fn count_upload(&mut self, written: ByteCount) {
        self.writes += written.get() as f64 / PART_BYTES;
    }

    /// How many units of something that is paid for by what is done.
    pub(super) fn billed_units(&self, per: BillingUnit) -> f64 {
        match per {
            BillingUnit::ThousandReads => self.reads / 1e3,
            BillingUnit::ThousandWrites => self.writes / 1e3,
            BillingUnit::ThousandDeletes => self.deletes / 1e3,
            BillingUnit::GbRead => to_gigabytes(self.read),
            BillingUnit::GbWritten => to_gigabytes(self.written),
            _ => 0.0,
        }
    }

    /// What reaches the storage for sure, where nodes have memory that keeps what was read.
    pub(super) fn without_memory(self) -> Self {
        let (reads, read) = self.spared;
        Self { reads: (self.reads - reads).max(0.0), read: self.read - read, ..self }
    }

    pub(super) fn scaled_by(self, factor: f64) -> Self {
        Self {
            reads: self.reads * factor,
            writes: self.writes * factor,
            deletes: self.deletes * factor,
            ..self
        }
    }
}

/// For each class of the workload.
pub(super) fn requests_by_class(workload: &Workload) -> Vec<BilledRequests> {
    let mut classes = vec![BilledRequests::default(); workload.classes.len()];
    let steps = workload.tasks.iter().flat_map(|task| &task.steps);
    for access in steps.flat_map(|step| &step.accesses) {
        let Some(set) = workload.files.get(access.files.index()) else { continue };
        let Some(class) = classes.get_mut(set.class.index()) else { continue };
        class.read += access.read;
        class.written += access.written;
        class.count_upload(access.written);
        let only_reads = access.written.get() == 0 && access.read.get() > 0;
        if only_reads {
            class.spared.1 += access.read;
        }
        for (key, count) in &access.ops {
            if only_reads && key.op().group() == OpGroup::Data {
                class.spared.0 += count;
            }
            class.count_operations(key.op(), *count);
        }
    }
    for set in &workload.files {
        if let Some(class) = classes.get_mut(set.class.index()) {
            class.bytes += set.bytes;
        }
    }
    classes
}

/// What it takes to put these files there.
pub(super) fn upload_requests(results: ResultFiles) -> BilledRequests {
    let writes = results.files as f64 + results.bytes.get() as f64 / PART_BYTES;
    BilledRequests {
        writes,
        bytes: results.bytes,
        written: results.bytes,
        ..BilledRequests::default()
    }
}

/// The tier that is home, and that of copies if there are any, each with its requests.
type RequestSplit<'p> = ((&'p TierId, BilledRequests), Option<(&'p TierId, BilledRequests)>);

/// Which of them go where.
pub(super) fn split_by_tier<'p>(
    all: &BilledRequests,
    placement: &'p Placement,
    project: &'p TierId,
    nodes: u32,
) -> RequestSplit<'p> {
    let home = match &placement.home {
        FileLocation::Here => project,
        FileLocation::Tier(tier) => tier,
    };
    let Some(cache) = &placement.cache else { return ((home, *all), None) };
    // Each node fetches each file once; the copies answer the rest.
    let fetched = all.bytes.get() as f64 / PART_BYTES * f64::from(nodes);
    let reads = all.reads.min(fetched.ceil());
    let rest = BilledRequests { reads: all.reads - reads, ..BilledRequests::default() };
    ((home, BilledRequests { reads, ..*all }), Some((&cache.tier, rest)))
}
