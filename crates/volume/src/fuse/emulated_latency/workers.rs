//! Those who work on operations at a storage, if there are not as many as one likes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::shared_moments::{PLACES, SharedMoments};

/// Where they stand on a board: behind the limits.
const FIRST: usize = 8;

#[derive(Debug)]
pub(super) enum Workers {
    /// As many as one likes.
    Any,
    /// When each of this mount's own is done.
    Own(BinaryHeap<Reverse<u64>>),
    /// Of a server that other mounts use, too, and how many.
    Shared(Arc<SharedMoments>, usize),
}

impl Workers {
    pub(super) fn new(count: Option<u32>, board: Option<&Arc<SharedMoments>>) -> Self {
        match (count.unwrap_or(0) as usize, board) {
            (0, _) => Self::Any,
            // More than there are places for work on as much as anybody asks at once.
            (count, Some(_)) if count > PLACES - FIRST => Self::Any,
            (count, Some(board)) => Self::Shared(Arc::clone(board), count),
            (count, None) => Self::Own((0..count).map(|_| Reverse(0)).collect()),
        }
    }

    /// When one of them begins to work on what takes so many nanoseconds.
    pub(super) fn begin_work(&mut self, now: f64, takes: f64) -> f64 {
        if takes == 0.0 {
            return now;
        }
        match self {
            Self::Any => now,
            Self::Shared(board, count) => board.take_earliest(FIRST, *count, now, takes),
            Self::Own(all) => {
                let free = all.pop().map_or(0, |Reverse(free)| free);
                let start = now.max(free as f64);
                all.push(Reverse((start + takes) as u64));
                start
            }
        }
    }
}
