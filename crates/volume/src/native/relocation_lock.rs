//! Keeping files still while one of them changes its place: each request holds the files and
//! directories that it names, many at a time, and who moves a file holds it and its directory alone,
//! for the moment of one rename.
//!
//! Who moves never waits for long: a request that takes its time is nobody's to stop.

use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Numbers share locks: a few more wait for a moment, and no number has one of its own to keep.
const STRIPES: usize = 64;
/// How long who moves a file waits for requests; those that come meanwhile wait as long.
const PATIENCE: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct RelocationLock([RwLock<()>; STRIPES]);

/// Held by a request.
pub(crate) type RelocationReadGuard<'a> = [Option<RwLockReadGuard<'a, ()>>; 2];
/// Held by who moves a file.
pub(super) type RelocationWriteGuard<'a> = [Option<RwLockWriteGuard<'a, ()>>; 2];

impl Default for RelocationLock {
    fn default() -> RelocationLock {
        RelocationLock(std::array::from_fn(|_| RwLock::new(())))
    }
}

impl RelocationLock {
    /// A request is about these.
    pub(crate) fn lock_shared(&self, one: u64, other: Option<u64>) -> RelocationReadGuard<'_> {
        let (one, other) = lock_stripes(one, other.unwrap_or(one));
        [Some(self.0[one].read()), other.map(|other| self.0[other].read())]
    }

    /// Nobody else is about these now; `None`: somebody is.
    pub(super) fn try_lock_exclusive(
        &self,
        one: u64,
        other: u64,
    ) -> Option<RelocationWriteGuard<'_>> {
        let (one, other) = lock_stripes(one, other);
        let first = self.0[one].try_write_for(PATIENCE)?;
        let second = match other {
            Some(other) => Some(self.0[other].try_write_for(PATIENCE)?),
            None => None,
        };
        Some([Some(first), second])
    }
}

/// In one order, and none twice.
fn lock_stripes(one: u64, other: u64) -> (usize, Option<usize>) {
    let (one, other) = (one as usize % STRIPES, other as usize % STRIPES);
    (one.min(other), (one != other).then_some(one.max(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_share_and_who_moves_is_alone() {
        let still = RelocationLock::default();
        let one = still.lock_shared(1, Some(2));
        let another = still.lock_shared(2, Some(1));
        assert!(
            still.try_lock_exclusive(2, 9).is_none()
                && still.try_lock_exclusive(9, 2 + STRIPES as u64).is_none()
        );
        drop((one, another));
        let alone = still.try_lock_exclusive(2, 9).expect("nobody is there");
        assert!(still.0[2].try_read().is_none() && still.0[9].try_read().is_none());
        assert!(still.0[1].try_read().is_some());
        drop(alone);
        assert!(
            still.try_lock_exclusive(3, 3 + STRIPES as u64).is_some(),
            "two numbers of one stripe"
        );
    }
}
