//! Copies of files in place, which lie among the bodies of a room and are none: the names that they
//! have, and the part of the capacity that is set apart for them.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{Mode, OFlags, fchmod, openat, renameat};
use rustix::io::Errno;

use super::TierDirectory;

/// Before the name of a copy. No number begins so, and no body that was replaced.
const WHOLE: &str = "copy.";
/// Before that of a copy that is being made.
pub(super) const PARTIAL: &str = "copying.";

impl TierDirectory {
    /// A name for a copy of the file `name`.
    pub(in crate::tiers) fn new_copy_name(&self, name: &[u8]) -> CString {
        let name = CString::new(name).unwrap_or_default();
        super::data_file_key(self.next.fetch_add(1, Relaxed), &name)
    }

    /// Makes the file for a copy; it has its name only when it is whole. Who may open the original
    /// opens the copy as themselves; nobody else reaches the room.
    pub(in crate::tiers) fn begin_copy(&self, name: &CStr) -> Result<OwnedFd, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o444);
        let file = openat(&self.root, prefixed_name(PARTIAL, name), flags, mode)?;
        // The mask took bits away.
        fchmod(&file, mode)?;
        Ok(file)
    }

    /// The copy is whole.
    pub(in crate::tiers) fn finish_copy(&self, name: &CStr) -> Result<(), Errno> {
        renameat(&self.root, prefixed_name(PARTIAL, name), &self.root, prefixed_name(WHOLE, name))
    }

    pub(in crate::tiers) fn open_copy(&self, name: &CStr) -> Result<OwnedFd, Errno> {
        self.open_data_file(&prefixed_name(WHOLE, name), OFlags::RDONLY)
    }

    /// Takes a copy away, whole or not.
    pub(in crate::tiers) fn remove_copy(&self, name: &CStr) {
        for prefix in [PARTIAL, WHOLE] {
            let _ = self.remove_data_file(&prefixed_name(prefix, name));
        }
    }

    /// Sets so many bytes apart. `false` when copies would make the tier full: it would refuse new
    /// files, which come before copies.
    pub(in crate::tiers) fn reserve_bytes(&self, bytes: u64) -> bool {
        let fits = |used: u64| {
            let after = used.checked_add(bytes)?;
            self.capacity.is_none_or(|capacity| after < capacity).then_some(after)
        };
        self.used.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    /// How many bytes are missing to set so many apart; `None`: more than the room takes at all.
    pub(in crate::tiers) fn missing_bytes(&self, bytes: u64) -> Option<u64> {
        let Some(capacity) = self.capacity else { return Some(0) };
        let after = self.used.load(Relaxed).saturating_add(bytes);
        (bytes < capacity).then(|| after.saturating_add(1).saturating_sub(capacity))
    }
}

/// Whether a file of a room is a copy, or a part of one.
pub(in crate::tiers) fn is_copy(name: &[u8]) -> bool {
    [WHOLE, PARTIAL].iter().any(|prefix| name.starts_with(prefix.as_bytes()))
}

pub(super) fn prefixed_name(prefix: &str, name: &CStr) -> CString {
    let mut all = prefix.as_bytes().to_vec();
    all.extend_from_slice(name.to_bytes());
    CString::new(all).expect("neither part holds a NUL")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this failed, a homecoming would bring copies home, or a body would be removed as a copy.
    #[test]
    fn a_copy_is_no_body() {
        let longest =
            super::super::data_file_key(u64::MAX, &CString::new(vec![b'x'; 255]).expect("no NUL"));
        for prefix in [WHOLE, PARTIAL] {
            let name = prefixed_name(prefix, &longest);
            assert!(name.count_bytes() <= 255 && is_copy(name.to_bytes()));
            assert_eq!(super::super::number_from_key(name.to_bytes()), None);
            assert!(!super::super::RETIRED.starts_with(prefix));
        }
        assert!(!is_copy(longest.to_bytes()) && !is_copy(b"old.2a.copy.sam"));
    }
}
