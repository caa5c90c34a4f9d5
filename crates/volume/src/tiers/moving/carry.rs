//! Making a file whole where it goes: bytes first, then attributes, then both safe, under a name that
//! nobody knows.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, chownat, fsync, openat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::{Cargo, Goal};
use crate::native::stat_of;
use crate::tiers::home::attributes::attributes;
use crate::tiers::home::copy::{Step, bytes};
use crate::tiers::{Passage, Tiers};

/// The unit in which file systems give room.
const BLOCK: u64 = 4096;

/// A file that is whole where it goes, and has no name there yet.
#[derive(Debug)]
pub(crate) struct Carried {
    /// In the passage: the file, or the link to its body.
    pub(super) name: CString,
    /// The body, and the bytes that were set apart for it.
    pub(super) body: Option<(usize, CString, u64)>,
}

impl Tiers {
    /// Makes the file where it is to go. `step` hears of bytes, and may end it.
    ///
    /// # Errors
    /// The file systems', ENOSPC where the tier has no room; nothing is left then.
    pub(crate) fn carry(
        &self,
        passage: &Passage,
        cargo: &Cargo,
        step: Step<'_>,
    ) -> Result<Carried, Errno> {
        match cargo.goal {
            Goal::Place => self.carry_home(passage, cargo, step),
            Goal::Room(number) => self.carry_to(passage, cargo, number, step),
        }
    }

    fn carry_home(
        &self,
        passage: &Passage,
        cargo: &Cargo,
        step: Step<'_>,
    ) -> Result<Carried, Errno> {
        let placed = cargo.from.as_ref().ok_or(Errno::INVAL)?;
        let name = passing(placed.room, &placed.key);
        let carried = Carried { name, body: None };
        let _ = unlinkat(passage.dir(), &carried.name, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(passage.dir(), &carried.name, flags, Mode::RUSR | Mode::WUSR)?;
        let done = fill(&file, cargo, step)
            .and_then(|()| self.note(passage, placed.room, &placed.key, cargo));
        match done {
            Ok(()) => Ok(carried),
            Err(error) => {
                self.drop_carried(passage, &carried);
                Err(error)
            }
        }
    }

    fn carry_to(
        &self,
        passage: &Passage,
        cargo: &Cargo,
        number: usize,
        step: Step<'_>,
    ) -> Result<Carried, Errno> {
        let room = &self.rooms[number];
        // A file with holes takes less than its size, and its copy has its holes.
        let bytes = (cargo.stat.stx_blocks * 512).div_ceil(BLOCK).max(1) * BLOCK;
        if !room.reserve(bytes) {
            return Err(Errno::NOSPC);
        }
        let key = room.copy_name(cargo.name.to_bytes());
        let name = passing(number, &key);
        let carried = Carried { name, body: Some((number, key.clone(), bytes)) };
        let make = || {
            let file = room.begin_body(&key)?;
            fill(&file, cargo, step)?;
            // Both, for either may be the one that is left without a link.
            self.note(passage, number, &key, cargo)?;
            if let Some(placed) = &cargo.from {
                self.note(passage, placed.room, &placed.key, cargo)?;
            }
            let stat = stat_of(file.as_fd(), c"")?;
            let _ = unlinkat(passage.dir(), &carried.name, AtFlags::empty());
            symlinkat(room.target(&key), passage.dir(), &carried.name)?;
            // A link stands for a body of its owner's alone.
            let (uid, gid) = (Uid::from_raw(stat.stx_uid), Gid::from_raw(stat.stx_gid));
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            chownat(passage.dir(), &carried.name, Some(uid), Some(gid), flags)?;
            room.name_body(&key)?;
            if cargo.safe { fsync(room.root()) } else { Ok(()) }
        };
        match make() {
            Ok(()) => Ok(carried),
            Err(error) => {
                self.drop_carried(passage, &carried);
                Err(error)
            }
        }
    }

    fn note(&self, passage: &Passage, room: usize, key: &CStr, cargo: &Cargo) -> Result<(), Errno> {
        let noted = passage.note(self.rooms[room].target(key).to_bytes(), &cargo.path);
        noted.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

/// Bytes, then attributes, then both safe.
fn fill(file: &OwnedFd, cargo: &Cargo, step: Step<'_>) -> Result<(), Errno> {
    bytes(&cargo.file, file, step)?;
    attributes(&cargo.file, file, cargo.mode)?;
    step(0)?;
    if cargo.safe { fsync(file) } else { Ok(()) }
}

/// The name that a file has on its way: two bodies, of whatever rooms, never have the same.
fn passing(room: usize, key: &CStr) -> CString {
    let mut name = format!("{room}.").into_bytes();
    name.extend_from_slice(key.to_bytes());
    CString::new(name).expect("a name holds no NUL")
}
