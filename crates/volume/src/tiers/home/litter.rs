//! What an earlier, killed, homecoming or somebody outside has left: copies beside links, bodies
//! whose links were replaced already, bodies without a link.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Statx, syncfs, unlinkat};

use super::{Work, copy, find};
use crate::native::stat_of;
use crate::tiers::Placed;
use crate::tiers::arrivals::Arrival;
use crate::tiers::room::is_copy;

impl Work<'_> {
    /// Takes away what an earlier, killed, homecoming left: copies beside links, and bodies whose
    /// links it had replaced already.
    pub(super) fn clean_up(&mut self) {
        for Arrival { body, link } in std::mem::take(&mut self.arrivals.old) {
            let key = body.file_name().and_then(|name| CString::new(name.as_bytes()).ok());
            let rooms = &self.tiers.rooms;
            let room = rooms.iter().position(|room| body.parent() == Some(room.path.as_path()));
            let (Some(key), Some(number)) = (key, room) else { continue };
            let Ok((dir, name)) = find::parent(&self.root, &link) else { continue };
            let placed = Placed::new(number, key);
            let _ = unlinkat(&dir, copy::passing_name(&placed), AtFlags::empty());
            let linked = self.linked.contains(&(number, placed.key.clone()));
            if !linked && self.has_arrived(dir.as_fd(), &name, &placed) && syncfs(&dir).is_ok() {
                let _ = rooms[number].remove(&placed.key);
            }
        }
    }

    /// Whether the file at a name, in place or on another tier, is a copy of a body.
    fn has_arrived(&self, dir: BorrowedFd<'_>, name: &CStr, placed: &Placed) -> bool {
        let time = |stat: &Statx| (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec);
        let there = match self.tiers.recognise(dir, name) {
            Some(other) => self.tiers.stat(&other),
            None => stat_of(dir, name),
        };
        match (there, self.tiers.stat(placed)) {
            (Ok(file), Ok(body)) => {
                file.stx_mode == body.stx_mode
                    && (file.stx_uid, file.stx_size) == (body.stx_uid, body.stx_size)
                    && time(&file) == time(&body)
            }
            _ => false,
        }
    }

    /// Finds bodies that no link leads to: their links were moved or removed from outside.
    pub(super) fn find_nameless(&mut self) {
        for (number, room) in self.tiers.rooms.iter().enumerate() {
            for body in std::fs::read_dir(&room.path).into_iter().flatten().flatten() {
                let key = CString::new(body.file_name().as_bytes()).unwrap_or_default();
                let copy = is_copy(key.to_bytes());
                if !copy && !self.linked.contains(&(number, key)) {
                    self.done.nameless.push(body.path());
                }
            }
        }
    }
}
