//! Processes that are met while they start.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A process that is seen with these words will soon have others: they are still its parent's, or
/// none, as in the middle of execve(2), where it has a new name already.
pub(super) fn is_starting(argv: &[Vec<u8>], above: Option<&[Vec<u8>]>) -> bool {
    argv.is_empty() || above == Some(argv)
}

/// When to look again at a process that has not run a program of its own yet. Most do so within a
/// millisecond, and may be gone soon after; those that never do (pools of workers) are not to pay for
/// that with each request: each look waits for an eighth of the time for which they are known.
#[derive(Debug)]
pub(super) struct ForkWatch {
    met: u64,
    looked: AtomicU64,
}

impl ForkWatch {
    /// One that is met at `now`, nanoseconds of the run's clock.
    pub(super) fn new(now: u64) -> ForkWatch {
        ForkWatch { met: now, looked: AtomicU64::new(now) }
    }

    /// Nanoseconds between the last look and the next one.
    pub(super) fn interval(&self) -> u64 {
        self.looked.load(Relaxed).saturating_sub(self.met) / 8
    }

    /// Whether it is time to look at `now`, as the caller then does.
    pub(super) fn take_due(&self, now: u64) -> bool {
        let is_due = now.saturating_sub(self.looked.load(Relaxed)) >= self.interval();
        if is_due {
            self.looked.store(now, Relaxed);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    //! If this fails, a program that is met while it starts has no name for as long as it runs, or
    //! each request of a worker that was forked costs a look into /proc.
    use super::{ForkWatch, is_starting};

    #[test]
    fn a_forked_process_is_looked_at_often_at_first_and_seldom_later() {
        let watch = ForkWatch::new(1_000);
        assert!(watch.take_due(1_000), "at once");
        assert!(watch.take_due(1_010) && watch.take_due(1_020));
        let late = (1..1_000_000u64).map(|n| 1_020 + n * 1_000);
        let looks: Vec<u64> = late.filter(|now| watch.take_due(*now)).collect();
        assert!(looks.len() < 150, "{} looks in a second", looks.len());
        let seldom = |pair: &[u64]| pair[1] - pair[0] <= (pair[0] - 1_000) / 8 + 1_000;
        assert!(looks.windows(2).all(seldom), "none is later than an eighth of its age");
    }

    #[test]
    fn a_process_that_is_met_in_the_middle_of_execve_is_looked_at_again() {
        let words = |text: &str| -> Vec<Vec<u8>> { text.split(' ').map(|w| w.into()).collect() };
        assert!(is_starting(&[], Some(&words("sh -c x"))), "no words yet");
        assert!(is_starting(&[], None));
        assert!(is_starting(&words("sh -c x"), Some(&words("sh -c x"))), "forked");
        assert!(!is_starting(&words("tail -f x"), Some(&words("sh -c x"))));
        assert!(!is_starting(&words("sh -c x"), None), "the first of all");
    }
}
