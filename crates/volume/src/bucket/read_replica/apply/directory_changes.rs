//! Folders: those that are no more make way, those that have another name go there, new ones are
//! made. Where two want each other's places, or one goes into what was in it, one waits aside.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Mode, mkdirat, renameat, unlinkat};
use rustix::io::Errno;

use super::super::super::scan::open_directory_at;
use super::super::super::tree::ROOT;
use super::super::local_tree::{
    ASIDE, LocalFile, Result, c_name, is_directory_mode, make_owner_writable,
};
use super::{Name, TreeUpdate};
use forebay_os::file_identity::{FileIdentity, statx_nofollow};
use forebay_os::short_name::ShortName;

/// The name of a folder beside the tree.
fn staging_name(ino: u64) -> ShortName {
    ShortName::from_file_name(format!("d{ino:x}").as_bytes()).expect("digits are a name")
}

impl TreeUpdate<'_> {
    /// Folders that are no more go aside, with what is in them.
    pub(super) fn stage_ended_directories(&mut self) -> Result<()> {
        let touched = self.touched;
        for ino in &touched.ended {
            let Some(spot) = self.shown.spots.get(ino).filter(|spot| spot.is_folder) else {
                continue;
            };
            // Its number is another's already.
            if self.tree.file(*ino).is_some() {
                return Err(Errno::STALE);
            }
            if spot.parent != ASIDE {
                self.rename_directory(*ino, (ASIDE, staging_name(*ino)))?;
            }
        }
        Ok(())
    }

    /// All others go where they belong.
    pub(super) fn place_directories(&mut self) -> Result<()> {
        for ino in self.wanted.keys().copied().collect::<Vec<_>>() {
            self.dressing.insert(ino);
            if !self.shown.spots.contains_key(&ino) {
                self.stage_new_directory(ino)?;
            }
        }
        while !self.wanted.is_empty() {
            let mut is_stuck = true;
            for (ino, to) in self.wanted.clone() {
                if self.can_take_name(&to)? {
                    self.rename_directory(ino, to)?;
                    self.wanted.remove(&ino);
                    is_stuck = false;
                }
            }
            if is_stuck {
                let is_here = |ino: &&u64| self.shown.spots[*ino].parent != ASIDE;
                let one = self.wanted.keys().find(is_here).copied().ok_or(Errno::LOOP)?;
                self.rename_directory(one, (ASIDE, staging_name(one)))?;
            }
        }
        Ok(())
    }

    fn stage_new_directory(&mut self, ino: u64) -> Result<()> {
        let name = staging_name(ino);
        let made = c_name(&name)?;
        let _ = unlinkat(&self.shown.aside, &made, AtFlags::REMOVEDIR);
        mkdirat(&self.shown.aside, &made, Mode::RWXU)?;
        let identity = FileIdentity::from_statx(&statx_nofollow(self.shown.aside.as_fd(), &made)?);
        let spot = LocalFile { parent: ASIDE, name, identity, number: 0, is_folder: true };
        self.shown.spots.insert(ino, spot);
        Ok(())
    }

    /// Whether a folder can get a name now: all above it are in their places, and no other folder
    /// has it. A file that has it makes way: if it lives, it has another one beside the tree.
    fn can_take_name(&self, (parent, name): &Name) -> Result<bool> {
        let mut at = *parent;
        while at != ROOT {
            if self.wanted.contains_key(&at) {
                return Ok(false);
            }
            at = self.shown.spots.get(&at).ok_or(Errno::STALE)?.parent;
            if at == ASIDE {
                return Err(Errno::STALE);
            }
        }
        let folder = self.shown.open_directory(*parent)?;
        let name = c_name(name)?;
        match statx_nofollow(folder.fd.as_fd(), &name) {
            Err(Errno::NOENT) => Ok(true),
            Err(error) => Err(error),
            Ok(stat) if is_directory_mode(stat.stx_mode.into()) => Ok(false),
            Ok(_) => {
                make_owner_writable(&folder.fd)?;
                unlinkat(&folder.fd, &name, AtFlags::empty())?;
                Ok(true)
            }
        }
    }

    fn rename_directory(&mut self, ino: u64, to: Name) -> Result<()> {
        let spot = self.shown.spots.get(&ino).ok_or(Errno::STALE)?;
        let (from, at) =
            (self.shown.open_directory(spot.parent)?, self.shown.open_directory(to.0)?);
        let (old, new) = (c_name(&spot.name)?, c_name(&to.1)?);
        // Of a folder that gets another one above it, `..` is written, too.
        let (itself, lent) = open_directory_at(&from.fd, old.as_c_str())?;
        drop(lent);
        for folder in [&from.fd, &at.fd, &itself] {
            make_owner_writable(folder)?;
        }
        renameat(&from.fd, &old, &at.fd, &new)?;
        self.dressing.extend([spot.parent, to.0, ino]);
        if let Some(spot) = self.shown.spots.get_mut(&ino) {
            (spot.parent, spot.name) = to;
        }
        Ok(())
    }
}
