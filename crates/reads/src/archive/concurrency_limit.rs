//! How many may do something at a time.

use std::sync::{Condvar, Mutex};

/// Turns that can be taken.
#[derive(Debug)]
pub(super) struct Turns {
    left: Mutex<usize>,
    given_back: Condvar,
}

/// A turn, until it is dropped.
pub(super) struct Turn<'a>(&'a Turns);

impl Default for Turns {
    /// As many as anybody wants.
    fn default() -> Turns {
        Turns::with_limit(usize::MAX)
    }
}

impl Turns {
    pub(super) fn with_limit(many: usize) -> Turns {
        Turns { left: Mutex::new(many.max(1)), given_back: Condvar::new() }
    }

    /// Waits for one.
    pub(super) fn acquire_turn(&self) -> Turn<'_> {
        let left = self.left.lock().expect("nobody panics with it");
        let mut left =
            self.given_back.wait_while(left, |left| *left == 0).expect("nobody panics with it");
        *left -= 1;
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.left.lock().expect("nobody panics with it") += 1;
        self.0.given_back.notify_one();
    }
}
