//! Making packed files.

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use forebay_model::{Layout, Placement};
use parking_lot::Mutex;
use rustix::fs::Statx;
use rustix::io::Errno;

use super::open::{keep_set_id, show_rights};
use super::{InUse, Packed, stamp};
use crate::native::create::Created;
use crate::native::folder::Right;
use crate::native::{Native, Node, Permissions, Result, Seen};
use forebay_os::files::{reopen, stat_of};
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
        permissions: Permissions,
    ) -> Result<Option<(Created, Arc<Node>)>> {
        let (Some((pack, key)), Some(tiers)) = (self.pack_of(dir), self.tiers()) else {
            return Ok(None);
        };
        let up = self.dir_fd_of(dir)?;
        self.check(dir, up.as_fd(), Right::Change)?;
        if self.stat_in(dir, up.as_fd(), name).is_ok() {
            // Somebody was faster, from outside.
            return Ok(None);
        }
        let (uid, mut gid) =
            if self.is_shared() { forebay_os::credentials::impersonated_ids() } else { self.me };
        if u32::from(directory.stx_mode) & libc::S_ISGID != 0 {
            gid = directory.stx_gid;
        }
        self.credentials.revert();
        let now = pack.now();
        let mode = permissions.mode & !permissions.umask & 0o7777;
        let attr = Attr { mode, uid, gid, size: 0, atime: now, mtime: now, ctime: now, born: now };
        let made = self.with_room(|| pack.make(key, || self.path_of(dir), name.to_bytes(), attr));
        let (ino, work) = match made {
            Ok(made) => made,
            Err(Errno::EXIST) => return Err(Errno::EXIST),
            Err(error) => {
                return tiers.spill(rule, || format!("the packed files take no more: {error}"));
            }
        };
        let apart = rule.layout == Layout::Apart;
        let begun = match apart {
            true => pack.make_body(ino, &work),
            false => Ok(()),
        };
        let ready = begun
            .and_then(|()| stamp(&work, now, now))
            .and_then(|()| stat_of(work.file.as_fd(), c""))
            .and_then(|stat| {
                let file =
                    self.with_room(|| reopen(work.file.as_fd(), self.backing_flags(flags)))?;
                Ok((stat, file))
            });
        let (mut stat, file) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                pack.leave(key, name.to_bytes());
                pack.forget(ino);
                pack.done(ino, work);
                return Err(error);
            }
        };
        let since = Time::of(&stat.stx_ctime);
        let mut in_use = InUse { work, set_id: 0, begun: true, since };
        if let Err(error) = keep_set_id(&mut in_use, &attr) {
            pack.leave(key, name.to_bytes());
            pack.forget(ino);
            pack.done(ino, in_use.work);
            return Err(error);
        }
        let packed = Packed { in_use: Mutex::new(Some(in_use)), ..Packed::new(ino) };
        packed.body.store(apart, Relaxed);
        let packed = Arc::new(packed);
        self.touch_dir(dir, up.as_fd());
        let seen = Seen {
            stat: self.packed_stat(ino, &attr, 1),
            placed: None,
            packed: Some(packed),
            body: (0, 0),
        };
        let (mut entry, node) = self.entry(dir, name, seen, dir.is_watched());
        show_rights(&mut stat, &attr);
        let opened = self.opened(&node, file, flags, &stat)?;
        entry.attr_trust = self.attr_trust(&node);
        Ok(Some((Created { entry, opened }, node)))
    }
}
