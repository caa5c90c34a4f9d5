//! A room: the directory of one volume on one tier, flat, one file for each body. It knows names
//! and sizes, and nothing of where the links are.

mod copy_files;
pub(super) mod removal_notes;
mod staged_data_files;

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use forebay_model::{Tier, TierId, TreeId};
use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, Statx, flock, openat, renameat, unlinkat,
};
use rustix::io::Errno;

use super::manifest_format::ManifestEntry;
pub(super) use copy_files::is_copy;
use forebay_os::file_identity::statx_nofollow;
use removal_notes::{RemovalNotes, RemovalSlot};

/// Before the name of a body that another file has replaced: it is no body any more, and goes when
/// the replacement is safe.
pub(super) const RETIRED: &str = "old.";

/// Longest part of a file's own name that its body's name repeats, in bytes: the whole must stay
/// below 255.
const NAME_PART: usize = 190;

/// What is left free of a tier's disk, at most, and otherwise one part in 64: files that are open
/// grow, and nobody else should find the disk full.
const RESERVE: u64 = 64 << 20;
/// Between two looks at a disk, in milliseconds.
const LOOK_EVERY: u64 = 100;

/// The directory of one volume on one tier.
#[derive(Debug)]
pub(crate) struct TierDirectory {
    pub(crate) tier: TierId,
    pub(crate) path: PathBuf,
    /// The site still names the tier, so new files may come.
    pub(crate) writable: bool,
    /// Its number in the record.
    pub(crate) tree: TreeId,
    /// Its file system is on this machine.
    pub(crate) local: bool,
    /// Something was there when it was opened.
    pub(super) had_bodies: bool,
    root: OwnedFd,
    leaving: RemovalNotes,
    capacity: Option<u64>,
    used: AtomicU64,
    next: AtomicU64,
    /// When its disk was looked at, in ms of this machine's life, and whether it was full: one bit.
    looked: AtomicU64,
}

impl TierDirectory {
    /// Opens the directory and counts what it holds.
    pub(super) fn open(
        entry: &ManifestEntry,
        tier: Option<&Tier>,
    ) -> std::io::Result<TierDirectory> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let root = openat(CWD, &entry.path, flags, Mode::empty())?;
        // A book that somebody else wrote must not make us move or remove other people's files.
        let parent = entry.path.parent().unwrap_or(&entry.path);
        super::private_directories::check_owned_exclusively(parent)?;
        let (mut used, mut found) = (0, false);
        for body in std::fs::read_dir(&entry.path)?.flatten() {
            if is_copy(body.file_name().as_bytes()) {
                // Of a run that was killed: nobody knows what it is a copy of.
                let _ = std::fs::remove_file(body.path());
            } else if let Ok(meta) = body.metadata() {
                used += std::os::unix::fs::MetadataExt::blocks(&meta) * 512;
                found = true;
            }
        }
        // Numbers of an earlier life of the room, or of a copy of it, never come again.
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let first = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        Ok(TierDirectory {
            tier: entry.tier.clone(),
            path: entry.path.clone(),
            writable: tier.is_some(),
            tree: TreeId(0),
            local: forebay_os::file_systems::file_system_kind(&root).is_ok_and(|kind| kind.local),
            had_bodies: found,
            root,
            leaving: RemovalNotes::for_directory(&entry.path),
            capacity: tier.and_then(|tier| tier.capacity).map(|bytes| bytes.get()),
            used: AtomicU64::new(used),
            next: AtomicU64::new(first),
            looked: AtomicU64::new(0),
        })
    }

    /// Takes it for this run; false when another has it. Where its file system knows no such locks,
    /// that of the book is the only one.
    pub(super) fn try_lock(&self) -> bool {
        flock(&self.root, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
    }

    /// No body is there.
    pub(super) fn is_empty(&self) -> bool {
        std::fs::read_dir(&self.path).is_ok_and(|mut bodies| bodies.next().is_none())
    }

    /// Bytes that it holds, how many it may, and of its file system all and what is free.
    pub(crate) fn capacity_usage(&self) -> (u64, Option<u64>, Option<(u64, u64)>) {
        let all = rustix::fs::fstatvfs(&self.root).ok();
        let all = all.map(|all| (all.f_blocks * all.f_frsize, all.f_bavail * all.f_frsize));
        (self.used.load(Relaxed), self.capacity, all)
    }

    /// It takes no new file: the capacity is used up, or its disk, whoever has filled that.
    pub(super) fn is_full(&self) -> bool {
        self.capacity.is_some_and(|capacity| self.used.load(Relaxed) >= capacity)
            || self.is_disk_nearly_full()
    }

    /// Its disk has so little room left that the next files would not fit. Looked at now and then:
    /// far storage answers that as slowly as anything.
    fn is_disk_nearly_full(&self) -> bool {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
        let now = now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000;
        let (looked, was_tight) = unpack_disk_state(self.looked.load(Relaxed));
        if now.saturating_sub(looked) < LOOK_EVERY {
            return was_tight;
        }
        let is_tight = rustix::fs::fstatvfs(&self.root).is_ok_and(|all| {
            let reserve = (all.f_blocks * all.f_frsize / 64).min(RESERVE);
            all.f_blocks > 0 && all.f_bavail * all.f_frsize < reserve
        });
        self.looked.store(now << 1 | u64::from(is_tight), Relaxed);
        is_tight
    }

    /// Half of it is taken, or nearly all of the file system where there is no bound.
    pub(super) fn is_short_of_space(&self) -> bool {
        match self.capacity {
            Some(capacity) => self.used.load(Relaxed) >= capacity / 2,
            None => {
                rustix::fs::fstatvfs(&self.root).is_ok_and(|all| all.f_bavail < all.f_blocks / 16)
            }
        }
    }

    pub(super) fn charge_bytes(&self, before: u64, now: u64) {
        let add = |used: u64| Some(used.saturating_add(now).saturating_sub(before));
        // `add` never refuses.
        let _ = self.used.fetch_update(Relaxed, Relaxed, add);
    }

    /// Makes a body for a file called `name`; tells its own name.
    ///
    /// # Errors
    /// The tier's file system's, as the caller.
    pub(crate) fn create_data_file(
        &self,
        name: &CStr,
        flags: OFlags,
        mode: Mode,
    ) -> Result<(OwnedFd, CString), Errno> {
        loop {
            let number = self.next.fetch_add(1, Relaxed);
            let key = data_file_key(number, name);
            let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            match openat(&self.root, &key, flags, mode) {
                // The clock was set back since an earlier run.
                Err(Errno::EXIST) => {}
                Ok(file) => return Ok((file, key)),
                Err(other) => return Err(other),
            }
        }
    }

    /// A name for the body of a file called `name` that no body has.
    ///
    /// # Errors
    /// The tier's file system's.
    pub(super) fn unused_key(&self, name: &CStr) -> Result<CString, Errno> {
        loop {
            let key = data_file_key(self.next.fetch_add(1, Relaxed), name);
            match self.stat_data_file(&key) {
                Err(Errno::NOENT) => return Ok(key),
                // The clock was set back since an earlier run.
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Where the link to a body leads.
    pub(crate) fn link_target(&self, key: &CStr) -> CString {
        let mut path = self.path.as_os_str().as_bytes().to_vec();
        path.push(b'/');
        path.extend_from_slice(key.to_bytes());
        CString::new(path).expect("neither a path nor a name holds a NUL")
    }

    /// The body that a link's target names, when it lies in this room.
    pub(super) fn key_from_target(&self, target: &[u8]) -> Option<CString> {
        let rest = target.strip_prefix(self.path.as_os_str().as_bytes())?.strip_prefix(b"/")?;
        number_from_key(rest)?;
        if rest.contains(&b'/') { None } else { CString::new(rest).ok() }
    }

    pub(super) fn stat_data_file(&self, key: &CStr) -> Result<Statx, Errno> {
        statx_nofollow(self.root.as_fd(), key)
    }

    pub(super) fn open_data_file(&self, key: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        openat(&self.root, key, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
    }

    pub(crate) fn remove_data_file(&self, key: &CStr) -> Result<(), Errno> {
        unlinkat(&self.root, key, AtFlags::empty())
    }

    /// Removals have a place for their notes already.
    pub(super) fn has_removal_notes(&self) -> bool {
        self.leaving.is_open()
    }

    /// The last name of a body is about to go.
    pub(super) fn note_removal(&self, key: &CStr) -> RemovalSlot {
        self.leaving.note_removal(key)
    }

    /// It did not go.
    pub(super) fn cancel_removal(&self, slot: RemovalSlot) {
        self.leaving.forget_removal(slot);
    }

    /// Tells bodies without a name that are nobody's: those whose names were being removed when a daemon
    /// was killed, and those that it had just made, whose names were still to come.
    pub(super) fn orphan_matcher(&self) -> impl Fn(&CStr) -> bool + '_ {
        let noted = removal_notes::noted_removals(&self.path);
        move |body| {
            noted.contains(body) || self.stat_data_file(body).is_ok_and(|stat| stat.stx_size == 0)
        }
    }

    /// Takes a body out of use without removing it; tells its new name.
    pub(super) fn retire_data_file(&self, key: &CStr) -> Result<CString, Errno> {
        let mut name = RETIRED.as_bytes().to_vec();
        name.extend_from_slice(key.to_bytes());
        let name = CString::new(name).expect("neither part holds a NUL");
        renameat(&self.root, key, &self.root, &name)?;
        Ok(name)
    }

    /// Removes the bodies that an earlier run had taken out of use.
    pub(super) fn remove_retired(&self) {
        for body in std::fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if body.file_name().as_bytes().starts_with(RETIRED.as_bytes()) {
                let _ = std::fs::remove_file(body.path());
            }
        }
    }

    /// The directory itself.
    pub(crate) fn root(&self) -> &OwnedFd {
        &self.root
    }
}

fn unpack_disk_state(looked: u64) -> (u64, bool) {
    (looked >> 1, looked & 1 == 1)
}

/// A number that no other body of the volume has, and the name that people know.
fn data_file_key(number: u64, name: &CStr) -> CString {
    let name = name.to_bytes();
    let mut key = format!("{number:x}.").into_bytes();
    key.extend_from_slice(&name[..name.len().min(NAME_PART)]);
    CString::new(key).expect("neither part holds a NUL")
}

pub(super) fn number_from_key(key: &[u8]) -> Option<u64> {
    let end = key.iter().position(|byte| *byte == b'.')?;
    u64::from_str_radix(std::str::from_utf8(&key[..end]).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_named_after_its_file_within_the_limit() {
        assert_eq!(data_file_key(0x2a, c"a.sam"), c"2a.a.sam".to_owned());
        let long = CString::new(vec![b'x'; 255]).expect("no NUL");
        let made = data_file_key(u64::MAX, &long);
        assert!(made.count_bytes() <= 255);
        assert_eq!(number_from_key(made.to_bytes()), Some(u64::MAX));
    }

    #[test]
    fn only_names_of_ours_are_numbered() {
        let names = [("2a.a.sam", Some(0x2a)), ("old.2a.a", None), ("x.sam", None), ("2a", None)];
        for (name, number) in names {
            assert_eq!(number_from_key(name.as_bytes()), number, "{name}");
        }
    }
}
