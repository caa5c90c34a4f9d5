//! Replacing links by files: many copies are made safe by one call, then named, then the names are
//! made safe, then the bodies go.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Statx, renameat, syncfs, unlinkat};
use rustix::io::Errno;

use super::find::{Group, parent};
use super::{Work, copy};
use crate::native::{device_of, stat_of};
use crate::tiers::Placed;

/// Files and bytes that are copied before they are made safe together.
const BATCH: (usize, u64) = (512, 256 << 20);

/// A link that is about to be replaced.
pub(super) struct Landing {
    dir: OwnedFd,
    name: CString,
    /// The whole file under another name in the same directory; `None` when the body itself can
    /// be moved.
    fresh: Option<CString>,
    placed: Placed,
    path: PathBuf,
    bytes: u64,
}

impl Work<'_> {
    pub(super) fn bring(&mut self, group: Group, body: &Statx) {
        let single = group.links.len() == 1 && group.paths().count() == 1;
        if !single {
            return self.bring_all(&group, body.stx_size);
        }
        let path = group.first().to_owned();
        let (dir, name) = match parent(&self.root, &path) {
            Ok(found) => found,
            // Files that wait to be named hold a directory each.
            Err(Errno::MFILE) if !self.batch.is_empty() => {
                self.land();
                return self.bring(group, body);
            }
            // It has its own way into closed directories.
            Err(Errno::ACCESS) => return self.bring_all(&group, body.stx_size),
            Err(error) => return self.leave(&group, error),
        };
        self.times.keep(dir.as_fd(), above(&path));
        let here = stat_of(dir.as_fd(), c"").map(|dir| device_of(&dir));
        let fresh = if here == Ok(device_of(body)) {
            None
        } else {
            match self.copy(&path, &group.placed, dir.as_fd()) {
                Ok(fresh) => Some(fresh),
                Err(Errno::MFILE) if !self.batch.is_empty() => {
                    drop(dir);
                    self.land();
                    return self.bring(group, body);
                }
                Err(Errno::ACCESS) => return self.bring_all(&group, body.stx_size),
                Err(error) => return self.leave(&group, error),
            }
        };
        let bytes = body.stx_size;
        self.batch.push(Landing { dir, name, fresh, placed: group.placed, path, bytes });
        self.bytes += bytes;
        if self.batch.len() >= BATCH.0 || self.bytes >= BATCH.1 {
            self.land();
        }
    }

    pub(super) fn copy(
        &mut self,
        path: &Path,
        placed: &Placed,
        dir: BorrowedFd<'_>,
    ) -> Result<CString, Errno> {
        let noted = self.arrivals.note(&self.tiers.path_of(placed), path);
        noted.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let step = |bytes| {
            self.progress.copied(bytes);
            Ok(())
        };
        copy::copy(self.tiers, placed, dir, &step)
    }

    /// Makes the bytes of a batch safe, then the names, then lets the bodies go.
    pub(super) fn land(&mut self) {
        self.bytes = 0;
        self.progress.landing();
        let batch = std::mem::take(&mut self.batch);
        if !batch.is_empty() {
            self.land_batch(&batch);
        }
        self.times.give_back(&self.root);
    }

    fn land_batch(&mut self, batch: &[Landing]) {
        // One call for all: they lie on one file system.
        if let Err(error) = syncfs(&self.root) {
            for one in batch {
                drop_copy(one);
                self.leave_one(&one.path, &one.placed, error);
            }
            return;
        }
        let (mut landed, mut apart) = (Vec::new(), Vec::new());
        for one in batch {
            match self.replace(one) {
                Ok(()) => landed.push(one),
                // Two parts of one file system (subvolumes, bind mounts): a copy after all. And into a
                // closed directory in its own way.
                Err(Errno::XDEV | Errno::ACCESS) if one.fresh.is_none() => apart.push(one),
                Err(error) => {
                    drop_copy(one);
                    self.leave_one(&one.path, &one.placed, error);
                }
            }
        }
        // A name that a power failure could take back would lead to a body that is gone.
        let named = syncfs(&self.root).is_ok();
        for one in landed {
            if one.fresh.is_some() && named {
                self.tiers.remove(&one.placed);
            }
            self.done.brought.0 += 1;
            self.done.brought.1 += one.bytes;
            self.tell();
        }
        for one in apart {
            let names = std::slice::from_ref(&one.path);
            match self.bring_names(names, &one.placed).and_then(|()| syncfs(&self.root)) {
                Ok(()) => self.arrived(&one.placed, one.bytes),
                Err(error) => self.leave_one(&one.path, &one.placed, error),
            }
        }
    }

    /// The new name over the link, if it still is the link: somebody outside may have put another
    /// file in its place.
    fn replace(&self, one: &Landing) -> Result<(), Errno> {
        // A directory that is closed to its owner does not say.
        stat_of(one.dir.as_fd(), &one.name)?;
        let still = self.tiers.recognise(one.dir.as_fd(), &one.name);
        if still.is_none_or(|now| (now.room, &now.key) != (one.placed.room, &one.placed.key)) {
            return Err(Errno::STALE);
        }
        match &one.fresh {
            Some(fresh) => renameat(&one.dir, fresh, &one.dir, &one.name),
            None => {
                let room = self.tiers.room(&one.placed);
                renameat(room.root(), &one.placed.key, &one.dir, &one.name)
            }
        }
    }
}

/// The directory that a path is in.
pub(super) fn above(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

fn drop_copy(one: &Landing) {
    if let Some(fresh) = &one.fresh {
        let _ = unlinkat(&one.dir, fresh, AtFlags::empty());
    }
}
