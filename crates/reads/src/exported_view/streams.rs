//! Who reads one part after the other: for them the next groups are decoded before they ask.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

/// A read that begins so near to where another ended goes on with it: kernels ask for parts in
/// an order of their own.
const NEAR: u64 = 1 << 20;
/// Streams that are followed at a time; beyond that the one that read longest ago is forgotten.
const MANY: usize = 256;

/// Reads that follow each other.
#[derive(Debug)]
struct AccessStream {
    lane: [usize; 3],
    /// Where the next read is expected.
    next: u64,
    /// Bytes since it began.
    run: u64,
    /// When it last read, in reads.
    used: u64,
    told: Arc<AtomicUsize>,
}

/// A stream as it is with a read.
#[derive(Debug)]
pub(super) struct StreamProgress {
    /// Bytes that were read in a row.
    pub(super) run: u64,
    /// Of groups with lower numbers it was told that they are going to be wanted.
    pub(super) told: Arc<AtomicUsize>,
}

/// All that are followed.
#[derive(Debug, Default)]
pub(super) struct StreamTracker(Mutex<(Vec<AccessStream>, u64)>);

impl StreamTracker {
    /// Takes note of a read.
    pub(super) fn note_read(&self, lane: [usize; 3], offset: u64, len: u64) -> StreamProgress {
        let mut state = self.0.lock().expect("nobody panics with it");
        let (streams, clock) = &mut *state;
        *clock += 1;
        let end = offset.saturating_add(len);
        let own = streams.iter_mut().filter(|stream| stream.lane == lane);
        let nearest = own.min_by_key(|stream| stream.next.abs_diff(offset));
        if let Some(stream) = nearest
            && stream.next.abs_diff(offset) <= NEAR
        {
            stream.run += end.saturating_sub(stream.next);
            stream.next = stream.next.max(end);
            stream.used = *clock;
            return StreamProgress { run: stream.run, told: Arc::clone(&stream.told) };
        }
        // Who begins at the start most likely goes on.
        let run = if offset == 0 { len } else { 0 };
        let told = Arc::<AtomicUsize>::default();
        let way = StreamProgress { run, told: Arc::clone(&told) };
        let stream = AccessStream { lane, next: end, run, used: *clock, told };
        if streams.len() < MANY {
            streams.push(stream);
        } else if let Some(oldest) = streams.iter_mut().min_by_key(|stream| stream.used) {
            *oldest = stream;
        }
        way
    }
}

#[cfg(test)]
mod tests {
    //! Who is not recognised waits for each group; who is taken for another costs its decoding.
    use super::*;

    #[test]
    fn reads_in_a_row_are_told_from_reads_at_random() {
        let streams = StreamTracker::default();
        let note = |lane, offset, len| streams.note_read(lane, offset, len).run;
        let lane = [0, 0, 1];
        // Two at a time, and one a little out of order.
        for nth in 0..10 {
            assert_eq!(note(lane, nth << 17, 1 << 17), (nth + 1) << 17);
            let other = note(lane, (1 << 30) + (nth << 17), 1 << 17);
            assert_eq!(other, nth << 17);
        }
        assert_eq!(note(lane, 11 << 17, 1 << 17), 12 << 17);
        assert_eq!(note(lane, 10 << 17, 1 << 17), 12 << 17);
        assert_eq!(note([1, 0, 1], 12 << 17, 4096), 0);
        for nth in 0..1000 {
            assert_eq!(note(lane, (2 << 30) + nth * 7919 % 1000 * (4 << 20), 4096), 0);
        }
        assert!(streams.0.lock().expect("it").0.len() <= MANY);
    }
}
