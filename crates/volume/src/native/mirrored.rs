//! A directory that stands for a volume in a bucket, or for a prefix of one (`bucket`): it is told
//! what changes, and asked for names and bytes that are not here.

mod bytes;

use std::ffi::{CStr, OsStr};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use parking_lot::RwLockReadGuard;
use rustix::fs::{Mode, OFlags, openat};

use super::{Handle, Native, Node, Result};
use crate::bucket::{Bodies, Follow, Inside, Keeper, Mirror, Prefix, TreeServer, joined};
use forebay_os::files::FileIdentity;
use forebay_os::short::ShortName;

/// Names of extended attributes that are ours begin so; programs don't see them.
pub(super) const OURS: &[u8] = b"user.forebay.";

impl Native {
    /// Says that the directory stands for a volume in a bucket, and what keeps it so.
    #[must_use]
    pub(crate) fn kept_by(mut self, keeper: Keeper) -> Native {
        match keeper {
            Keeper::Writer(mirror) => self.mirror = Some(mirror),
            Keeper::Reader(follow) => self.follow = Some(follow),
        }
        self
    }

    pub(crate) fn mirror(&self) -> Option<&Arc<Mirror>> {
        self.mirror.as_ref()
    }

    /// Says that the directory shows a prefix of a bucket.
    #[must_use]
    pub(crate) fn with_prefix(mut self, prefix: Option<Arc<Prefix>>) -> Native {
        self.prefix = prefix;
        self
    }

    pub(crate) fn prefix(&self) -> Option<&Arc<Prefix>> {
        self.prefix.as_ref()
    }

    pub(crate) fn follow(&self) -> Option<&Arc<Follow>> {
        self.follow.as_ref()
    }

    /// What brings bytes that are not here.
    pub(crate) fn bodies(&self) -> Option<&Arc<Bodies>> {
        let mirrored = self.mirror.as_ref().map(|mirror| &mirror.bodies);
        let shown = mirrored.or(self.prefix.as_ref().map(|prefix| &prefix.bodies));
        shown.or(self.follow.as_ref().map(|follow| &follow.bodies))
    }

    /// Somebody is about to look into a directory, which may not have been listed.
    pub(super) fn look_into(&self, dir: &Arc<Node>) -> Result<()> {
        let number = dir.identity().inode;
        let prefix = self.prefix.as_ref().filter(|prefix| !prefix.is_listed(number));
        let Some(prefix) = prefix else { return Ok(()) };
        let open = || {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let fd = openat(self.dir_fd_of(dir)?, c".", flags, Mode::empty())?;
            Ok((self.path_of(dir), fd))
        };
        self.credentials.as_daemon(|| prefix.look(number, open))
    }

    /// A name in a directory, or with `None` the directory or file itself, is about to be changed.
    pub(super) fn mark(&self, node: &Node, name: Option<&CStr>) -> Option<Inside<'_>> {
        let mirror = self.mirror.as_ref()?;
        let inside = mirror.enter();
        match name {
            Some(name) => mirror.marks.mark(self.path_of(node), name.to_owned()),
            None => self.mark_itself(mirror, node),
        }
        Some(inside)
    }

    fn mark_itself(&self, mirror: &Mirror, node: &Node) {
        // The directory that is the volume is looked at with everything.
        let Some((parent, name)) = node.name() else { return };
        if let Some(parent) = self.table.get(parent) {
            mirror.marks.mark(self.path_of(&parent), name);
        }
    }

    /// A file that may have been written was closed.
    pub(super) fn mark_written(&self, handle: &Handle) {
        if let Some(mirror) = self.mirror.as_ref().filter(|_| handle.writes) {
            let _inside = mirror.enter();
            mirror.marks.is_written(handle.node.identity());
            self.mark_itself(mirror, &handle.node);
        }
    }

    /// Makes a file safe on this machine's disk, and in the bucket where that is wanted: both at
    /// the same time, since each takes its time.
    pub(super) fn sync_written(
        &self,
        handle: &Handle,
        sync: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some(mirror) = &self.mirror else { return sync() };
        self.mark_written(handle);
        let asked = mirror.ask(&self.path_of(&handle.node), handle.node.identity());
        // Whoever may write a file need not own it.
        self.credentials.as_daemon(|| mirror.is_synced(handle.file.as_fd()));
        sync()?;
        asked.map_or(Ok(()), |asked| mirror.wait(asked))
    }

    /// The same of a directory's names: those that a rule says nothing of one by one.
    pub(super) fn sync_names(&self, node: &Node) -> Result<()> {
        let Some(mirror) = &self.mirror else { return Ok(()) };
        let any = joined(&self.path_of(node), b".");
        mirror.ask(&any, node.identity()).map_or(Ok(()), |asked| mirror.wait(asked))
    }

    /// Somebody begins to write a file: there may have to be room first.
    pub(super) fn begins_to_write(&self) {
        if let Some(mirror) = &self.mirror {
            mirror.wait_for_room();
        }
    }

    /// Held while a file is opened: its bytes stay.
    pub(super) fn opening(&self) -> Option<RwLockReadGuard<'_, ()>> {
        self.mirror.as_ref().map(|mirror| mirror.opening.read())
    }
}

impl TreeServer for Native {
    fn is_written(&self, identity: &FileIdentity) -> bool {
        let node = self.table.find(*identity);
        node.is_some_and(|node| node.open.lock().handles.iter().any(|handle| handle.writes))
    }

    fn left_open(&self) -> Vec<FileIdentity> {
        let handles = self.handles.lock();
        handles.values().filter(|handle| handle.writes).map(|one| one.node.identity()).collect()
    }

    fn is_open(&self, identity: &FileIdentity) -> bool {
        let node = self.table.find(*identity);
        node.is_some_and(|node| node.open.lock().shared.is_open())
    }

    fn forget(&self, names: &[(FileIdentity, ShortName)], files: &[FileIdentity]) {
        let Some(kernel) = self.device() else { return };
        for (folder, name) in names {
            if let Some(folder) = self.table.find(*folder) {
                kernel.invalidate_entry(folder.id, OsStr::from_bytes(name));
            }
        }
        for file in files {
            if let Some(node) = self.table.find(*file) {
                kernel.invalidate_node(node.id, false);
            }
        }
    }
}
