//! How long a node may go on without the book: what it decides for itself, by a clock that never goes
//! back. Whether its lease is over for others, the database's clock says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use forebay_os::clock::Clock;

use super::ids::{NodeId, Term, VolumeId};

/// A node renews its lease so often.
pub const RENEW_EVERY: Duration = Duration::from_secs(5);
/// It takes no more changes so long after its last renewal that was answered *began*.
pub const NO_CHANGES_AFTER: Duration = Duration::from_secs(10);
/// What it holds may be given to others so long after the database heard of the renewal. What lies
/// between is for clocks that run at different speeds, and for answers under way.
pub const LEASE: Duration = Duration::from_secs(15);

/// A registration: who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    /// The volume.
    pub volume: VolumeId,
    /// The node.
    pub node: NodeId,
    /// Which of its registrations.
    pub term: Term,
}

/// When a renewal began, on the node's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenewalStart(u64);

/// Says whether a node may take changes in what it holds.
#[derive(Debug)]
pub struct LeaseKeeper {
    clock: Arc<dyn Clock>,
    /// Nanoseconds of the clock at which the last renewal that was answered began, and one; 0: none.
    began: AtomicU64,
}

impl LeaseKeeper {
    /// A node without a lease. `clock` must go on while the machine sleeps.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> LeaseKeeper {
        LeaseKeeper { clock, began: AtomicU64::new(0) }
    }

    /// A renewal or registration is about to be asked for.
    #[must_use]
    pub fn begin_renewal(&self) -> RenewalStart {
        RenewalStart(self.clock.elapsed_nanos())
    }

    /// It was granted.
    pub fn note_renewed(&self, start: RenewalStart) {
        self.began.fetch_max(start.0 + 1, Ordering::AcqRel);
    }

    /// The book says that the lease is over, or the node leaves.
    pub fn note_lost(&self) {
        self.began.store(0, Ordering::Release);
    }

    /// Whether changes may be taken now in what this node holds.
    #[must_use]
    pub fn may_change(&self) -> bool {
        !self.time_left().is_zero()
    }

    /// For how long changes may be taken without another renewal.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        match self.began.load(Ordering::Acquire) {
            0 => Duration::ZERO,
            began => {
                let passed = self.clock.elapsed_nanos().saturating_sub(began - 1);
                NO_CHANGES_AFTER.saturating_sub(Duration::from_nanos(passed))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, a node that was stopped or cut off writes what another one has taken over.
    use super::*;
    use forebay_os::clock::ManualClock;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn time_counts_from_the_beginning_of_a_renewal() {
        let clock = Arc::new(ManualClock::default());
        let lease = LeaseKeeper::new(Arc::clone(&clock) as Arc<dyn Clock>);
        assert!(!lease.may_change(), "it was never granted");
        let start = lease.begin_renewal();
        clock.advance(8 * SECOND); // The answer was slow.
        lease.note_renewed(start);
        assert_eq!(lease.time_left(), Duration::from_secs(2));
        clock.advance(2 * SECOND - 1);
        assert!(lease.may_change());
        clock.advance(1);
        assert!(!lease.may_change());
    }

    #[test]
    fn a_late_answer_does_not_shorten_a_later_one() {
        let clock = Arc::new(ManualClock::default());
        let lease = LeaseKeeper::new(Arc::clone(&clock) as Arc<dyn Clock>);
        let first = lease.begin_renewal();
        clock.advance(3 * SECOND);
        let second = lease.begin_renewal();
        lease.note_renewed(second);
        lease.note_renewed(first);
        assert_eq!(lease.time_left(), NO_CHANGES_AFTER);
        lease.note_lost();
        assert!(!lease.may_change());
    }

    #[test]
    fn a_node_stops_before_its_holds_are_given_away() {
        assert!(RENEW_EVERY * 2 <= NO_CHANGES_AFTER);
        assert!(NO_CHANGES_AFTER + RENEW_EVERY <= LEASE);
    }
}
