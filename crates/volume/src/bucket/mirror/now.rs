//! How a volume in a bucket is just now, for who looks on.

use super::Mirror;
use crate::live::BucketNow;

impl Mirror {
    pub(crate) fn now(&self) -> BucketNow {
        let (url, shipped) = {
            let told = self.told.lock();
            (told.url.clone(), told.shipped)
        };
        let queued = {
            let progress = self.progress.lock();
            let left = |(done, all): (u64, u64)| all.saturating_sub(done);
            (left(progress.files), left(progress.bytes))
        };
        let (changed, lost) = {
            let noted = self.marks.noted();
            (noted.dirty.len().max(noted.written.len()) as u64, noted.lost.clone())
        };
        BucketNow { url, changed, queued, shipped, trouble: self.health.trouble(), lost }
    }
}
