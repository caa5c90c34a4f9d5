//! When the reply of a storage with these numbers would come.
//!
//! It says the same as the simulator (`plan::prepared_problem`, `plan::share`), operation by
//! operation: alone each takes its price and its bytes at the rate of one stream; what goes on
//! where the last one of the same open file ended waits for that one, however far a client reads
//! ahead; limits that all share let no more through than they have. A storage that is slower than
//! that by itself stays so.

use std::sync::Arc;

use forebay_model::{AccessPattern, Op, OpGroup, OpKey, StorageProfile};
use rustc_hash::{FxHashMap, FxHashSet};

use super::limit::{PAUSE, PAUSE_OF_PRICED, RateLimit, start_after};
use super::shared_moments::SharedMoments;
use super::storage_demand::{ReplyOutcome, StorageDemand};
use super::workers::Workers;
use super::written::CachedWrites;

/// Bytes a second that go through the kernel to us: of a few GiB/s, the less.
const MEMORY: f64 = 4e9;

/// One direction of one storage.
#[derive(Debug)]
struct DirectionLimits {
    /// Seconds for a byte, of one stream that is alone.
    byte: f64,
    node: RateLimit,
    total: RateLimit,
}

/// One direction of an open file.
#[derive(Debug, Default, Clone, Copy)]
struct Stream {
    /// Of the last one.
    end: u64,
    /// Nanoseconds of the clock until which it is busy.
    busy: f64,
}

/// A storage, as its replies show it.
#[derive(Debug)]
pub(super) struct LatencyModel {
    profile: StorageProfile,
    read: DirectionLimits,
    write: DirectionLimits,
    names: RateLimit,
    data: RateLimit,
    workers: Workers,
    streams: FxHashMap<(u64, bool), Stream>,
    /// Files with bytes that a client would not have sent yet.
    unsent: FxHashSet<u64>,
    written: Option<CachedWrites>,
}

/// What a close takes that has bytes to send: the kernel asks at each descriptor's, and waits for
/// that answer alone.
pub(super) fn close_seconds(profile: &StorageProfile) -> f64 {
    let price = |op| profile.operation_latency(OpKey::without_bytes(op)).get();
    price(Op::Flush) + price(Op::Close)
}

impl DirectionLimits {
    fn new(
        lane: forebay_model::profile::BandwidthLimits,
        spread: f64,
        (board, at): (Option<&Arc<SharedMoments>>, usize),
    ) -> Self {
        let rate = |rate: Option<forebay_model::Rate>| rate.map(|rate| rate.get());
        let (node_burst, total_burst) =
            if lane.total.is_some() { (None, lane.burst) } else { (lane.burst, None) };
        let node = RateLimit::new(rate(lane.node), node_burst);
        let total = RateLimit::new(rate(lane.total), total_burst).with_board(board, at);
        let file = node.peak_rate().min(total.peak_rate() * spread);
        let byte = 1.0 / rate(lane.stream).map_or(file, |stream| stream.min(file));
        Self { byte, node, total }
    }
}

impl Stream {
    fn next_pattern(&mut self, offset: u64, bytes: u64) -> AccessPattern {
        let pattern = AccessPattern::from_offsets(self.end, offset, bytes);
        self.end = offset + bytes;
        pattern
    }
}

impl LatencyModel {
    /// A storage whose client remembers up to so many bytes that it wrote, if it does.
    pub(super) fn new(
        profile: &StorageProfile,
        memory: u64,
        server: Option<&Arc<SharedMoments>>,
    ) -> Self {
        let stripes = profile.stripes;
        let spread = f64::from(stripes.count) / f64::from(stripes.servers);
        Self {
            read: DirectionLimits::new(profile.read, spread, (server, 0)),
            write: DirectionLimits::new(profile.write, spread, (server, 2)),
            names: RateLimit::new(profile.names_per_second, None).with_board(server, 4),
            data: RateLimit::new(profile.data_per_second, profile.data_burst).with_board(server, 6),
            workers: Workers::new(profile.at_once, server),
            streams: FxHashMap::default(),
            unsent: FxHashSet::default(),
            written: profile.keeps_written.then(|| CachedWrites::new(memory)),
            profile: profile.clone(),
        }
    }

    /// When the reply to a request is due, in nanoseconds of the clock, and whether what comes next
    /// of the same open file waits for that moment, too.
    pub(super) fn reply_due(
        &mut self,
        asked: &StorageDemand,
        answered: &ReplyOutcome,
    ) -> (u64, bool) {
        let now = asked.began as f64;
        if asked.kind == Op::Close {
            self.streams.remove(&(asked.open, false));
            self.streams.remove(&(asked.open, true));
            self.unsent.remove(&asked.node);
            return (0, false);
        }
        if answered.failed && !answered.absent && asked.kind.group() == OpGroup::Data {
            return (0, false);
        }
        match asked.kind {
            Op::Write => drop(self.unsent.insert(asked.node)),
            Op::Fsync => drop(self.unsent.remove(&asked.node)),
            // A client has nothing to send, however many processes close what they inherited.
            Op::Flush if !self.unsent.remove(&asked.node) => return (0, false),
            _ => {}
        }
        let (due, awaited) = match asked.kind.group() {
            OpGroup::Data => self.data_due(asked, answered, now),
            _ => (self.metadata_due(asked, answered, now), false),
        };
        (due as u64, awaited)
    }

    fn metadata_due(&mut self, asked: &StorageDemand, answered: &ReplyOutcome, now: f64) -> f64 {
        if let (Op::Truncate, Some(written)) = (asked.kind, &mut self.written) {
            written.truncate_extent(asked.node, asked.bytes);
        }
        let price = match asked.kind {
            Op::Flush => close_seconds(&self.profile),
            _ => {
                let kind = if answered.absent { Op::LookupFailed } else { asked.kind };
                self.profile.operation_latency(OpKey::without_bytes(kind)).get()
            }
        };
        // What costs nothing is not asked of the storage at all.
        if price == 0.0 && matches!(asked.kind, Op::Flush | Op::Ioctl) {
            return now;
        }
        let through = match asked.kind.group() {
            OpGroup::Sync => now,
            _ => self.names.schedule_amount(now, 1.0),
        };
        (self.workers.begin_work(now, price * 1e9) + price * 1e9).max(through)
    }

    fn data_due(
        &mut self,
        asked: &StorageDemand,
        answered: &ReplyOutcome,
        now: f64,
    ) -> (f64, bool) {
        let writes = asked.kind != Op::Read;
        let bytes = if asked.kind == Op::Write { asked.bytes } else { answered.bytes };
        // Its bytes were on their way to us when the program had called already.
        let now = if writes { now - bytes as f64 / MEMORY * 1e9 } else { now };
        let end = asked.offset + bytes;
        if let Some(written) = &mut self.written {
            if writes {
                written.record_write(asked.node, asked.offset, bytes);
            } else if bytes > 0 && written.holds_range(asked.node, end) {
                return (now, false);
            }
        }
        let stream = self.streams.entry((asked.open, writes)).or_default();
        let pattern = match asked.collected {
            // Many are on their way at a time, and come in another order.
            true => stream.next_pattern(asked.offset, bytes).as_collected_write(bytes),
            false => stream.next_pattern(asked.offset, bytes),
        };
        let (from, key) = (stream.busy, OpKey::with_bytes(asked.kind, bytes, pattern));
        let bytes = bytes as f64;
        let share = self.profile.operation_share(key, bytes);
        let price = self.profile.operation_latency(key).get() * share;
        let mut start = self.workers.begin_work(now, price * 1e9);
        if pattern == AccessPattern::Sequential {
            let pause = if price == 0.0 { PAUSE } else { PAUSE_OF_PRICED };
            start = if start > now { start.max(from) } else { start_after(from, now, pause) };
        }
        let lane = if writes { &mut self.write } else { &mut self.read };
        let alone = start + (price + bytes * lane.byte) * 1e9;
        let through = [
            lane.node.schedule_amount(now, bytes),
            lane.total.schedule_amount(now, bytes),
            self.data.schedule_amount(now, share),
        ];
        // What is through already holds nothing back: least of all a stream that makes good for time
        // which this machine lost.
        let due = through.into_iter().filter(|at| *at > now).fold(alone, f64::max);
        let goes_on = pattern == AccessPattern::Sequential;
        if let Some(stream) = self.streams.get_mut(&(asked.open, writes)).filter(|_| goes_on) {
            stream.busy = due;
        }
        (due, goes_on)
    }
}

#[cfg(test)]
mod tests;
