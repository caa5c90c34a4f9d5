//! What an earlier, killed, homecoming or somebody outside has left: copies beside links, bodies
//! whose links were replaced already, bodies without a link.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Statx, syncfs, unlinkat};

use super::WriteBackJob;
use crate::tiers::arrivals::{FAILED, LANDS, PendingWriteBack};
use crate::tiers::beneath::open_parent;
use crate::tiers::tier_directory::is_copy;
use crate::tiers::{TieredFile, copy};
use forebay_os::file_identity::statx_nofollow;

impl WriteBackJob<'_> {
    /// Takes away what an earlier, killed, homecoming left: copies beside links, and bodies whose
    /// links it had replaced already. `complete`: there is no link that was not seen.
    pub(super) fn remove_leftovers(&mut self, complete: bool) {
        let old = std::mem::take(&mut self.arrivals.old);
        let failed: BTreeSet<_> = old.iter().filter_map(|one| FAILED.marked_file(one)).collect();
        let complete = complete && self.done.left.is_empty();
        for arrival in &old {
            let PendingWriteBack { body, link } = arrival;
            let key = body.file_name().and_then(|name| CString::new(name.as_bytes()).ok());
            let rooms = &self.tiers.rooms;
            let room = rooms.iter().position(|room| body.parent() == Some(room.path.as_path()));
            let (Some(key), Some(number)) = (key, room) else { continue };
            let placed = TieredFile::new(number, key);
            let linked = self.linked.contains(&(number, placed.key.clone()));
            // Where it went it may have got another name since, or have been removed.
            let left_behind = match LANDS.marked_file(arrival) {
                Some(file) => complete && !failed.contains(file),
                None if FAILED.marked_file(arrival).is_some() => complete,
                None => self.is_written_back(link, &placed),
            };
            if !linked && left_behind && syncfs(&self.root).is_ok() {
                let _ = rooms[number].remove_data_file(&placed.key);
            }
        }
    }

    /// Whether what a link led to is there as a file. Takes away a copy beside it.
    fn is_written_back(&self, link: &Path, placed: &TieredFile) -> bool {
        let Ok((dir, name)) = open_parent(&self.root, link) else { return false };
        let _ = unlinkat(&dir, copy::staging_name(placed), AtFlags::empty());
        self.has_arrived(dir.as_fd(), &name, placed)
    }

    /// Whether the file at a name, in place or on another tier, is a copy of a body.
    fn has_arrived(&self, dir: BorrowedFd<'_>, name: &CStr, placed: &TieredFile) -> bool {
        let time = |stat: &Statx| (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec);
        let there = match self.tiers.recognise_link(dir, name) {
            Some(other) => self.tiers.stat_data_file(&other),
            None => statx_nofollow(dir, name),
        };
        match (there, self.tiers.stat_data_file(placed)) {
            (Ok(file), Ok(body)) => {
                file.stx_mode == body.stx_mode
                    && (file.stx_uid, file.stx_size) == (body.stx_uid, body.stx_size)
                    && time(&file) == time(&body)
            }
            _ => false,
        }
    }

    /// Finds bodies that no link leads to: their links were moved or removed from outside, or a
    /// daemon was killed between the two steps of making or removing a file. Those of the second
    /// kind go. `complete`: there is no link that was not seen.
    pub(super) fn find_unlinked_data_files(&mut self, complete: bool) {
        let complete = complete && self.done.left.is_empty();
        for (number, room) in self.tiers.rooms.iter().enumerate() {
            let is_orphan = room.orphan_matcher();
            for body in std::fs::read_dir(&room.path).into_iter().flatten().flatten() {
                let key = CString::new(body.file_name().as_bytes()).unwrap_or_default();
                let copy = is_copy(key.to_bytes());
                let has_gone =
                    || complete && is_orphan(&key) && room.remove_data_file(&key).is_ok();
                if !copy && !self.linked.contains(&(number, key.clone())) && !has_gone() {
                    self.done.nameless.push(body.path());
                }
            }
        }
    }
}
