//! Answers when nobody looks on any more: a recorder that was killed, or has failed, must not keep a
//! program waiting for ever.

use rustix::event::Timespec;

use super::listener::{Listener, Waited};

/// Calls beside the last one that is known: some of them may have been taken and not answered.
/// Numbers follow each other, and an answer to a call that does not wait is refused.
const BEFORE: u64 = 65_536;
const AFTER: u64 = 4096;

const LONG: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// Lets each call go on, until nobody is left who could make one. `last`: the number of the last one
/// that was taken.
pub(crate) fn stand_in(listener: &Listener, last: u64) {
    for number in 0..BEFORE + AFTER {
        listener.let_continue(last.wrapping_sub(BEFORE).wrapping_add(number));
    }
    loop {
        match listener.wait(&LONG) {
            Waited::Call(call) => drop(listener.let_continue(call.id)),
            Waited::Nothing => {}
            Waited::Over => return,
        }
    }
}
