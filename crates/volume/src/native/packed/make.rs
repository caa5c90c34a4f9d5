//! Making packed files.

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use forebay_model::{FileLayout, Placement};
use parking_lot::Mutex;
use rustix::fs::Statx;
use rustix::io::Errno;

use super::open::{copy_set_id_bits, override_rights};
use super::{OpenWorkingFile, PackedFile, set_working_times};
use crate::native::create::CreateReply;
use crate::native::directory_cache::DirectoryRight;
use crate::native::{CreateMode, Native, Node, ResolvedName, Result};
use forebay_os::file_identity::statx_nofollow;
use forebay_packlog::{Attr, Time};

impl Native {
    /// Makes a packed file; `None` when it has to be in place.
    pub(in crate::native) fn create_packed(
        &self,
        dir: &Arc<Node>,
        directory: &Statx,
        name: &CStr,
        rule: &Placement,
        flags: u32,
        permissions: CreateMode,
    ) -> Result<Option<(CreateReply, Arc<Node>)>> {
        let (Some((pack, key)), Some(tiers)) = (self.pack_and_key(dir), self.tiers()) else {
            return Ok(None);
        };
        let up = self.dir_fd_of(dir)?;
        self.check_directory_right(dir, up.as_fd(), DirectoryRight::Change)?;
        if self.stat_unless_absent(dir, up.as_fd(), name).is_ok() {
            // Somebody was faster, from outside.
            return Ok(None);
        }
        let (uid, mut gid) =
            if self.is_shared() { forebay_os::credentials::impersonated_ids() } else { self.me };
        if u32::from(directory.stx_mode) & libc::S_ISGID != 0 {
            gid = directory.stx_gid;
        }
        self.credentials.revert();
        let now = pack.timestamp_now();
        let mode = permissions.mode & !permissions.umask & 0o7777;
        let attr = Attr { mode, uid, gid, size: 0, atime: now, mtime: now, ctime: now, born: now };
        let made = self.with_free_descriptors(|| {
            pack.create_file(key, || self.path_of(dir), name.to_bytes(), attr)
        });
        let (ino, work) = match made {
            Ok(made) => made,
            Err(Errno::EXIST) => return Err(Errno::EXIST),
            Err(error) => {
                return tiers
                    .spill_or_fail(rule, || format!("the packed files take no more: {error}"));
            }
        };
        let apart = rule.layout == FileLayout::Apart;
        let begun = match apart {
            true => pack.make_data_file(ino, &work),
            false => Ok(()),
        };
        let stat_of_body = || {
            set_working_times(&work, now, now)?;
            statx_nofollow(work.file.as_fd(), c"")
        };
        let ready = begun
            .and_then(|()| match apart {
                true => stat_of_body(),
                // Nobody asks for its times before it is written.
                false => Ok(self.statx_from_attr(ino, &attr, 1)),
            })
            .and_then(|stat| {
                let how = self.backing_open_flags(flags);
                let file = self.with_free_descriptors(|| pack.reopen_working_file(&work, how))?;
                Ok((stat, file))
            });
        let (mut stat, file) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                pack.remove_written_back_name(key, name.to_bytes());
                pack.forget_inode(ino);
                pack.release_working_file(ino, work);
                return Err(error);
            }
        };
        let since = Time::from_timestamp(&stat.stx_ctime);
        let mut in_use = OpenWorkingFile { work, set_id: 0, begun: true, since };
        if let Err(error) = copy_set_id_bits(&mut in_use, &attr) {
            pack.remove_written_back_name(key, name.to_bytes());
            pack.forget_inode(ino);
            pack.release_working_file(ino, in_use.work);
            return Err(error);
        }
        let packed = PackedFile { in_use: Mutex::new(Some(in_use)), ..PackedFile::new(ino) };
        packed.body.store(apart, Relaxed);
        let packed = Arc::new(packed);
        self.touch_dir(dir, up.as_fd());
        let seen = ResolvedName {
            stat: self.statx_from_attr(ino, &attr, 1),
            placed: None,
            packed: Some(packed),
            body: (0, 0),
        };
        let (mut entry, node) = self.reference_entry(dir, name, seen, dir.is_watched());
        override_rights(&mut stat, &attr);
        let opened = self.register_open(&node, file, flags, &stat)?;
        entry.attr_trust = self.attr_timeout(&node);
        Ok(Some((CreateReply { entry, opened }, node)))
    }
}
