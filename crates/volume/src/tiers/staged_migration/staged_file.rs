//! Making a file whole where it goes: bytes first, then attributes, then both safe, under a name that
//! nobody knows.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Uid, chownat, fsync, openat, readlinkat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::{Goal, MigrationJob};
use crate::tiers::arrivals::{FAILED, LANDS};
use crate::tiers::attributes::copy_attributes;
use crate::tiers::copy::{CopyObserver, copy_bytes};
use crate::tiers::{StagingPath, Tiers};
use forebay_os::file_identity::{FileIdentity, statx_nofollow};

/// The unit in which file systems give room.
const BLOCK: u64 = 4096;

/// A file that is whole where it goes, and has no name there yet.
#[derive(Debug)]
pub(crate) struct StagedFile {
    /// In the passage: the file, or the link to its body.
    pub(super) name: CString,
    /// Which file that is. Whatever else has the name when it is to land was put there by somebody.
    identity: FileIdentity,
    /// The body, and the bytes that were set apart for it.
    pub(super) body: Option<(usize, CString, u64)>,
    /// The path of the body that it leaves behind.
    from: Option<CString>,
}

impl StagedFile {
    /// Which file it is, if it is still the one that was made.
    ///
    /// # Errors
    /// ECANCELED when it is not.
    pub(crate) fn check_identity(&self, passage: &StagingPath) -> Result<FileIdentity, Errno> {
        match statx_nofollow(passage.dir().as_fd(), &self.name) {
            Ok(stat) if FileIdentity::from_statx(&stat) == self.identity => Ok(self.identity),
            Ok(_) | Err(Errno::NOENT) => Err(Errno::CANCELED),
            Err(other) => Err(other),
        }
    }

    /// Notes that it is about to get its name: what it leaves behind is no file's from then on,
    /// whatever becomes of the name.
    pub(super) fn note_before_naming(&self, passage: &StagingPath) -> Result<(), Errno> {
        let Some(from) = &self.from else { return Ok(()) };
        let noted = passage.note_staged_file(from.to_bytes(), &LANDS.mark_for(&self.identity));
        noted.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    /// Notes that it did not.
    pub(super) fn note_naming_failed(&self, passage: &StagingPath) {
        if self.from.is_some() {
            // Without, a body is litter only if no link leads to it either.
            let _ = passage.note_staged_file(b"", &FAILED.mark_for(&self.identity));
        }
    }
}

impl Tiers {
    /// Makes the file where it is to go. `step` hears of bytes, and may end it.
    ///
    /// # Errors
    /// The file systems', ENOSPC where the tier has no room; nothing is left then.
    pub(crate) fn stage_migration(
        &self,
        passage: &StagingPath,
        cargo: &MigrationJob,
        step: CopyObserver<'_>,
    ) -> Result<StagedFile, Errno> {
        match cargo.goal {
            Goal::Place => self.stage_in_place(passage, cargo, step),
            Goal::TierDirectory(number) => self.stage_on_tier(passage, cargo, number, step),
        }
    }

    fn stage_in_place(
        &self,
        passage: &StagingPath,
        cargo: &MigrationJob,
        step: CopyObserver<'_>,
    ) -> Result<StagedFile, Errno> {
        let placed = cargo.from.as_ref().ok_or(Errno::INVAL)?;
        let name = staging_name(placed.room, &placed.key);
        let _ = unlinkat(passage.dir(), &name, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(passage.dir(), &name, flags, Mode::RUSR | Mode::WUSR)?;
        let make = || {
            copy_to_staged_file(&file, cargo, step)?;
            self.note_staged_file(passage, placed.room, &placed.key, cargo)?;
            statx_nofollow(file.as_fd(), c"")
        };
        let from = Some(self.rooms[placed.room].link_target(&placed.key));
        match make() {
            Ok(stat) => {
                Ok(StagedFile { name, identity: FileIdentity::from_statx(&stat), body: None, from })
            }
            Err(error) => {
                self.remove_staged_file(passage, &name, None);
                Err(error)
            }
        }
    }

    fn stage_on_tier(
        &self,
        passage: &StagingPath,
        cargo: &MigrationJob,
        number: usize,
        step: CopyObserver<'_>,
    ) -> Result<StagedFile, Errno> {
        let room = &self.rooms[number];
        // A file with holes takes less than its size, and its copy has its holes.
        let bytes = (cargo.stat.stx_blocks * 512).div_ceil(BLOCK).max(1) * BLOCK;
        if !room.reserve_bytes(bytes) {
            return Err(Errno::NOSPC);
        }
        let key = room.new_copy_name(cargo.name.to_bytes());
        let name = staging_name(number, &key);
        let make = || {
            let file = room.begin_data_file(&key)?;
            copy_to_staged_file(&file, cargo, step)?;
            // Both, for either may be the one that is left without a link.
            self.note_staged_file(passage, number, &key, cargo)?;
            if let Some(placed) = &cargo.from {
                self.note_staged_file(passage, placed.room, &placed.key, cargo)?;
            }
            let stat = statx_nofollow(file.as_fd(), c"")?;
            let link = create_staged_link(passage, &name, &room.link_target(&key))?;
            // A link stands for a body of its owner's alone.
            let (uid, gid) = (Uid::from_raw(stat.stx_uid), Gid::from_raw(stat.stx_gid));
            chownat(&link, c"", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?;
            room.finish_data_file(&key)?;
            if cargo.safe {
                fsync(room.root())?;
            }
            statx_nofollow(link.as_fd(), c"")
        };
        let made = make();
        let body = Some((number, key, bytes));
        let from = cargo.from.as_ref().map(|from| self.rooms[from.room].link_target(&from.key));
        match made {
            Ok(stat) => {
                Ok(StagedFile { name, identity: FileIdentity::from_statx(&stat), body, from })
            }
            Err(error) => {
                self.remove_staged_file(passage, &name, body.as_ref());
                Err(error)
            }
        }
    }

    fn note_staged_file(
        &self,
        passage: &StagingPath,
        room: usize,
        key: &CStr,
        cargo: &MigrationJob,
    ) -> Result<(), Errno> {
        let noted =
            passage.note_staged_file(self.rooms[room].link_target(key).to_bytes(), &cargo.path);
        noted.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

/// Makes a link on the way, and holds it.
fn create_staged_link(passage: &StagingPath, name: &CStr, target: &CStr) -> Result<OwnedFd, Errno> {
    let _ = unlinkat(passage.dir(), name, AtFlags::empty());
    symlinkat(target, passage.dir(), name)?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let link = openat(passage.dir(), name, flags, Mode::empty())?;
    match readlinkat(&link, c"", Vec::new())?.as_c_str() == target {
        true => Ok(link),
        false => Err(Errno::CANCELED),
    }
}

/// Bytes, then attributes, then both safe.
fn copy_to_staged_file(
    file: &OwnedFd,
    cargo: &MigrationJob,
    step: CopyObserver<'_>,
) -> Result<(), Errno> {
    copy_bytes(&cargo.file, file, step)?;
    copy_attributes(&cargo.file, file, cargo.mode)?;
    step(0)?;
    if cargo.safe { fsync(file) } else { Ok(()) }
}

/// The name that a file has on its way: two bodies, of whatever rooms, never have the same.
fn staging_name(room: usize, key: &CStr) -> CString {
    let mut name = format!("{room}.").into_bytes();
    name.extend_from_slice(key.to_bytes());
    CString::new(name).expect("a name holds no NUL")
}
