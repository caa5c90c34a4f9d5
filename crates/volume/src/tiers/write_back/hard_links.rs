//! Files with several names: one copy, then a hard link over each other link.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, linkat, renameat, syncfs, unlinkat};
use rustix::io::Errno;

use super::WriteBackJob;
use super::link_replacement::parent_path;
use super::tiered_links::LinkGroup;
use crate::tiers::beneath::open_parent;
use crate::tiers::lent_permissions::lend_permissions_on_path;
use crate::tiers::{TieredFile, copy};

impl WriteBackJob<'_> {
    /// Brings a file with several names: a copy for each link, hard links for its other names.
    pub(super) fn write_back_all_names(&mut self, group: &LinkGroup, bytes: u64) {
        for names in group.links.values() {
            if let Err(error) = self.write_back_names(names, &group.placed) {
                return self.leave_group(group, error);
            }
        }
        match syncfs(&self.root) {
            Ok(()) => self.finish_write_back(&group.placed, bytes),
            Err(error) => self.leave_group(group, error),
        }
    }

    pub(super) fn finish_write_back(&mut self, placed: &TieredFile, bytes: u64) {
        self.tiers.remove_data_file(placed);
        self.done.brought.0 += 1;
        self.done.brought.1 += bytes;
    }

    pub(super) fn write_back_names(
        &mut self,
        names: &[PathBuf],
        placed: &TieredFile,
    ) -> Result<(), Errno> {
        match self.try_write_back_names(names, placed) {
            Err(Errno::ACCESS) => {
                let _opened: Vec<_> =
                    names.iter().map(|path| lend_permissions_on_path(&self.root, path)).collect();
                self.try_write_back_names(names, placed)
            }
            done => done,
        }
    }

    fn try_write_back_names(
        &mut self,
        names: &[PathBuf],
        placed: &TieredFile,
    ) -> Result<(), Errno> {
        let Some((first, others)) = names.split_first() else { return Ok(()) };
        let (dir, name) = open_parent(&self.root, first)?;
        self.times.remember_times(dir.as_fd(), parent_path(first));
        self.note_arrival(first, placed)?;
        let step = |bytes| {
            self.progress.add_copied_bytes(bytes);
            Ok(())
        };
        let fresh = copy::copy_data_file(self.tiers, placed, dir.as_fd(), &step)?;
        let mut done = syncfs(&self.root);
        for path in others {
            done = done.and_then(|()| self.replace_by_hard_link(&dir, &fresh, path, placed));
        }
        done = done.and_then(|()| renameat(&dir, &fresh, &dir, &name));
        if done.is_err() {
            let _ = unlinkat(&dir, &fresh, AtFlags::empty());
        }
        done
    }

    fn replace_by_hard_link(
        &mut self,
        dir: &OwnedFd,
        fresh: &CStr,
        path: &Path,
        placed: &TieredFile,
    ) -> Result<(), Errno> {
        let (other, name) = open_parent(&self.root, path)?;
        self.times.remember_times(other.as_fd(), parent_path(path));
        let mut passing = copy::staging_name(placed).into_bytes();
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
