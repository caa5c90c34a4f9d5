//! Sums of all that was asked for, kept even where nobody wants a record: a few additions for each
//! request, on memory that threads do not share.

mod heat;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use forebay_model::{Micros, Op, OpCount, OpGroup, OpKey};
use parking_lot::Mutex;

use crate::ipc::{LiveStatus, OperationTotals};
pub(crate) use heat::{FileTraffic, Heat};

const SHARDS: usize = 16;

/// One thread's sums, or those of a few; a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    groups: [(AtomicU64, AtomicU64); 3],
    read: AtomicU64,
    written: AtomicU64,
}

/// What was done since the daemon began.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    shards: [Shard; SHARDS],
    pub(crate) heat: Mutex<Heat>,
    /// Requests that failed, by error, and when the last did (microseconds).
    errors: Mutex<(BTreeMap<String, u64>, Option<u64>)>,
}

const fn group_index(group: OpGroup) -> usize {
    match group {
        OpGroup::Metadata => 0,
        OpGroup::Data => 1,
        OpGroup::Sync => 2,
    }
}

impl Counters {
    /// Adds operations of one kind.
    pub(crate) fn count_operation(&self, key: OpKey, count: &OpCount) {
        thread_local!(static SHARD: usize = {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            NEXT.fetch_add(1, Relaxed) as usize % SHARDS
        });
        let (shard, op) = (SHARD.with(|shard| &self.shards[*shard]), key.op());
        let (number, nanos) = &shard.groups[group_index(op.group())];
        number.fetch_add(count.count, Relaxed);
        nanos.fetch_add(count.nanos, Relaxed);
        match op {
            Op::Read => drop(shard.read.fetch_add(count.bytes, Relaxed)),
            Op::Write => drop(shard.written.fetch_add(count.bytes, Relaxed)),
            Op::CopyRange => {
                shard.read.fetch_add(count.bytes, Relaxed);
                shard.written.fetch_add(count.bytes, Relaxed);
            }
            _ => {}
        }
    }

    /// A request failed by no fault of who asked; `None`: at a time that nobody needs to know.
    pub(crate) fn count_failure(&self, error: &str, at: Option<Micros>) {
        let mut errors = self.errors.lock();
        *errors.0.entry(error.to_owned()).or_default() += 1;
        errors.1 = at.map(Micros::get).or(errors.1);
    }

    /// A file is closed.
    pub(crate) fn record_close(&self, path: &[u8], flow: &FileTraffic) {
        self.heat.lock().record_close(path, flow);
    }

    pub(crate) fn fill_totals(&self, live: &mut LiveStatus) {
        let group = |group: OpGroup| {
            let sums = self.shards.iter().map(|shard| &shard.groups[group_index(group)]);
            let add = |(count, nanos): (u64, u64), (c, n): &(AtomicU64, AtomicU64)| {
                (count + c.load(Relaxed), nanos + n.load(Relaxed))
            };
            let (count, nanos) = sums.fold((0, 0), add);
            OperationTotals { count, time_us: nanos / 1000 }
        };
        live.names = group(OpGroup::Metadata);
        live.data = group(OpGroup::Data);
        live.syncs = group(OpGroup::Sync);
        live.read = self.shards.iter().map(|shard| shard.read.load(Relaxed)).sum();
        (live.errors, live.last_error_us) = self.errors.lock().clone();
        live.written = self.shards.iter().map(|shard| shard.written.load(Relaxed)).sum();
    }
}

#[cfg(test)]
mod tests {
    //! If this fails, people look for a storm where there is none.
    use super::*;
    use forebay_model::AccessPattern;

    #[test]
    fn what_threads_count_adds_up() {
        let counters = Counters::default();
        let of = |bytes| OpCount { count: 1, nanos: 2_000, bytes, failed: 0 };
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    counters.count_operation(
                        OpKey::with_bytes(Op::Read, 10, AccessPattern::Random),
                        &of(10),
                    );
                    counters.count_operation(
                        OpKey::with_bytes(Op::CopyRange, 5, AccessPattern::Random),
                        &of(5),
                    );
                    counters.count_operation(OpKey::without_bytes(Op::Lookup), &of(0));
                    counters.count_operation(OpKey::without_bytes(Op::Fsync), &of(0));
                });
            }
        });
        let mut live = LiveStatus::default();
        counters.fill_totals(&mut live);
        assert_eq!(live.names, OperationTotals { count: 20, time_us: 40 });
        assert_eq!(live.data, OperationTotals { count: 40, time_us: 80 });
        assert_eq!(live.syncs.count, 20);
        assert_eq!((live.read, live.written), (300, 100));
    }
}
