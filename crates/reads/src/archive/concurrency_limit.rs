//! How many may do something at a time.

use std::sync::{Condvar, Mutex};

/// Turns that can be taken.
#[derive(Debug)]
pub(super) struct ConcurrencyLimit {
    left: Mutex<usize>,
    given_back: Condvar,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct DecodeTurn<'a>(&'a ConcurrencyLimit);

impl Default for ConcurrencyLimit {
    /// As many as anybody wants.
    fn default() -> ConcurrencyLimit {
        ConcurrencyLimit::with_limit(usize::MAX)
    }
}

impl ConcurrencyLimit {
    pub(super) fn with_limit(many: usize) -> ConcurrencyLimit {
        ConcurrencyLimit { left: Mutex::new(many.max(1)), given_back: Condvar::new() }
    }

    /// Waits for one.
    pub(super) fn acquire_turn(&self) -> DecodeTurn<'_> {
        let left = self.left.lock().expect("nobody panics with it");
        let mut left =
            self.given_back.wait_while(left, |left| *left == 0).expect("nobody panics with it");
        *left -= 1;
        DecodeTurn(self)
    }
}

impl Drop for DecodeTurn<'_> {
    fn drop(&mut self) {
        *self.0.left.lock().expect("nobody panics with it") += 1;
        self.0.given_back.notify_one();
    }
}
