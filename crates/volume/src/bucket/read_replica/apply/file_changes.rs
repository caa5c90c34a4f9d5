//! Files that are no folders: made or linked beside the tree, and put in their places.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, linkat, renameat, unlinkat};
use rustix::io::Errno;

use super::super::super::evicted_files::EvictedFile;
use super::super::super::placeholder_tree;
use super::super::super::tree_record::Kind;
use super::super::local_tree::{
    ASIDE, EnteredFolder, LocalFile, Result, c_name, make_owner_writable,
};
use super::TreeUpdate;
use forebay_os::file_identity::{FileIdentity, statx_nofollow};
use forebay_os::short_name::ShortName;

/// The name of a file beside the tree; with one more where it gets several.
fn staging_name(ino: u64, more: bool) -> ShortName {
    let name = format!("{ino:x}{}", if more { "+" } else { "" });
    ShortName::from_file_name(name.as_bytes()).expect("digits are a name")
}

impl TreeUpdate<'_> {
    /// Each file that gets a name lies beside the tree, too: wherever its folder goes, it is there.
    pub(super) fn stage_files(&mut self) -> Result<()> {
        let mut inos: Vec<u64> = self.placing.values().copied().collect();
        inos.sort_unstable();
        inos.dedup();
        for ino in inos {
            let name = c_name(&staging_name(ino, false))?;
            match unlinkat(&self.shown.aside, &name, AtFlags::empty()) {
                Err(error) if error != Errno::NOENT => return Err(error),
                _ => {}
            }
            if self.renewed.contains(&ino) || self.stage_by_link(ino).is_err() {
                self.stage_placeholder(ino)?;
            }
        }
        Ok(())
    }

    /// The file that is here gets a name beside the tree.
    fn stage_by_link(&self, ino: u64) -> Result<()> {
        let spot = self.shown.spots.get(&ino).ok_or(Errno::NOENT)?;
        let folder = self.shown.open_directory(spot.parent)?;
        if self.shown.lookup_identity(&folder, &spot.name)? != Some(spot.identity) {
            return Err(Errno::STALE);
        }
        let (from, to) = (c_name(&spot.name)?, c_name(&staging_name(ino, false))?);
        linkat(&folder.fd, from, &self.shown.aside, to, AtFlags::empty())
    }

    fn stage_placeholder(&mut self, ino: u64) -> Result<()> {
        let Some(file) = self.tree.file(ino) else { return Ok(()) };
        let name = staging_name(ino, false);
        let made = c_name(&name)?;
        placeholder_tree::make_placeholder(&self.shown.aside, &made, file)?;
        let identity = FileIdentity::from_statx(&statx_nofollow(self.shown.aside.as_fd(), &made)?);
        self.shown.made += 1;
        let number = self.shown.made;
        if file.kind == Kind::Plain && file.place.size() > 0 {
            (self.learn)((identity, number, EvictedFile::from_file(file)));
        }
        self.retire_file(ino);
        let spot = LocalFile { parent: ASIDE, name, identity, number, is_folder: false };
        self.shown.spots.insert(ino, spot);
        Ok(())
    }

    /// They take their names.
    pub(super) fn place_files(&mut self) -> Result<()> {
        let mut left = BTreeMap::<u64, u32>::new();
        for ino in self.placing.values() {
            *left.entry(*ino).or_default() += 1;
        }
        let mut entered: Option<(u64, EnteredFolder)> = None;
        for ((parent, name), ino) in self.placing.clone() {
            let folder = match entered {
                Some((at, folder)) if at == parent => folder,
                _ => {
                    let folder = self.shown.open_directory(parent)?;
                    make_owner_writable(&folder.fd)?;
                    self.dressing.insert(parent);
                    folder
                }
            };
            let more = left.get_mut(&ino).is_some_and(|left| {
                *left -= 1;
                *left > 0
            });
            self.place_at_name(ino, more, (&folder, &name))?;
            if let Some(spot) = self.shown.spots.get_mut(&ino) {
                (spot.parent, spot.name) = (parent, name);
            }
            entered = Some((parent, folder));
        }
        Ok(())
    }

    fn place_at_name(&self, ino: u64, more: bool, to: (&EnteredFolder, &ShortName)) -> Result<()> {
        let beside = &self.shown.aside;
        let (first, from) = (c_name(&staging_name(ino, false))?, c_name(&staging_name(ino, more))?);
        if more {
            linkat(beside, &first, beside, &from, AtFlags::empty())?;
        }
        renameat(beside, &from, &to.0.fd, c_name(to.1)?)?;
        // Of two names of one file rename(2) leaves both.
        match unlinkat(beside, &from, AtFlags::empty()) {
            Err(error) if error != Errno::NOENT => Err(error),
            _ => Ok(()),
        }
    }

    /// Names that lead nowhere go.
    pub(super) fn unlink_removed_names(&mut self) -> Result<()> {
        let touched = self.touched;
        for (parent, name) in &touched.names {
            let is_gone = self.tree.lookup_name(*parent, name).is_none();
            if !is_gone || self.tree.file(*parent).is_none() {
                continue;
            }
            let folder = self.shown.open_directory(*parent)?;
            make_owner_writable(&folder.fd)?;
            self.dressing.insert(*parent);
            match unlinkat(&folder.fd, c_name(name)?, AtFlags::empty()) {
                // It never came here.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
