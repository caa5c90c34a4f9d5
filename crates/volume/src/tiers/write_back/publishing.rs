//! Publishing files while they are on their way: before one is discarded, and where nothing in
//! place leads to one.

use std::path::Path;

use rustix::fs::Statx;

use super::WriteBackJob;
use super::packed_names::PackedFileName;
use crate::tiers::publish::PublishSource;
use forebay_packlog::{Pack, Time};

impl WriteBackJob<'_> {
    /// Publishes a file under those of its names that are to be, before it goes; false if it must
    /// not go yet.
    pub(super) fn publish_before_discard<'p>(
        &mut self,
        names: impl Iterator<Item = &'p Path>,
        from: &PublishSource<'_>,
        stat: &Statx,
    ) -> bool {
        self.publish_names(names, from, stat.stx_size, Time::from_timestamp(&stat.stx_mtime), true)
    }

    /// The same for a packed file, which goes, or stays.
    pub(super) fn publish_packed(
        &mut self,
        pack: &Pack,
        names: &[PackedFileName],
        goes: bool,
    ) -> bool {
        let Some(first) = names.first() else { return true };
        let (attr, from) = (first.found.attr, PublishSource::Packed(pack, first.found.ino));
        let paths: Vec<_> = names.iter().map(PackedFileName::path).collect();
        let paths = paths.iter().map(|path| path.as_path());
        self.publish_names(paths, &from, attr.size, attr.mtime, goes)
    }

    fn publish_names<'p>(
        &mut self,
        mut names: impl Iterator<Item = &'p Path>,
        from: &PublishSource<'_>,
        size: u64,
        mtime: Time,
        goes: bool,
    ) -> bool {
        let tiers = self.tiers;
        let Some(publisher) = &mut self.publisher else {
            return names.all(|path| tiers.publish_target(path).is_none());
        };
        let mut all = true;
        for path in names {
            let Some(to) = publisher.publish_target(path) else { continue };
            // Another file may have the same size and time, and this is the last chance for its
            // bytes.
            if goes || !publisher.has_same_file(to, path, size, mtime) {
                let done = publisher.publish_file(to, path, from);
                // A name that a power failure could take back would be of a file that is gone.
                let safe = done.and_then(|bytes| publisher.sync_folder().map(|()| bytes));
                all &= publisher.record_result(path, to, safe);
            }
        }
        all
    }

    /// Publishes all that lies in place now.
    pub(super) fn publish_in_place(&mut self) {
        let Some(mut publisher) = self.publisher.take() else { return };
        publisher.publish_all();
        let published = publisher.finish_publishing();
        self.done.published = published.done;
        self.done.unpublished.extend(published.failed);
    }
}
