//! Waiting for a bucket that does not answer.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::store::Failed;

/// Seconds between attempts, after those that the client makes by itself: an outage of five minutes
/// is waited for.
pub(crate) const PAUSES: [u64; 13] = [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 40, 40, 40];

/// Asks again while that can help; once a bucket has been away for so long, it is not waited for by
/// every other file.
pub(crate) fn patiently<T>(
    gone: &AtomicBool,
    pauses: &[u64],
    ask: impl Fn() -> Result<T, Failed>,
) -> Result<T, Failed> {
    for pause in pauses {
        match ask() {
            Err(failed) if !failed.is_lasting() && !gone.load(Relaxed) => {
                std::thread::sleep(Duration::from_secs(*pause));
            }
            done => return done,
        }
    }
    let done = ask();
    let is_away = done.as_ref().is_err_and(|failed| !failed.is_lasting());
    gone.fetch_or(is_away, Relaxed);
    done
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn a_bucket_that_is_away_is_waited_for_once() {
        let (gone, asked) = (AtomicBool::new(false), Cell::new(0));
        let fail = |kind| {
            asked.set(asked.get() + 1);
            Err::<(), _>(Failed { kind, why: "no".to_owned() })
        };
        assert!(patiently(&gone, &[0; 3], || fail(ErrorKind::PermissionDenied)).is_err());
        assert_eq!((asked.take(), gone.load(Relaxed)), (1, false));
        assert!(patiently(&gone, &[0; 3], || fail(ErrorKind::Other)).is_err());
        assert_eq!((asked.take(), gone.load(Relaxed)), (4, true));
        assert!(patiently(&gone, &[0; 3], || fail(ErrorKind::Other)).is_err());
        assert_eq!(asked.take(), 1);
    }
}
