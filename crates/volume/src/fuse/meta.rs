//! Requests about names and attributes.

use forebay_model::{Fact, Op};
use rustix::io::Errno;
use zerocopy::{FromBytes, IntoBytes};

use super::abi::{self, EntryOut, fattr, op};
use super::reply::{add_dirent, statfs_out};
use super::session::{Request, Session, name};
use crate::native::{Change, DirEntry, Entry, Permissions, Result, When};

impl Session {
    pub(super) fn releasedir(&self, request: &Request<'_>) -> Result<()> {
        let (release, _) = request.parse::<abi::ReleaseIn>()?;
        self.tree.native.releasedir(release.fh);
        request.reply(&[]);
        Ok(())
    }

    pub(super) fn fsyncdir(&self, request: &Request<'_>) -> Result<()> {
        let (sync, _) = request.parse::<abi::FsyncIn>()?;
        let data_only = sync.fsync_flags & abi::FSYNC_DATA_ONLY != 0;
        let done = self.tree.native.fsyncdir(sync.fh, data_only);
        self.count(request, Op::Fsync, self.class_of_id(request.node()), done.is_err());
        request.done(done);
        Ok(())
    }

    pub(super) fn statfs(&self, request: &Request<'_>) -> Result<()> {
        let stat = self.tree.native.statfs(request.node())?;
        self.count(request, Op::Statfs, self.class_of_id(request.node()), false);
        request.reply(&[statfs_out(&stat).as_bytes()]);
        Ok(())
    }

    pub(super) fn access(&self, request: &Request<'_>) -> Result<()> {
        let (access, _) = request.parse::<abi::AccessIn>()?;
        let done = self.tree.native.access(request.node(), access.mask);
        self.count(request, Op::Getattr, self.class_of_id(request.node()), done.is_err());
        request.done(done);
        Ok(())
    }

    pub(super) fn lookup(&self, request: &Request<'_>) -> Result<()> {
        let (name, _) = name(request.body)?;
        match self.tree.native.lookup(request.node(), name) {
            Ok((entry, node)) => {
                request.reply(&[self.entry_out(&entry).as_bytes()]);
                match node {
                    Some(node) => self.count(request, Op::Lookup, self.class_of(&node), false),
                    None => self.count_absent(request, name),
                }
            }
            Err(error) => {
                request.refuse(error);
                self.count_absent(request, name);
            }
        }
        Ok(())
    }

    fn count_absent(&self, request: &Request<'_>, name: &std::ffi::CStr) {
        self.count(request, Op::LookupFailed, self.class_of_name(request.node(), name), false);
    }

    pub(super) fn getattr(&self, request: &Request<'_>) -> Result<()> {
        let (ask, _) = request.parse::<abi::GetattrIn>()?;
        let fh = (ask.flags & abi::GETATTR_FH != 0).then_some(ask.fh);
        let (stat, trust) = self.tree.native.getattr(request.node(), fh)?;
        request.reply(&[self.attr_out(request.node(), &stat, trust).as_bytes()]);
        self.count(request, Op::Getattr, self.class_of_id(request.node()), false);
        Ok(())
    }

    pub(super) fn statx(&self, request: &Request<'_>) -> Result<()> {
        // A client has times of birth with all other attributes, or none; the kernel would ask for them
        // apart.
        if self.tree.native.collects_writes() {
            return Err(Errno::NOSYS);
        }
        let (ask, _) = request.parse::<abi::StatxIn>()?;
        let fh = (ask.getattr_flags & abi::GETATTR_FH != 0).then_some(ask.fh);
        let (stat, trust) = self.tree.native.getattr(request.node(), fh)?;
        let trust = self.attributes_trust(&stat, trust);
        let out = abi::StatxOut {
            attr_valid: trust.as_secs(),
            attr_valid_nsec: trust.subsec_nanos(),
            stat: self.statx_out(request.node(), &stat),
            ..Default::default()
        };
        request.reply(&[out.as_bytes()]);
        self.count(request, Op::Getattr, self.class_of_id(request.node()), false);
        Ok(())
    }

    pub(super) fn setattr(&self, request: &Request<'_>) -> Result<()> {
        let (ask, _) = request.parse::<abi::SetattrIn>()?;
        let native = &self.tree.native;
        let of_collected = abi::is_of_collected(request.header, request.body);
        let has = |bit| ask.valid & bit != 0;
        let when = |set, now, sec: u64, nsec| {
            has(set).then(|| if has(now) { When::Now } else { When::At(sec as i64, nsec) })
        };
        let change = Change {
            mode: has(fattr::MODE).then_some(ask.mode),
            uid: has(fattr::UID).then_some(ask.uid),
            gid: has(fattr::GID).then_some(ask.gid),
            size: has(fattr::SIZE).then_some(ask.size),
            atime: when(fattr::ATIME, fattr::ATIME_NOW, ask.atime, ask.atimensec),
            mtime: when(fattr::MTIME, fattr::MTIME_NOW, ask.mtime, ask.mtimensec),
            handle: has(fattr::FH).then_some(ask.fh),
        };
        let done = native.setattr(request.node(), change);
        if !of_collected {
            let kind = if change.size.is_some() { Op::Truncate } else { Op::Setattr };
            self.count(request, kind, self.class_of_id(request.node()), done.is_err());
        }
        let entry = match done {
            // A daemon without rights need not own it either: the times are then those at which
            // the bytes came.
            Err(Errno::PERM) if of_collected => {
                let (stat, attr_trust) = native.getattr(request.node(), change.handle)?;
                Entry { node: request.node(), stat, name_trust: attr_trust, attr_trust }
            }
            other => other?,
        };
        let out = self.attr_out(request.node(), &entry.stat, entry.attr_trust);
        request.reply(&[out.as_bytes()]);
        Ok(())
    }

    pub(super) fn readlink(&self, request: &Request<'_>) -> Result<()> {
        let target = self.tree.native.readlink(request.node())?;
        request.reply(&[target.to_bytes()]);
        self.count(request, Op::Readlink, self.class_of_id(request.node()), false);
        Ok(())
    }

    pub(super) fn make(&self, request: &Request<'_>) -> Result<()> {
        let native = &self.tree.native;
        let (kind, new, made) = match request.header.opcode {
            op::MKNOD => {
                let (ask, rest) = request.parse::<abi::MknodIn>()?;
                let (new, _) = name(rest)?;
                let permissions = Permissions { mode: ask.mode, umask: ask.umask };
                (Op::Mknod, new, native.mknod(request.node(), new, permissions, ask.rdev))
            }
            op::MKDIR => {
                let (ask, rest) = request.parse::<abi::MkdirIn>()?;
                let (new, _) = name(rest)?;
                let permissions = Permissions { mode: ask.mode, umask: ask.umask };
                (Op::Mkdir, new, native.mkdir(request.node(), new, permissions))
            }
            op::SYMLINK => {
                let (new, rest) = name(request.body)?;
                let (target, _) = name(rest)?;
                (Op::Symlink, new, native.symlink(request.node(), new, target))
            }
            _ => {
                let (ask, rest) = request.parse::<abi::LinkIn>()?;
                let (new, _) = name(rest)?;
                (Op::Link, new, native.link(ask.oldnodeid, request.node(), new))
            }
        };
        self.count(request, kind, self.class_of_name(request.node(), new), made.is_err());
        request.reply(&[self.entry_out(&made?).as_bytes()]);
        Ok(())
    }

    pub(super) fn remove(&self, request: &Request<'_>) -> Result<()> {
        let (old, _) = name(request.body)?;
        let (kind, done) = match request.header.opcode {
            op::UNLINK => (Op::Unlink, self.tree.native.unlink(request.node(), old)),
            _ => (Op::Rmdir, self.tree.native.rmdir(request.node(), old).map(|()| None)),
        };
        self.count(request, kind, self.class_of_name(request.node(), old), done.is_err());
        if let Ok(Some(id)) = done {
            self.recorder.tell(Fact::Gone { id, at: self.recorder.clock().now() });
        }
        request.done(done.map(drop));
        Ok(())
    }

    pub(super) fn rename(&self, request: &Request<'_>) -> Result<()> {
        let (new_parent, flags, rest) = if request.header.opcode == op::RENAME2 {
            let (ask, rest) = request.parse::<abi::Rename2In>()?;
            (ask.newdir, ask.flags, rest)
        } else {
            let (ask, rest) = request.parse::<abi::RenameIn>()?;
            (ask.newdir, 0, rest)
        };
        let (old, rest) = name(rest)?;
        let (new, _) = name(rest)?;
        let done = self.tree.native.rename(request.node(), old, new_parent, new, flags);
        self.count(request, Op::Rename, self.class_of_name(new_parent, new), done.is_err());
        if let Ok(Some(moved)) = &done {
            // The record follows files to their last name.
            self.known(moved);
        }
        request.done(done.map(drop));
        Ok(())
    }

    pub(super) fn opendir(&self, request: &Request<'_>) -> Result<()> {
        let opened = self.tree.native.opendir(request.node());
        self.count(request, Op::Opendir, self.class_of_id(request.node()), opened.is_err());
        let out = abi::OpenOut { fh: opened?, open_flags: 0, backing_id: 0 };
        request.reply(&[out.as_bytes()]);
        Ok(())
    }

    pub(super) fn readdir(
        &self,
        request: &Request<'_>,
        out: &mut Vec<u8>,
        plus: bool,
    ) -> Result<()> {
        let (ask, _) = request.parse::<abi::ReadIn>()?;
        let native = &self.tree.native;
        let handle = native.dir_handle(ask.fh)?;
        let room = ask.size as usize;
        out.clear();
        let fd = native.dir_fd_of(&handle.node)?;
        let watched = native.arm(&handle.node);
        let device = handle.node.identity().device;
        // By which programs know a file that has moved.
        let number = |found: &DirEntry| native.table.shown_number(device, found.inode);
        native.list(&handle, ask.offset, |found| {
            let dir = std::os::fd::AsFd::as_fd(&*fd);
            let kind = native.kind_of(dir, &found.name, found.kind);
            if !plus {
                return add_dirent(out, room, found, number(found), (kind, None));
            }
            let dots = matches!(found.name.to_bytes(), b"." | b"..");
            // Room first: an entry that is sent counts as looked up, one that is not must not.
            let size =
                size_of::<EntryOut>() + size_of::<abi::Dirent>() + found.name.count_bytes() + 8;
            if out.len() + size > room {
                return false;
            }
            let entry = match (dots, native.look_in(&handle.node, dir, &found.name)) {
                (false, Ok(seen)) => {
                    let (entry, _) = native.entry(&handle.node, &found.name, seen, watched);
                    self.entry_out(&entry)
                }
                // A number of 0 tells the kernel to look it up when it needs to.
                _ => EntryOut::default(),
            };
            add_dirent(out, room, found, number(found), (kind, Some(&entry)))
        })?;
        request.reply(&[out]);
        self.count(request, Op::Readdir, self.class_of(&handle.node), false);
        Ok(())
    }

    pub(super) fn xattr(&self, request: &Request<'_>, out: &mut Vec<u8>) -> Result<()> {
        let native = &self.tree.native;
        let id = request.node();
        let answer = match request.header.opcode {
            op::SETXATTR => {
                let (ask, rest) = request.parse::<abi::SetxattrIn>()?;
                let (key, value) = name(rest)?;
                let value = value.get(..ask.size as usize).ok_or(Errno::INVAL)?;
                native.setxattr(id, key, value, ask.flags).map(|()| None)
            }
            op::REMOVEXATTR => native.removexattr(id, name(request.body)?.0).map(|()| None),
            kind => {
                let (ask, rest) =
                    abi::GetxattrIn::ref_from_prefix(request.body).map_err(|_| Errno::INVAL)?;
                let size = ask.size as usize;
                let length = match kind {
                    op::GETXATTR => native.getxattr(id, name(rest)?.0, out, size),
                    _ => native.listxattr(id, out, size),
                };
                length.map(|length| Some((size, length)))
            }
        };
        let failed = answer.as_ref().is_err_and(|error| *error != Errno::NODATA);
        if !abi::is_unasked(request.header, request.body) {
            self.count(request, Op::Xattr, self.class_of_id(id), failed);
        }
        match answer? {
            None => request.reply(&[]),
            Some((0, length)) => {
                let out = abi::GetxattrOut { size: length as u32, padding: 0 };
                request.reply(&[out.as_bytes()]);
            }
            Some((_, length)) => request.reply(&[&out[..length]]),
        }
        Ok(())
    }
}
