//! Changes of names, and moments without any: whoever changes one is inside meanwhile, and a tree
//! that is taken as it is at one moment is taken while nobody is.

use std::cell::Cell;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

thread_local!(
    /// How many changes this thread is making: a rename is two, and the second must not wait for
    /// whoever waits for the first. A lock belongs to a thread, and so does this.
    static INSIDE: Cell<u32> = const { Cell::new(0) }
);

/// What changes of names pass through.
#[derive(Debug, Default)]
pub(crate) struct ChangeGate(RwLock<()>);

/// Held by whoever changes a name.
#[derive(Debug)]
pub(crate) struct ChangeGuard<'g> {
    _gate: Option<RwLockReadGuard<'g, ()>>,
}

impl Drop for ChangeGuard<'_> {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
    }
}

impl ChangeGate {
    /// Something is about to be changed.
    pub(crate) fn enter_change(&self) -> ChangeGuard<'_> {
        let is_first = INSIDE.replace(INSIDE.get() + 1) == 0;
        ChangeGuard { _gate: is_first.then(|| self.0.read()) }
    }

    /// Whether this thread is changing a name: if it waited for a quiet moment, it would wait for
    /// itself.
    pub(crate) fn is_changing() -> bool {
        INSIDE.get() > 0
    }

    /// Nobody changes a name as long as this lives.
    pub(crate) fn block_changes(&self) -> RwLockWriteGuard<'_, ()> {
        self.0.write()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_moment_waits_for_changes_and_changes_for_it() {
        let gate = ChangeGate::default();
        let (outer, inner) = (gate.enter_change(), gate.enter_change());
        assert!(gate.0.try_write().is_none());
        drop(inner);
        assert!(gate.0.try_write().is_none(), "one of two is over");
        drop(outer);
        let quiet = gate.block_changes();
        assert!(gate.0.try_read().is_none());
        drop(quiet);
        drop(gate.enter_change());
    }
}
