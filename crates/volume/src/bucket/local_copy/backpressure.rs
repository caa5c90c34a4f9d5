//! Who makes files faster than the bucket takes them waits while that helps, before the disk is
//! full. The bytes of an open file don't pass through us where the kernel lends files, so whoever
//! begins to write waits, and not each write. Who reads what is away waits when the disk is full.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rustix::fs::fstatvfs;

use super::super::dirty_names::NotedChanges;
use super::LocalCopy;
use crate::backend::ChangeGate;

/// Who begins to write waits when less than one part in so many of the disk is free: half of what
/// room is made for, so that it may be made in time.
const FULL: u64 = 32;
/// Rounds of the thread that ships after which waiting longer makes no room: one may have begun
/// before, the next one ships all that there was, and the last gives back what was open then.
const ROUNDS: u64 = 3;
/// Between two looks, if nobody says that there is room.
const LOOK: Duration = Duration::from_millis(100);

/// What is known of the local space.
#[derive(Debug, Default)]
pub(super) struct LocalSpace {
    space: Option<u64>,
    /// Bytes that the files had at some moment, and bytes that were free then; 0: not known yet.
    whole: AtomicU64,
    /// The first of these alone.
    taken: AtomicU64,
}

impl LocalSpace {
    pub(super) fn new(space: Option<u64>) -> LocalSpace {
        LocalSpace { space, ..LocalSpace::default() }
    }

    /// All files have so many bytes, and so many more are free.
    pub(super) fn note_usage(&self, taken: u64, free: u64) {
        self.taken.store(taken, Relaxed);
        self.whole.store(taken.saturating_add(free), Relaxed);
    }

    /// Whether the files have more than they may, when so many bytes are free. What others put on
    /// the disk meanwhile counts as theirs until they are looked at again.
    fn is_over_limit(&self, free: u64) -> bool {
        self.space.is_some_and(|space| self.whole.load(Relaxed).saturating_sub(free) > space)
    }
}

impl LocalCopy {
    /// Somebody begins to write a file: waits while there is little room, and the bucket takes what
    /// is here, so that there will be more.
    pub(super) fn wait_for_local_room(&self) {
        if !self.has_little_room() {
            return;
        }
        let mut noted = self.marks.lock_noted();
        let last = noted.rounds + ROUNDS;
        loop {
            if self.is_vain(&noted) || !self.has_little_room() {
                return;
            }
            if noted.rounds >= last {
                tracing::warn!(
                    "{}: there is little room for new files",
                    self.told.lock().kept.display()
                );
                noted.is_vain = true;
                return;
            }
            noted.crowded = true;
            self.marks.call.notify_all();
            self.marks.call.wait_for(&mut noted, LOOK);
        }
    }

    /// Waits until room was looked for once more; false where waiting would be vain.
    pub(super) fn wait_for_freed_room(&self) -> bool {
        if ChangeGate::is_changing() {
            return false;
        }
        let mut noted = self.marks.lock_noted();
        let last = noted.rounds + 1;
        while noted.rounds < last {
            if self.is_vain(&noted) {
                return false;
            }
            noted.crowded = true;
            self.marks.call.notify_all();
            self.marks.call.wait_for(&mut noted, LOOK);
        }
        true
    }

    fn is_vain(&self, noted: &NotedChanges) -> bool {
        noted.over || noted.lost.is_some() || noted.is_vain || self.health.is_ailing()
    }

    /// Bytes that the files had on this machine when they were looked at last; `None`: there was no
    /// need yet.
    pub(super) fn local_bytes_used(&self) -> Option<u64> {
        Some(self.fill.taken.load(Relaxed)).filter(|taken| *taken > 0)
    }

    fn has_little_room(&self) -> bool {
        let Ok(disk) = fstatvfs(&self.root) else { return false };
        disk.f_bavail < disk.f_blocks / FULL
            || self.fill.is_over_limit(disk.f_bavail * disk.f_frsize)
    }

    /// The thread that ships has done a round, and given so many files back.
    pub(super) fn end_round(&self, given_back: usize) {
        let mut noted = self.marks.lock_noted();
        noted.rounds += 1;
        noted.crowded = false;
        noted.is_vain &= given_back == 0;
        drop(noted);
        self.marks.call.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_says_how_much_the_files_have() {
        let fill = LocalSpace::new(Some(100));
        assert!(!fill.is_over_limit(0), "nobody has looked yet");
        fill.note_usage(60, 1000);
        assert!(!fill.is_over_limit(1000));
        assert!(!fill.is_over_limit(960), "60 and 40 more");
        assert!(fill.is_over_limit(959));
        assert!(!fill.is_over_limit(2000), "others removed something");
        let fill = LocalSpace::new(None);
        fill.note_usage(60, 1000);
        assert!(!fill.is_over_limit(0));
    }
}
