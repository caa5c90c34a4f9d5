//! How a volume in a bucket is just now, for who looks on.

use super::LocalCopy;
use crate::ipc::BucketStatus;
use forebay_os::clock::{Clock, MachineClock};

impl LocalCopy {
    pub(super) fn current_status(&self) -> BucketStatus {
        let (url, shipped) = {
            let told = self.told.lock();
            (told.url.clone(), told.shipped)
        };
        let queued = {
            let progress = self.progress.lock();
            let left = |(done, all): (u64, u64)| all.saturating_sub(done);
            (left(progress.files), left(progress.bytes))
        };
        let (changed, lost, oldest) = {
            let noted = self.marks.lock_noted();
            let changed = noted.dirty.len().max(noted.written.len()) as u64;
            (changed, noted.lost.clone(), noted.oldest_change())
        };
        let lag_us = oldest.map(|since| MachineClock.elapsed_nanos().saturating_sub(since) / 1000);
        let (trouble, here) = (self.health.current_error(), self.local_bytes_used());
        BucketStatus { url, changed, queued, shipped, trouble, lost, lag_us, here }
    }
}
