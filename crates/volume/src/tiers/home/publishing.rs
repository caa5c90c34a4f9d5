//! Publishing files while they are on their way: before one is discarded, and where nothing in
//! place leads to one.

use std::path::Path;

use rustix::fs::Statx;

use super::Work;
use super::packed::Name;
use crate::pack::{Pack, Time};
use crate::tiers::publish::Source;

impl Work<'_> {
    /// Publishes a file under those of its names that are to be, before it goes; false if it must
    /// not go yet.
    pub(super) fn publish_first<'p>(
        &mut self,
        names: impl Iterator<Item = &'p Path>,
        from: &Source<'_>,
        stat: &Statx,
    ) -> bool {
        self.publish_as(names, from, stat.stx_size, Time::of(&stat.stx_mtime))
    }

    /// The same for a packed file, which may be about to stay as well.
    pub(super) fn publish_packed(&mut self, pack: &Pack, names: &[Name]) -> bool {
        let Some(first) = names.first() else { return true };
        let (attr, from) = (first.found.attr, Source::Packed(pack, first.found.ino));
        let paths: Vec<_> = names.iter().map(Name::path).collect();
        self.publish_as(paths.iter().map(|path| path.as_path()), &from, attr.size, attr.mtime)
    }

    fn publish_as<'p>(
        &mut self,
        names: impl Iterator<Item = &'p Path>,
        from: &Source<'_>,
        size: u64,
        mtime: Time,
    ) -> bool {
        let Some(publisher) = &mut self.publisher else { return true };
        let mut all = true;
        for path in names {
            let Some(to) = publisher.wanted(path) else { continue };
            if !publisher.has(to, path, size, mtime) {
                let done = publisher.file(to, path, from);
                all &= publisher.came(path, to, done);
            }
            // A name that a power failure could take back would be of a file that is gone.
            all &= publisher.leave_folder().is_ok();
        }
        all
    }

    /// Publishes all that lies in place now.
    pub(super) fn publish(&mut self) {
        let Some(mut publisher) = self.publisher.take() else { return };
        publisher.publish_all();
        let published = publisher.close();
        self.done.published = published.done;
        self.done.unpublished = published.failed;
    }
}
