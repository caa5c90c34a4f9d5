//! Packed names in a directory's listing: they come after those in place.

use std::ffi::CString;
use std::os::fd::AsFd;

use crate::native::{DirEntry, DirHandle, Native, Result};

/// Positions from here on are packed names'. No file system uses them: of the positions that ext4
/// makes of hashes, the last 2^32 stand for the end (`EXT4_HTREE_EOF_64BIT`).
const TAIL: u64 = 0x7fff_ffff_0000_0000;

impl Native {
    /// Shows the names in a directory from `position` on to `take` until it returns false.
    pub(crate) fn list_directory(
        &self,
        handle: &DirHandle,
        position: u64,
        mut take: impl FnMut(&DirEntry) -> bool,
    ) -> Result<()> {
        let mut reader = handle.reader.lock();
        let mut listing = handle.packed.lock();
        let Some((pack, key)) = self.pack_and_key(&handle.node) else {
            return reader.for_each_entry_from(position, take);
        };
        let fd = self.dir_fd_of(&handle.node)?;
        if position == 0 {
            *listing = None;
        }
        if position < TAIL || position == i64::MAX as u64 {
            let mut full = false;
            reader.for_each_entry_from(position, |found| {
                // Hidden behind a packed one.
                if self.find_packed_name(&handle.node, fd.as_fd(), &found.name).is_some() {
                    return true;
                }
                let taken = take(found);
                full |= !taken;
                taken
            })?;
            if full {
                return Ok(());
            }
        }
        let names = listing.get_or_insert_with(|| {
            let all = pack.list_names(key).into_iter();
            all.filter_map(|(name, ino)| Some((CString::new(name).ok()?, ino))).collect()
        });
        let from = if position < TAIL || position == i64::MAX as u64 { 0 } else { position - TAIL };
        for (number, (name, ino)) in names.iter().enumerate().skip(from as usize) {
            // Removed, or replaced in place, since.
            if self.find_packed_name(&handle.node, fd.as_fd(), name).is_none() {
                continue;
            }
            let next = TAIL + number as u64 + 1;
            let kind = libc::S_IFREG >> 12;
            if !take(&DirEntry { name: name.clone(), inode: *ino, kind, next }) {
                break;
            }
        }
        Ok(())
    }
}
