//! Making things: files, directories, links, special files, and files without a name.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, linkat, mkdirat, mknodat, openat, symlinkat,
};
use rustix::io::Errno;

use super::device_numbers::unpack_device;
use super::{Entry, Native, Node, OpenReply, ResolvedName, Result};
use forebay_os::credentials::set_umask;
use forebay_os::file_identity::{proc_fd_path, statx_nofollow};

/// A new file, open.
#[derive(Debug)]
pub struct CreateReply {
    /// Its name and attributes.
    pub entry: Entry,
    /// The open handle.
    pub opened: OpenReply,
}

/// The mode bits and the caller's mask of a request that makes something.
#[derive(Debug, Clone, Copy)]
pub struct CreateMode {
    /// Type and permission bits, before the mask.
    pub mode: u32,
    /// The caller's umask, which a default access control list overrides.
    pub umask: u32,
}

impl Native {
    /// Makes a file and opens it, for a thread whose task its rule may name.
    ///
    /// # Errors
    /// The backing file system's, as the caller.
    pub(crate) fn create(
        &self,
        parent: u64,
        name: &CStr,
        flags: u32,
        permissions: CreateMode,
        thread: u32,
    ) -> Result<(CreateReply, Arc<Node>)> {
        let dir = self.node(parent)?;
        self.backend.wait_for_room();
        if let Some(made) = self.create_tiered_file(&dir, name, flags, permissions, thread)? {
            return Ok(made);
        }
        let fd = self.dir_fd_of(&dir)?;
        if self.find_packed_name(&dir, fd.as_fd(), name).is_some() {
            // The kernel did not know: it is to look again.
            return Err(Errno::STALE);
        }
        set_umask(permissions.umask)?;
        let _change = self.begin_change(&dir, Some(name));
        let mode = Mode::from_raw_mode(permissions.mode & 0o7777);
        let how = self.backing_open_flags(flags)
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::from_bits_retain(flags & libc::O_TRUNC as u32);
        let open = |how| self.with_free_descriptors(|| openat(&fd, name, how, mode));
        let mut flags = flags;
        let file = match open(how | OFlags::EXCL) {
            // Somebody outside has made it since the kernel looked.
            Err(Errno::EXIST) if flags & libc::O_EXCL as u32 == 0 => {
                flags &= !libc::O_CREAT as u32;
                open(how)?
            }
            made => made?,
        };
        let stat = statx_nofollow(file.as_fd(), c"")?;
        let (mut entry, node) =
            self.reference_entry(&dir, name, ResolvedName::in_place(stat), dir.is_watched());
        let opened = self.register_open(&node, file, flags, &stat)?;
        entry.attr_trust = self.attr_timeout(&node);
        Ok((CreateReply { entry, opened }, node))
    }

    /// Makes a file that has no name (`O_TMPFILE`).
    ///
    /// # Errors
    /// EOPNOTSUPP where the backing file system has no such files.
    pub(crate) fn create_unnamed(
        &self,
        parent: u64,
        flags: u32,
        permissions: CreateMode,
    ) -> Result<(CreateReply, Arc<Node>)> {
        let fd = self.dir_fd(parent)?;
        set_umask(permissions.umask)?;
        let mode = Mode::from_raw_mode(permissions.mode & 0o7777);
        let how = self.backing_open_flags(flags)
            | OFlags::TMPFILE
            | OFlags::from_bits_retain(flags & libc::O_EXCL as u32);
        let file = self.with_free_descriptors(|| openat(&fd, c".", how, mode))?;
        let stat = statx_nofollow(file.as_fd(), c"")?;
        let node = self.table.reference_node(&stat);
        let attr_trust = self.attr_timeout(&node).min(super::TRUST);
        let entry = Entry { node: node.id, stat, name_trust: attr_trust, attr_trust };
        // It can be given a name later, so it must be found until then.
        node.place.lock().pin = Some(Arc::new(
            file.as_fd()
                .try_clone_to_owned()
                .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::MFILE))?,
        ));
        let opened = self.register_open(&node, file, flags, &stat)?;
        Ok((CreateReply { entry, opened }, node))
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// The backing file system's, as the caller.
    pub fn mkdir(&self, parent: u64, name: &CStr, permissions: CreateMode) -> Result<Entry> {
        self.create_entry(parent, name, permissions.umask, |dir| {
            mkdirat(dir, name, Mode::from_raw_mode(permissions.mode & 0o7777))
        })
    }

    /// Makes a special file, a FIFO, a socket, or an empty plain file.
    ///
    /// # Errors
    /// The backing file system's, as the caller.
    pub fn mknod(
        &self,
        parent: u64,
        name: &CStr,
        permissions: CreateMode,
        device: u32,
    ) -> Result<Entry> {
        self.create_entry(parent, name, permissions.umask, |dir| {
            let kind = FileType::from_raw_mode(permissions.mode);
            let mode = Mode::from_raw_mode(permissions.mode & 0o7777);
            mknodat(dir, name, kind, mode, unpack_device(device))
        })
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// The backing file system's, as the caller.
    pub fn symlink(&self, parent: u64, name: &CStr, target: &CStr) -> Result<Entry> {
        self.create_entry(parent, name, 0, |dir| symlinkat(target, dir, name))
    }

    fn create_entry(
        &self,
        parent: u64,
        name: &CStr,
        umask: u32,
        make: impl FnOnce(BorrowedFd<'_>) -> Result<()>,
    ) -> Result<Entry> {
        let dir = self.node(parent)?;
        let fd = self.dir_fd_of(&dir)?;
        if self.find_packed_name(&dir, fd.as_fd(), name).is_some() {
            return Err(Errno::EXIST);
        }
        set_umask(umask)?;
        let _change = self.begin_change(&dir, Some(name));
        make(fd.as_fd())?;
        // A link that a program makes is a link, wherever it leads.
        let seen = ResolvedName::in_place(statx_nofollow(fd.as_fd(), name)?);
        let (entry, node) = self.reference_entry(&dir, name, seen, dir.is_watched());
        self.note_new_directory(&dir, &node);
        Ok(entry)
    }

    /// Gives a file one more name.
    ///
    /// # Errors
    /// EXDEV across file systems, EMLINK, EPERM as link(2) says.
    pub fn link(&self, id: u64, parent: u64, name: &CStr) -> Result<Entry> {
        let node = self.node(id)?;
        if let Some(packed) = node.packed.get() {
            return self.link_packed(&node, packed, parent, name);
        }
        self.cancel_migration(&node);
        let dir = self.node(parent)?;
        let fd = self.dir_fd_of(&dir)?;
        if self.find_packed_name(&dir, fd.as_fd(), name).is_some() {
            return Err(Errno::EXIST);
        }
        let _change = self.begin_change(&dir, Some(name));
        // By its own name where it has one: a link through /proc needs rights of its own.
        let by_name = node.newest_name().and_then(|(up, old)| Some((self.dir_fd(up).ok()?, old)));
        match by_name {
            Some((up, old))
                if statx_nofollow(up.as_fd(), &old).is_ok_and(|stat| {
                    forebay_os::file_identity::FileIdentity::from_statx(&stat) == node.identity()
                }) =>
            {
                if let Some(tiers) = &self.tiers {
                    tiers.sync_before_naming(up.as_fd(), &old)?;
                }
                linkat(up.as_fd(), &old, fd.as_fd(), name, AtFlags::empty())?;
            }
            _ => {
                let held = self.node_descriptor(&node)?;
                linkat(CWD, proc_fd_path(held.as_fd()), &fd, name, AtFlags::SYMLINK_FOLLOW)?;
            }
        }
        let seen = self.resolve_name(fd.as_fd(), name)?;
        Ok(self.reference_entry(&dir, name, seen, dir.is_watched()).0)
    }
}
