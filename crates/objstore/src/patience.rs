//! Waiting for a bucket that does not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::RequestError;
use forebay_os::clock::{Clock, MachineClock};

/// An outage of a bucket that is waited for, where nobody says another.
const USUAL: Duration = Duration::from_secs(300);
/// Parts of it that pass before the first attempt after those that the client makes by itself, and
/// at most between two: of five minutes, 1 s and 30 s.
const FIRST: u32 = 300;
const LONGEST: u32 = 10;

/// For how long a bucket that does not answer is asked again.
#[derive(Debug, Clone)]
pub struct RetryWindow {
    all: Duration,
    clock: Arc<dyn Clock>,
}

impl Default for RetryWindow {
    fn default() -> Self {
        RetryWindow::with_limit(USUAL)
    }
}

impl RetryWindow {
    /// So long.
    #[must_use]
    pub fn with_limit(all: Duration) -> RetryWindow {
        RetryWindow { all, clock: Arc::new(MachineClock) }
    }

    /// How long that is.
    #[must_use]
    pub fn total_wait(&self) -> Duration {
        self.all
    }

    /// A moment, for [`RetryWindow::time_left`].
    pub fn timestamp_now(&self) -> u64 {
        self.clock.elapsed_nanos()
    }

    /// What is left of it since a moment.
    pub fn time_left(&self, since: u64) -> Duration {
        let passed = self.clock.elapsed_nanos().saturating_sub(since);
        self.all.saturating_sub(Duration::from_nanos(passed))
    }

    /// How long to wait after so many attempts, of which the first is 1.
    pub fn pause_after(&self, attempts: u32) -> Duration {
        let doubled = 1u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        (self.all / FIRST).saturating_mul(doubled).min(self.all / LONGEST)
    }
}

/// Asks again while that can help. `gone` is for all who ask: once a bucket has been away for so
/// long, nobody else waits for it, until it has answered.
pub fn retry_patiently<T>(
    gone: &AtomicBool,
    patience: &RetryWindow,
    mut ask: impl FnMut() -> Result<T, RequestError>,
) -> Result<T, RequestError> {
    let began = patience.timestamp_now();
    let mut attempts = 0;
    loop {
        let failed = match ask() {
            Err(failed) if !failed.is_lasting() => failed,
            answered => {
                gone.store(false, Relaxed);
                return answered;
            }
        };
        let left = patience.time_left(began);
        if left.is_zero() || gone.load(Relaxed) {
            gone.store(true, Relaxed);
            return Err(failed);
        }
        attempts += 1;
        tracing::warn!("a bucket is asked again, attempt {attempts} failed: {failed}");
        std::thread::sleep(patience.pause_after(attempts).min(left));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::ErrorKind;

    use super::*;
    use forebay_os::clock::ManualClock;

    #[test]
    fn a_bucket_that_is_away_is_waited_for_once_and_again_when_it_was_back() {
        let clock = Arc::new(ManualClock::default());
        let patience =
            RetryWindow { all: Duration::from_millis(3), clock: Arc::<ManualClock>::clone(&clock) };
        let (gone, asked) = (AtomicBool::new(false), Cell::new(0));
        let ask = |kind: Option<ErrorKind>| {
            retry_patiently(&gone, &patience, || {
                asked.set(asked.get() + 1);
                clock.advance(1_000_000);
                kind.map_or(Ok(()), |kind| Err(RequestError { kind, why: "no".to_owned() }))
            })
        };
        assert!(ask(Some(ErrorKind::PermissionDenied)).is_err());
        assert_eq!((asked.take(), gone.load(Relaxed)), (1, false));
        assert!(ask(Some(ErrorKind::Other)).is_err());
        assert_eq!((asked.take(), gone.load(Relaxed)), (3, true));
        assert!(ask(Some(ErrorKind::Other)).is_err());
        assert_eq!((asked.take(), gone.load(Relaxed)), (1, true));
        assert!(ask(None).is_ok());
        assert_eq!((asked.take(), gone.load(Relaxed)), (1, false));
        assert!(ask(Some(ErrorKind::Other)).is_err());
        assert_eq!(asked.take(), 3, "it is waited for again");
    }

    #[test]
    fn pauses_grow_with_the_attempts_and_with_the_patience() {
        let seconds =
            |all, attempts| RetryWindow::with_limit(Duration::from_secs(all)).pause_after(attempts);
        let pauses = [1, 2, 5, 6, 99].map(|attempts| seconds(300, attempts).as_secs());
        assert_eq!(pauses, [1, 2, 16, 30, 30]);
        assert_eq!(seconds(3, 1), Duration::from_millis(10));
        assert_eq!(seconds(3, 40), Duration::from_millis(300));
    }
}
