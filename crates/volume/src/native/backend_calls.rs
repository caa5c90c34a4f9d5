//! What keeps a directory beyond itself ([`crate::backend`]): it is told what changes, and asked for
//! names and bytes that are not here.

mod remote_content;

use std::ffi::{CStr, OsStr};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use parking_lot::RwLockReadGuard;
use rustix::fs::{Mode, OFlags, openat};

use super::{FileHandle, Native, Node, Result};
use crate::backend::{Backend, ChangeGuard, TreeServer};
use forebay_os::file_identity::FileIdentity;
use forebay_os::short_name::ShortName;

impl Native {
    /// Gives what keeps the directory beyond itself.
    #[must_use]
    pub(crate) fn with_backend(mut self, backend: Arc<dyn Backend>) -> Native {
        self.backend = backend;
        self
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// The same, for who acts beside programs.
    pub(crate) fn shared_backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend)
    }

    /// Somebody is about to look into a directory, which may not have been listed.
    pub(super) fn ensure_listed(&self, dir: &Arc<Node>) -> Result<()> {
        let number = dir.identity().inode;
        if self.backend.is_listed(number) {
            return Ok(());
        }
        let open = || {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let fd = openat(self.dir_fd_of(dir)?, c".", flags, Mode::empty())?;
            Ok((self.path_of(dir), fd))
        };
        self.credentials.run_as_daemon(|| self.backend.list_directory(number, &open))
    }

    /// A name in a directory, or with `None` the directory or file itself, is about to be changed.
    pub(super) fn announce_change(
        &self,
        node: &Node,
        name: Option<&CStr>,
    ) -> Option<ChangeGuard<'_>> {
        let inside = self.backend.gate()?.enter_change();
        match name {
            Some(name) => self.backend.note_name_change(self.path_of(node), name.to_owned()),
            None => self.announce_node_change(node),
        }
        Some(inside)
    }

    fn announce_node_change(&self, node: &Node) {
        // The directory that is the volume is looked at with everything.
        let Some((parent, name)) = node.newest_name() else { return };
        if let Some(parent) = self.table.get(parent) {
            self.backend.note_name_change(self.path_of(&parent), name);
        }
    }

    /// A file that may have been written was closed.
    pub(super) fn announce_written_file(&self, handle: &FileHandle) {
        if let Some(gate) = self.backend.gate().filter(|_| handle.writes) {
            let _inside = gate.enter_change();
            self.backend.note_bytes_change(handle.node.identity());
            self.announce_node_change(&handle.node);
        }
    }

    /// Makes a file safe on this machine's disk, and elsewhere where that is wanted: both at the
    /// same time, since each takes its time.
    pub(super) fn sync_local_and_backend(
        &self,
        handle: &FileHandle,
        sync: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if self.backend.is_in_place() {
            return sync();
        }
        self.announce_written_file(handle);
        let ticket = self.backend.begin_sync(&self.path_of(&handle.node), handle.node.identity());
        // Whoever may write a file need not own it.
        self.credentials.run_as_daemon(|| self.backend.before_local_sync(handle.file.as_fd()));
        sync()?;
        ticket.map_or(Ok(()), |ticket| self.backend.finish_sync(ticket))
    }

    /// The same of a directory's names: those that a rule says nothing of one by one.
    pub(super) fn sync_directory_names(&self, node: &Node) -> Result<()> {
        if self.backend.is_in_place() {
            return Ok(());
        }
        let ticket = self.backend.begin_sync(&self.child_path(node, c"."), node.identity());
        ticket.map_or(Ok(()), |ticket| self.backend.finish_sync(ticket))
    }

    /// Held while a file is opened: its bytes stay.
    pub(super) fn pin_bytes_for_open(&self) -> Option<RwLockReadGuard<'_, ()>> {
        self.backend.pin_bytes_for_open()
    }
}

impl TreeServer for Native {
    fn is_open_for_writing(&self, identity: &FileIdentity) -> bool {
        let node = self.table.find_by_identity(*identity);
        node.is_some_and(|node| node.open.lock().handles.iter().any(|handle| handle.writes))
    }

    fn files_open_for_writing(&self) -> Vec<FileIdentity> {
        let handles = self.handles.lock();
        handles.values().filter(|handle| handle.writes).map(|one| one.node.identity()).collect()
    }

    fn is_open(&self, identity: &FileIdentity) -> bool {
        let node = self.table.find_by_identity(*identity);
        node.is_some_and(|node| node.open.lock().shared.is_open())
    }

    fn invalidate_in_kernel(&self, names: &[(FileIdentity, ShortName)], files: &[FileIdentity]) {
        let Some(kernel) = self.device() else { return };
        for (folder, name) in names {
            if let Some(folder) = self.table.find_by_identity(*folder) {
                kernel.invalidate_entry(folder.id, OsStr::from_bytes(name));
            }
        }
        for file in files {
            if let Some(node) = self.table.find_by_identity(*file) {
                kernel.invalidate_node(node.id, false);
            }
        }
    }
}
