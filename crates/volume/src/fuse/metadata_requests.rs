//! Requests about names and attributes.

use forebay_model::{Fact, Op};
use rustix::io::Errno;
use zerocopy::{FromBytes, IntoBytes};

use super::abi::{self, EntryOut, fattr, op};
use super::reply::{add_dirent, statfs_out};
use super::session::{Request, Session, parse_name};
use crate::native::{AttributeChange, CreateMode, DirEntry, Entry, Result, TimeOrNow};

impl Session {
    pub(super) fn releasedir(&self, request: &Request<'_>) -> Result<()> {
        let (release, _) = request.parse_body::<abi::ReleaseIn>()?;
        self.tree.native.releasedir(release.fh);
        request.send_reply(&[]);
        Ok(())
    }

    pub(super) fn fsyncdir(&self, request: &Request<'_>) -> Result<()> {
        let (sync, _) = request.parse_body::<abi::FsyncIn>()?;
        let data_only = sync.fsync_flags & abi::FSYNC_DATA_ONLY != 0;
        let done = self.tree.native.fsyncdir(sync.fh, data_only);
        self.count_request(request, Op::Fsync, self.class_of_id(request.node_id()), done.is_err());
        request.reply_result(done);
        Ok(())
    }

    pub(super) fn statfs(&self, request: &Request<'_>) -> Result<()> {
        let stat = self.tree.native.statfs(request.node_id())?;
        self.count_request(request, Op::Statfs, self.class_of_id(request.node_id()), false);
        request.send_reply(&[statfs_out(&stat).as_bytes()]);
        Ok(())
    }

    pub(super) fn access(&self, request: &Request<'_>) -> Result<()> {
        let (access, _) = request.parse_body::<abi::AccessIn>()?;
        let done = self.tree.native.access(request.node_id(), access.mask);
        self.count_request(
            request,
            Op::Getattr,
            self.class_of_id(request.node_id()),
            done.is_err(),
        );
        request.reply_result(done);
        Ok(())
    }

    pub(super) fn lookup(&self, request: &Request<'_>) -> Result<()> {
        let (name, _) = parse_name(request.body)?;
        match self.tree.native.lookup(request.node_id(), name) {
            Ok((entry, node)) => {
                request.send_reply(&[self.entry_out(&entry).as_bytes()]);
                match node {
                    Some(node) => {
                        self.count_request(request, Op::Lookup, self.class_of_node(&node), false)
                    }
                    None => self.count_failed_lookup(request, name),
                }
            }
            Err(error) => {
                request.send_error(error);
                self.count_failed_lookup(request, name);
            }
        }
        Ok(())
    }

    fn count_failed_lookup(&self, request: &Request<'_>, name: &std::ffi::CStr) {
        self.count_request(
            request,
            Op::LookupFailed,
            self.class_of_name(request.node_id(), name),
            false,
        );
    }

    pub(super) fn getattr(&self, request: &Request<'_>) -> Result<()> {
        let (ask, _) = request.parse_body::<abi::GetattrIn>()?;
        let fh = (ask.flags & abi::GETATTR_FH != 0).then_some(ask.fh);
        let (stat, trust) = self.tree.native.getattr(request.node_id(), fh)?;
        request.send_reply(&[self.attr_out(request.node_id(), &stat, trust).as_bytes()]);
        self.count_request(request, Op::Getattr, self.class_of_id(request.node_id()), false);
        Ok(())
    }

    pub(super) fn statx(&self, request: &Request<'_>) -> Result<()> {
        // A client has times of birth with all other attributes, or none; the kernel would ask for them
        // apart.
        if self.tree.native.collects_writes() {
            return Err(Errno::NOSYS);
        }
        let (ask, _) = request.parse_body::<abi::StatxIn>()?;
        let fh = (ask.getattr_flags & abi::GETATTR_FH != 0).then_some(ask.fh);
        let (stat, trust) = self.tree.native.getattr(request.node_id(), fh)?;
        let trust = self.exposed_attr_timeout(&stat, trust);
        let out = abi::StatxOut {
            attr_valid: trust.as_secs(),
            attr_valid_nsec: trust.subsec_nanos(),
            stat: self.statx_out(request.node_id(), &stat),
            ..Default::default()
        };
        request.send_reply(&[out.as_bytes()]);
        self.count_request(request, Op::Getattr, self.class_of_id(request.node_id()), false);
        Ok(())
    }

    pub(super) fn setattr(&self, request: &Request<'_>) -> Result<()> {
        let (ask, _) = request.parse_body::<abi::SetattrIn>()?;
        let native = &self.tree.native;
        let of_collected = abi::tells_collected_times(request.header, request.body);
        let has = |bit| ask.valid & bit != 0;
        let when = |set, now, sec: u64, nsec| {
            has(set)
                .then(|| if has(now) { TimeOrNow::Now } else { TimeOrNow::At(sec as i64, nsec) })
        };
        let change = AttributeChange {
            mode: has(fattr::MODE).then_some(ask.mode),
            uid: has(fattr::UID).then_some(ask.uid),
            gid: has(fattr::GID).then_some(ask.gid),
            size: has(fattr::SIZE).then_some(ask.size),
            atime: when(fattr::ATIME, fattr::ATIME_NOW, ask.atime, ask.atimensec),
            mtime: when(fattr::MTIME, fattr::MTIME_NOW, ask.mtime, ask.mtimensec),
            handle: has(fattr::FH).then_some(ask.fh),
        };
        let done = native.setattr(request.node_id(), change);
        if !of_collected {
            let kind = if change.size.is_some() { Op::Truncate } else { Op::Setattr };
            self.count_request(request, kind, self.class_of_id(request.node_id()), done.is_err());
        }
        let entry = match done {
            // A daemon without rights need not own it either: the times are then those at which
            // the bytes came.
            Err(Errno::PERM) if of_collected => {
                let (stat, attr_trust) = native.getattr(request.node_id(), change.handle)?;
                Entry { node: request.node_id(), stat, name_trust: attr_trust, attr_trust }
            }
            other => other?,
        };
        let out = self.attr_out(request.node_id(), &entry.stat, entry.attr_trust);
        request.send_reply(&[out.as_bytes()]);
        Ok(())
    }

    pub(super) fn readlink(&self, request: &Request<'_>) -> Result<()> {
        let target = self.tree.native.readlink(request.node_id())?;
        request.send_reply(&[target.to_bytes()]);
        self.count_request(request, Op::Readlink, self.class_of_id(request.node_id()), false);
        Ok(())
    }

    pub(super) fn create_entry(&self, request: &Request<'_>) -> Result<()> {
        let native = &self.tree.native;
        let (kind, new, made) = match request.header.opcode {
            op::MKNOD => {
                let (ask, rest) = request.parse_body::<abi::MknodIn>()?;
                let (new, _) = parse_name(rest)?;
                let permissions = CreateMode { mode: ask.mode, umask: ask.umask };
                (Op::Mknod, new, native.mknod(request.node_id(), new, permissions, ask.rdev))
            }
            op::MKDIR => {
                let (ask, rest) = request.parse_body::<abi::MkdirIn>()?;
                let (new, _) = parse_name(rest)?;
                let permissions = CreateMode { mode: ask.mode, umask: ask.umask };
                (Op::Mkdir, new, native.mkdir(request.node_id(), new, permissions))
            }
            op::SYMLINK => {
                let (new, rest) = parse_name(request.body)?;
                let (target, _) = parse_name(rest)?;
                (Op::Symlink, new, native.symlink(request.node_id(), new, target))
            }
            _ => {
                let (ask, rest) = request.parse_body::<abi::LinkIn>()?;
                let (new, _) = parse_name(rest)?;
                (Op::Link, new, native.link(ask.oldnodeid, request.node_id(), new))
            }
        };
        self.count_request(
            request,
            kind,
            self.class_of_name(request.node_id(), new),
            made.is_err(),
        );
        request.send_reply(&[self.entry_out(&made?).as_bytes()]);
        Ok(())
    }

    pub(super) fn remove_entry(&self, request: &Request<'_>) -> Result<()> {
        let (old, _) = parse_name(request.body)?;
        let (kind, done) = match request.header.opcode {
            op::UNLINK => (Op::Unlink, self.tree.native.unlink(request.node_id(), old)),
            _ => (Op::Rmdir, self.tree.native.rmdir(request.node_id(), old).map(|()| None)),
        };
        self.count_request(
            request,
            kind,
            self.class_of_name(request.node_id(), old),
            done.is_err(),
        );
        if let Ok(Some(id)) = done {
            self.recorder.record_fact(Fact::Gone { id, at: self.recorder.clock().now() });
        }
        request.reply_result(done.map(drop));
        Ok(())
    }

    pub(super) fn rename(&self, request: &Request<'_>) -> Result<()> {
        let (new_parent, flags, rest) = if request.header.opcode == op::RENAME2 {
            let (ask, rest) = request.parse_body::<abi::Rename2In>()?;
            (ask.newdir, ask.flags, rest)
        } else {
            let (ask, rest) = request.parse_body::<abi::RenameIn>()?;
            (ask.newdir, 0, rest)
        };
        let (old, rest) = parse_name(rest)?;
        let (new, _) = parse_name(rest)?;
        let done = self.tree.native.rename(request.node_id(), old, new_parent, new, flags);
        self.count_request(request, Op::Rename, self.class_of_name(new_parent, new), done.is_err());
        if let Ok(Some(moved)) = &done {
            // The record follows files to their last name.
            self.known_to_recorder(moved);
        }
        request.reply_result(done.map(drop));
        Ok(())
    }

    pub(super) fn opendir(&self, request: &Request<'_>) -> Result<()> {
        let opened = self.tree.native.opendir(request.node_id());
        self.count_request(
            request,
            Op::Opendir,
            self.class_of_id(request.node_id()),
            opened.is_err(),
        );
        let out = abi::OpenOut { fh: opened?, open_flags: 0, backing_id: 0 };
        request.send_reply(&[out.as_bytes()]);
        Ok(())
    }

    pub(super) fn readdir(
        &self,
        request: &Request<'_>,
        out: &mut Vec<u8>,
        plus: bool,
    ) -> Result<()> {
        let (ask, _) = request.parse_body::<abi::ReadIn>()?;
        let native = &self.tree.native;
        let handle = native.dir_handle(ask.fh)?;
        let room = ask.size as usize;
        out.clear();
        let fd = native.dir_fd_of(&handle.node)?;
        let watched = native.ensure_watched(&handle.node);
        let device = handle.node.identity().device;
        // By which programs know a file that has moved.
        let number = |found: &DirEntry| native.table.exposed_inode(device, found.inode);
        native.list_directory(&handle, ask.offset, |found| {
            let dir = std::os::fd::AsFd::as_fd(&*fd);
            let kind = native.exposed_dirent_type(dir, &found.name, found.kind);
            if !plus {
                return add_dirent(out, room, found, number(found), (kind, None));
            }
            // Room first: an entry that is sent counts as looked up, one that is not must not.
            let size =
                size_of::<EntryOut>() + size_of::<abi::Dirent>() + found.name.count_bytes() + 8;
            if out.len() + size > room {
                return false;
            }
            // Slow storage takes a round trip to say what the directory itself is, which nobody asks.
            let dots = matches!(found.name.to_bytes(), b"." | b"..");
            let seen = (!dots)
                .then(|| native.resolve_listed_entry(&handle.node, dir, &found.name).ok())
                .flatten();
            // A number of 0 tells the kernel to look it up when it needs to.
            let entry = seen.map_or_else(EntryOut::default, |seen| {
                let (entry, _) = native.reference_entry(&handle.node, &found.name, seen, watched);
                self.entry_out(&entry)
            });
            add_dirent(out, room, found, number(found), (kind, Some(&entry)))
        })?;
        request.send_reply(&[out]);
        self.count_request(request, Op::Readdir, self.class_of_node(&handle.node), false);
        Ok(())
    }

    pub(super) fn serve_xattr(&self, request: &Request<'_>, out: &mut Vec<u8>) -> Result<()> {
        let native = &self.tree.native;
        let id = request.node_id();
        let answer = match request.header.opcode {
            op::SETXATTR => {
                let (ask, rest) = request.parse_body::<abi::SetxattrIn>()?;
                let (key, value) = parse_name(rest)?;
                let value = value.get(..ask.size as usize).ok_or(Errno::INVAL)?;
                native.setxattr(id, key, value, ask.flags).map(|()| None)
            }
            op::REMOVEXATTR => native.removexattr(id, parse_name(request.body)?.0).map(|()| None),
            kind => {
                let (ask, rest) =
                    abi::GetxattrIn::ref_from_prefix(request.body).map_err(|_| Errno::INVAL)?;
                let size = ask.size as usize;
                let length = match kind {
                    op::GETXATTR => native.getxattr(id, parse_name(rest)?.0, out, size),
                    _ => native.listxattr(id, out, size),
                };
                length.map(|length| Some((size, length)))
            }
        };
        let failed = answer.as_ref().is_err_and(|error| *error != Errno::NODATA);
        if !abi::is_kernel_initiated(request.header, request.body) {
            self.count_request(request, Op::Xattr, self.class_of_id(id), failed);
        }
        match answer? {
            None => request.send_reply(&[]),
            Some((0, length)) => {
                let out = abi::GetxattrOut { size: length as u32, padding: 0 };
                request.send_reply(&[out.as_bytes()]);
            }
            Some((_, length)) => request.send_reply(&[&out[..length]]),
        }
        Ok(())
    }
}
