//! Finding a name in a directory, and how long the answer may be trusted.

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rustix::fs::Statx;
use rustix::io::Errno;

use super::ResolvedName;
use super::{
    Entry, Native, Node, Result, SEARCHES_BEFORE_WATCH, TRUST, TRUST_ABSENT, TRUST_WATCHED,
};

impl Native {
    /// Looks `name` up in directory `parent`.
    ///
    /// # Errors
    /// ENOENT for an absent name that must not be remembered as such; else the backing's.
    pub(crate) fn lookup(&self, parent: u64, name: &CStr) -> Result<(Entry, Option<Arc<Node>>)> {
        let dir = self.node(parent)?;
        self.ensure_listed(&dir)?;
        let fd = self.dir_fd_of(&dir)?;
        // The watch comes first: a change after this look is then told.
        let watched = self.ensure_watched(&dir);
        match self.resolve_entry(&dir, fd.as_fd(), name) {
            Ok(seen) => {
                let (entry, node) = self.reference_entry(&dir, name, seen, watched);
                Ok((entry, Some(node)))
            }
            Err(Errno::NOENT) => {
                let trust =
                    if watched { Some(TRUST_ABSENT) } else { self.name_cache_timeout(&dir, name) };
                let Some(name_trust) = trust else { return Err(Errno::NOENT) };
                // SAFETY: a Statx is plain numbers, for which zero is a value.
                let stat: Statx = unsafe { std::mem::zeroed() };
                Ok((Entry { node: 0, stat, name_trust, attr_trust: Duration::ZERO }, None))
            }
            Err(other) => Err(other),
        }
    }

    /// Takes a kernel reference to what was found, and says how long to trust it.
    pub(crate) fn reference_entry(
        &self,
        dir: &Node,
        name: &CStr,
        seen: ResolvedName,
        watched: bool,
    ) -> (Entry, Arc<Node>) {
        let ResolvedName { mut stat, placed, packed, body } = seen;
        let mut node = match packed {
            Some(packed) => self.table.packed.reference_node(packed),
            None => self.table.reference_tiered_node(&stat, placed.as_ref()),
        };
        if let Some(placed) = placed {
            let mine = node.placed.get_or_init(&placed);
            if mine.key != placed.key || mine.room != placed.room {
                // The link's inode number was used again, and the file system tells no births.
                self.table.detach_identity(&node);
                self.table.forget(node.id, 1);
                node = self.table.reference_tiered_node(&stat, Some(&placed));
            } else {
                mine.links.store(placed.links.load(Relaxed), Relaxed);
            }
        }
        if watched {
            self.gone.note_recreated(dir.id, name);
        }
        node.note_name(dir.id, name, stat.stx_nlink);
        if self.foreign.contains(&body) {
            node.foreign.store(true, Relaxed);
        }
        if let Some(folder) = node.folder.get() {
            stat = folder.exposed_stat(stat);
        }
        let name_trust = match watched {
            true => TRUST_WATCHED,
            // Links can be followed from outside, and bodies come home.
            false if node.placed.get().is_some() => TRUST,
            false => self.name_cache_timeout(dir, name).map_or(TRUST, |trust| trust.max(TRUST)),
        };
        self.apply_backend_attributes(&node, &mut stat, None);
        node.guise.apply_to(&mut stat);
        self.note_reported_stat(&node, &stat);
        let entry = Entry { node: node.id, name_trust, attr_trust: self.attr_timeout(&node), stat };
        (entry, node)
    }

    /// Whether names in `dir` are watched, arming the watch when it has become worth it.
    pub(crate) fn ensure_watched(&self, dir: &Arc<Node>) -> bool {
        if dir.is_watched() {
            return true;
        }
        let Some(watch) = self.watch.get() else { return false };
        if dir.searched.fetch_add(1, Relaxed) < SEARCHES_BEFORE_WATCH {
            return false;
        }
        let Ok(fd) = self.dir_fd_of(dir) else { return false };
        let armed = watch.watch_directory(dir.id, fd.as_fd());
        dir.watched.store(armed, Relaxed);
        armed
    }

    /// The kernel let go of `count` references to a node.
    pub fn forget(&self, id: u64, count: u64) {
        let Some(node) = self.table.forget(id, count) else { return };
        // Whoever finds it anew would not know of changes that are not set.
        self.set_pending_times(&node);
        if let (true, Some(watch)) = (node.is_watched(), self.watch.get()) {
            watch.unwatch_directory(id);
        }
        if let Some(packed) = node.packed.get() {
            self.forget_packed(packed);
        }
    }
}
