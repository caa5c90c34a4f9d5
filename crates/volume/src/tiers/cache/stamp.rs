//! By what a copy is known to be of the file as it is.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::fs::Statx;
use rustix::io::Errno;

use forebay_os::file_identity::statx_nofollow;

/// Times of files advance in steps of up to 10 ms (CONFIG_HZ=100); twice that is safe.
const STEP_NANOS: i128 = 20_000_000;
/// How often a file that is being changed is looked at again.
const LOOKS: u32 = 5;

/// Size and times of a file. Together with its identity they are another after each change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CopyStamp {
    pub(super) size: u64,
    pub(super) modified: (i64, u32),
    pub(super) changed: (i64, u32),
}

impl CopyStamp {
    pub(super) fn from_statx(stat: &Statx) -> CopyStamp {
        CopyStamp {
            size: stat.stx_size,
            modified: (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec),
            changed: (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec),
        }
    }

    /// The stamp of a file once its last change is long enough ago that another can't leave the
    /// same times; `None` when it goes on changing.
    pub(super) fn wait_until_settled(file: &OwnedFd) -> Result<Option<CopyStamp>, Errno> {
        for _ in 0..LOOKS {
            let stamp = CopyStamp::from_statx(&statx_nofollow(file.as_fd(), c"")?);
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
            let nanos = |sec: i64, nsec: i64| i128::from(sec) * 1_000_000_000 + i128::from(nsec);
            let changed = nanos(stamp.changed.0, i64::from(stamp.changed.1));
            if nanos(now.tv_sec, now.tv_nsec) - changed > STEP_NANOS {
                return Ok(Some(stamp));
            }
            std::thread::sleep(Duration::from_nanos(STEP_NANOS as u64));
        }
        Ok(None)
    }
}
