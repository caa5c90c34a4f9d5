//! Tests run side by side, but who measures a time does it alone: on few processors the others
//! would be measured, too.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

static TURNS: Mutex<Turns> = Mutex::new(Turns { side_by_side: 0, waiting: 0, is_alone: false });
static CALL: Condvar = Condvar::new();

thread_local!(
    /// A test with two places does not wait for itself.
    static MINE: Cell<usize> = const { Cell::new(0) }
);

struct Turns {
    side_by_side: usize,
    /// Who wants to be alone; nobody begins meanwhile.
    waiting: usize,
    is_alone: bool,
}

/// As long as it lives the test goes on.
#[derive(Debug)]
pub(crate) struct Turn {
    is_alone: bool,
}

/// A test that failed has said so.
fn turns() -> MutexGuard<'static, Turns> {
    TURNS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Turn {
    pub(crate) fn beside_others() -> Turn {
        let mut turns = turns();
        while MINE.get() == 0 && (turns.is_alone || turns.waiting > 0) {
            turns = CALL.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
        turns.side_by_side += 1;
        MINE.set(MINE.get() + 1);
        Turn { is_alone: false }
    }

    pub(crate) fn alone() -> Turn {
        let mut turns = turns();
        turns.waiting += 1;
        while turns.is_alone || turns.side_by_side > 0 {
            turns = CALL.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
        turns.waiting -= 1;
        turns.is_alone = true;
        Turn { is_alone: true }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut turns = turns();
        match self.is_alone {
            true => turns.is_alone = false,
            false => {
                turns.side_by_side -= 1;
                MINE.set(MINE.get().saturating_sub(1));
            }
        }
        drop(turns);
        CALL.notify_all();
    }
}
