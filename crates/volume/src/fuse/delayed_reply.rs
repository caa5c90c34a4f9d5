//! How much longer the program waits for a reply that is held back than this thread works for it.
//!
//! A request may be counted before its reply is given or afterwards; only when it has been served
//! both are known.

use std::cell::Cell;
use std::time::Duration;

use forebay_model::{ClassId, OpKey, ProcessId, TreeId};

/// Where a request was counted.
pub(super) type Counted = (Option<ProcessId>, TreeId, ClassId, OpKey);

thread_local! {
    static COUNTED: Cell<Option<Counted>> = const { Cell::new(None) };
    static HELD_BACK: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// The request that this thread serves is counted.
pub(super) fn counted(counted: Counted) {
    COUNTED.set(Some(counted));
}

/// Its reply is held back for so long.
pub(super) fn held_back(nanos: u64) {
    HELD_BACK.set(Duration::from_nanos(nanos));
}

/// It has been served: where to count how much more, if it was held back.
pub(super) fn served() -> Option<(Counted, Duration)> {
    let (counted, more) = (COUNTED.take(), HELD_BACK.take());
    counted.filter(|_| more > Duration::ZERO).map(|counted| (counted, more))
}
