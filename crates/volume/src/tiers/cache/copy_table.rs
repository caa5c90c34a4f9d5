//! Which files have a copy, who reads it, and which go when room is needed: the one that was opened
//! longest ago of those that nobody has open. It is a table, and touches no file; whoever changes
//! it does on the tier what it says.

use std::ffi::CString;

use rustc_hash::FxHashMap;

use super::CopyStamp;
use forebay_os::file_identity::FileIdentity;

/// The number of a copy, never used again.
pub(super) type CopyNumber = u64;

/// A copy that is no more in the table: its name is to be removed, and so many bytes are free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EvictedCopy {
    pub(super) room: usize,
    pub(super) name: CString,
    /// Bytes to give back: none as long as somebody reads or writes it.
    pub(super) bytes: u64,
}

/// What the table says of a file that is opened.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CopyLookup {
    /// A valid copy; one reader more is counted.
    Here { number: CopyNumber, room: usize, name: CString },
    /// It is being copied, or waits for it.
    Coming,
    /// There is no copy, or it was of an older state of the file.
    Absent(Option<EvictedCopy>),
}

#[derive(Debug)]
struct CachedCopy {
    file: FileIdentity,
    room: usize,
    name: CString,
    bytes: u64,
    /// What the file was when it was copied; `None` while it is copied.
    stamp: Option<CopyStamp>,
    readers: u32,
    opened: u64,
}

/// The table.
#[derive(Debug, Default)]
pub(super) struct CopyTable {
    of_file: FxHashMap<FileIdentity, CopyNumber>,
    copies: FxHashMap<CopyNumber, CachedCopy>,
    next: CopyNumber,
    /// Counts openings: the time by which copies are old.
    openings: u64,
    /// Nothing is copied any more.
    over: bool,
}

impl CopyTable {
    /// Looks for a copy of `file` as it is now.
    pub(super) fn open_copy(&mut self, file: FileIdentity, now: &CopyStamp) -> CopyLookup {
        self.openings += 1;
        let Some(number) = self.of_file.get(&file).copied() else {
            return CopyLookup::Absent(None);
        };
        let copy = self.copies.get_mut(&number).expect("listed copies are there");
        match &copy.stamp {
            None => CopyLookup::Coming,
            Some(stamp) if stamp == now => {
                copy.readers += 1;
                copy.opened = self.openings;
                CopyLookup::Here { number, room: copy.room, name: copy.name.clone() }
            }
            Some(_) => CopyLookup::Absent(self.forget_file(file)),
        }
    }

    /// Somebody will copy the file: nobody else does. `None` if there is a copy, or one comes.
    pub(super) fn promise_copy(&mut self, file: FileIdentity, room: usize) -> Option<CopyNumber> {
        if self.over || self.of_file.contains_key(&file) {
            return None;
        }
        self.next += 1;
        let (name, stamp) = (CString::default(), None);
        let copy =
            CachedCopy { file, room, name, bytes: 0, stamp, readers: 0, opened: self.openings };
        self.of_file.insert(file, self.next);
        self.copies.insert(self.next, copy);
        Some(self.next)
    }

    /// The copy is begun under this name, and so many bytes are set apart. `false`: nobody wants it
    /// any more.
    pub(super) fn begin_copy(&mut self, number: CopyNumber, name: CString, bytes: u64) -> bool {
        let copy = self.copies.get_mut(&number);
        copy.map(|copy| (copy.name, copy.bytes) = (name, bytes)).is_some()
    }

    /// The copy is whole. `false`: nobody wants it any more.
    pub(super) fn complete_copy(&mut self, number: CopyNumber, stamp: CopyStamp) -> bool {
        let Some(copy) = self.copies.get_mut(&number) else { return false };
        let wanted = self.of_file.get(&copy.file) == Some(&number);
        if wanted {
            copy.stamp = Some(stamp);
        }
        wanted
    }

    /// There will be no copy after all.
    pub(super) fn fail_copy(&mut self, number: CopyNumber) -> Option<EvictedCopy> {
        let CachedCopy { file, room, name, bytes, .. } = self.copies.remove(&number)?;
        if self.of_file.get(&file) == Some(&number) {
            self.of_file.remove(&file);
        }
        (!name.is_empty()).then_some(EvictedCopy { room, name, bytes })
    }

    /// The file changes: no copy of it is given from now on. One that is read, or written, keeps its
    /// bytes until that is over.
    pub(super) fn forget_file(&mut self, file: FileIdentity) -> Option<EvictedCopy> {
        let number = self.of_file.remove(&file)?;
        self.take_unlisted(number)
    }

    /// One reader less. Tells what is free when it was the last of a copy without a name.
    pub(super) fn close_reader(&mut self, number: CopyNumber) -> Option<(usize, u64)> {
        let copy = self.copies.get_mut(&number)?;
        copy.readers -= 1;
        let over = copy.readers == 0 && self.of_file.get(&copy.file) != Some(&number);
        if !over {
            return None;
        }
        self.copies.remove(&number).map(|copy| (copy.room, copy.bytes))
    }

    /// Takes away the oldest copies of a room that nobody reads, as many as it takes to free
    /// `missing` bytes; none if all of them would not do.
    pub(super) fn evict_idle_copies(
        &mut self,
        room: usize,
        missing: u64,
    ) -> Option<Vec<EvictedCopy>> {
        let mut idle: Vec<(u64, u64, FileIdentity)> = self
            .copies
            .values()
            .filter(|copy| copy.room == room && copy.readers == 0 && copy.stamp.is_some())
            .map(|copy| (copy.opened, copy.bytes, copy.file))
            .collect();
        if idle.iter().map(|(_, bytes, _)| bytes).sum::<u64>() < missing {
            return None;
        }
        idle.sort_by_key(|(opened, ..)| *opened);
        let (mut gone, mut freed) = (Vec::new(), 0);
        for (_, bytes, file) in idle {
            if freed >= missing {
                break;
            }
            freed += bytes;
            gone.extend(self.forget_file(file));
        }
        Some(gone)
    }

    /// Whether there is a copy, or one comes.
    pub(super) fn has_copy(&self, file: FileIdentity) -> bool {
        self.of_file.contains_key(&file)
    }

    /// Forgets all, for good.
    pub(super) fn forget_all_files(&mut self) -> Vec<EvictedCopy> {
        self.over = true;
        let files: Vec<FileIdentity> = self.of_file.keys().copied().collect();
        files.into_iter().filter_map(|file| self.forget_file(file)).collect()
    }

    /// Takes a copy that is not listed any more off the table, unless somebody uses it.
    fn take_unlisted(&mut self, number: CopyNumber) -> Option<EvictedCopy> {
        let copy = self.copies.get(&number)?;
        let (room, name) = (copy.room, copy.name.clone());
        let written = copy.stamp.is_none() && !name.is_empty();
        let busy = copy.readers > 0 || written;
        let bytes = if busy { 0 } else { self.copies.remove(&number)?.bytes };
        // One that only waited has no name yet.
        (!name.is_empty()).then_some(EvictedCopy { room, name, bytes })
    }
}

#[cfg(test)]
mod tests;
