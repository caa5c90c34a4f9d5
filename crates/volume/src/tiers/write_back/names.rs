//! Files with several names: one copy, then a hard link over each other link.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, linkat, renameat, syncfs, unlinkat};
use rustix::io::Errno;

use super::Work;
use super::find::Group;
use super::land::above;
use crate::tiers::beneath::parent;
use crate::tiers::opened_up::open_way;
use crate::tiers::{TieredFile, copy};

impl Work<'_> {
    /// Brings a file with several names: a copy for each link, hard links for its other names.
    pub(super) fn bring_all(&mut self, group: &Group, bytes: u64) {
        for names in group.links.values() {
            if let Err(error) = self.bring_names(names, &group.placed) {
                return self.leave(group, error);
            }
        }
        match syncfs(&self.root) {
            Ok(()) => self.arrived(&group.placed, bytes),
            Err(error) => self.leave(group, error),
        }
    }

    pub(super) fn arrived(&mut self, placed: &TieredFile, bytes: u64) {
        self.tiers.remove(placed);
        self.done.brought.0 += 1;
        self.done.brought.1 += bytes;
    }

    pub(super) fn bring_names(
        &mut self,
        names: &[PathBuf],
        placed: &TieredFile,
    ) -> Result<(), Errno> {
        match self.try_names(names, placed) {
            Err(Errno::ACCESS) => {
                let _opened: Vec<_> = names.iter().map(|path| open_way(&self.root, path)).collect();
                self.try_names(names, placed)
            }
            done => done,
        }
    }

    fn try_names(&mut self, names: &[PathBuf], placed: &TieredFile) -> Result<(), Errno> {
        let Some((first, others)) = names.split_first() else { return Ok(()) };
        let (dir, name) = parent(&self.root, first)?;
        self.times.keep(dir.as_fd(), above(first));
        self.note_arrival(first, placed)?;
        let step = |bytes| {
            self.progress.copied(bytes);
            Ok(())
        };
        let fresh = copy::copy(self.tiers, placed, dir.as_fd(), &step)?;
        let mut done = syncfs(&self.root);
        for path in others {
            done = done.and_then(|()| self.link_over(&dir, &fresh, path, placed));
        }
        done = done.and_then(|()| renameat(&dir, &fresh, &dir, &name));
        if done.is_err() {
            let _ = unlinkat(&dir, &fresh, AtFlags::empty());
        }
        done
    }

    fn link_over(
        &mut self,
        dir: &OwnedFd,
        fresh: &CStr,
        path: &Path,
        placed: &TieredFile,
    ) -> Result<(), Errno> {
        let (other, name) = parent(&self.root, path)?;
        self.times.keep(other.as_fd(), above(path));
        let mut passing = copy::passing_name(placed).into_bytes();
        passing.push(b'+');
        let passing = CString::new(passing).map_err(|_| Errno::INVAL)?;
        // One that a kill left behind.
        let _ = unlinkat(&other, &passing, AtFlags::empty());
        linkat(dir, fresh, &other, &passing, AtFlags::empty())?;
        let done = renameat(&other, &passing, &other, &name);
        if done.is_err() {
            let _ = unlinkat(&other, &passing, AtFlags::empty());
        }
        done
    }
}
