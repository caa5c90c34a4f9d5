//! What is shown of a file that has moved: its number, its birth and its time of change are those of
//! the file that it was, as long as the kernel knows it and nothing has changed it since.

use parking_lot::RwLock;
use rustix::fs::{Statx, StatxTimestamp};

/// Of a file that has not moved: nothing.
#[derive(Debug, Default)]
pub(super) struct AttributeOverride(RwLock<Option<Box<OriginalAttributes>>>);

#[derive(Debug)]
struct OriginalAttributes {
    /// 0: the file system gave it to another file.
    number: u64,
    /// Its time of change, as long as it was changed last by being moved.
    changed: StatxTimestamp,
    moved: (i64, u32),
    birth: StatxTimestamp,
}

fn change_time(stat: &Statx) -> (i64, u32) {
    (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec)
}

impl AttributeOverride {
    /// Shows attributes as they would be if it had not moved.
    pub(super) fn apply_to(&self, stat: &mut Statx) {
        if let Some(was) = &*self.0.read() {
            if was.number != 0 {
                stat.stx_ino = was.number;
            }
            if change_time(stat) == was.moved {
                stat.stx_ctime = was.changed;
            }
            stat.stx_btime = was.birth;
        }
    }

    /// It moved: this was shown before, and these are its attributes since.
    pub(super) fn record_move(&self, shown: &Statx, since: &Statx) {
        *self.0.write() = Some(Box::new(OriginalAttributes {
            number: shown.stx_ino,
            changed: shown.stx_ctime,
            moved: change_time(since),
            birth: shown.stx_btime,
        }));
    }

    /// The number that it shows instead of its own.
    pub(super) fn exposed_inode(&self) -> Option<u64> {
        self.0.read().as_ref().map(|was| was.number).filter(|number| *number != 0)
    }

    /// Its number is another file's.
    pub(super) fn drop_inode(&self) {
        if let Some(was) = &mut *self.0.write() {
            was.number = 0;
        }
    }
}
