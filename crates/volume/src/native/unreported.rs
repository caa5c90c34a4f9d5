//! The error of a write that nobody waited for. It stays with the file until each open file that was
//! there has reported it once, by its next write, fsync or close. The kernel does so with pages that
//! it writes back (Linux `lib/errseq.c`).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustix::io::Errno;

use super::Result;

/// Somebody has reported it, so whoever opens the file from now on need not.
const REPORTED: u64 = 1 << 32;
/// Errors are counted above that bit; below it is the newest one's number.
const ONE: u64 = REPORTED << 1;

/// The newest such error of a file; 0: there was none.
#[derive(Debug, Default)]
pub(crate) struct UnreportedError(AtomicU64);

impl UnreportedError {
    /// A write has failed.
    pub(super) fn record_error(&self, error: Errno) {
        let next = |old: u64| {
            let count = (old / ONE).wrapping_add(1);
            Some(count.wrapping_mul(ONE) | u64::from(error.raw_os_error() as u32))
        };
        // `next` never refuses, so there is no failure to look at.
        self.0.fetch_update(Relaxed, Relaxed, next).unwrap_or_default();
    }

    /// Nobody has to hear of anything.
    pub(super) fn is_none(&mut self) -> bool {
        matches!(*self.0.get_mut(), 0) || *self.0.get_mut() & REPORTED != 0
    }

    /// What a fresh open has heard of.
    pub(super) fn heard_at_open(&self) -> AtomicU64 {
        let now = self.0.load(Relaxed);
        AtomicU64::new(if now & REPORTED == 0 { 0 } else { now })
    }

    pub(super) fn report_once(&self, heard: &AtomicU64) -> Result<()> {
        if self.0.load(Relaxed) == 0 {
            return Ok(());
        }
        let now = self.0.fetch_or(REPORTED, Relaxed) | REPORTED;
        match heard.swap(now, Relaxed) == now {
            true => Ok(()),
            false => Err(Errno::from_raw_os_error(now as u32 as i32)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_open_file_reports_an_error_once_and_a_later_one_again() {
        let error = UnreportedError::default();
        let (one, two) = (error.heard_at_open(), error.heard_at_open());
        assert_eq!(error.report_once(&one), Ok(()));
        error.record_error(Errno::IO);
        let unheard = error.heard_at_open();
        assert_eq!(error.report_once(&one), Err(Errno::IO));
        assert_eq!(error.report_once(&one), Ok(()));
        let late = error.heard_at_open();
        assert_eq!(error.report_once(&late), Ok(()), "opened when somebody had reported it");
        assert_eq!(error.report_once(&unheard), Err(Errno::IO), "opened when nobody had");
        error.record_error(Errno::NOSPC);
        assert_eq!([&one, &two, &late].map(|open| error.report_once(open)), [Err(Errno::NOSPC); 3]);
        assert_eq!([&one, &two, &late].map(|open| error.report_once(open)), [Ok(()); 3]);
    }
}
