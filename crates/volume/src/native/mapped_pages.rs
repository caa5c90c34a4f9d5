//! Shared writable mappings where the kernel keeps pages of its own, without passthrough. The
//! kernel writes whole pages back, with bytes that others have changed in the file since; so what
//! a page held when it was read is kept, and only what differs goes into the file.
//!
//! It matters where programs agree by locks on parts of one page: SQLite's shared index of a
//! write-ahead log (wal.c) has its header and the marks of all readers in the first. So this is
//! done for files that were locked. The idea is the twins and diffs of TreadMarks (Keleher et al.,
//! USENIX Winter 1994).

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::file_io::write_all_at;
use super::{FileHandle, Result};

/// The unit in which the kernel reads and writes mappings.
const PAGE: usize = 4096;
/// Pages kept for one file: further ones are written back whole.
const MOST: usize = 4096;

/// A part of a file that a program changed: where it begins, and its bytes.
type PageChange = (u64, Vec<u8>);

#[derive(Debug, Default)]
struct Twins {
    /// What the kernel's page held when it was the same as the file, by number.
    was: FxHashMap<u64, Box<[u8]>>,
    /// How many are bringing all pages down now.
    bringing: u32,
    /// Changes of the first page meanwhile: it goes last. Headers that speak of what follows stand
    /// there, and the kernel goes through a file from its beginning.
    held: Vec<(Arc<FileHandle>, PageChange)>,
}

/// The pages of all files that need it, by node.
#[derive(Debug, Default)]
pub(crate) struct MappedPages(Mutex<FxHashMap<u64, Twins>>);

impl MappedPages {
    /// The kernel gets a page, or several.
    pub(crate) fn remember_read_pages(&self, node: u64, offset: u64, bytes: &[u8]) {
        if !offset.is_multiple_of(PAGE as u64) {
            return;
        }
        let mut all = self.0.lock();
        let twins = all.entry(node).or_default();
        for (number, bytes) in (offset / PAGE as u64..).zip(bytes.chunks(PAGE)) {
            if twins.was.len() < MOST || twins.was.contains_key(&number) {
                // Behind the end of the file the kernel has zeros.
                let mut page = vec![0; PAGE].into_boxed_slice();
                page[..bytes.len()].copy_from_slice(bytes);
                twins.was.insert(number, page);
            }
        }
    }

    /// What is to be written of pages that come down, in their order.
    pub(crate) fn changed_ranges(
        &self,
        handle: &Arc<FileHandle>,
        offset: u64,
        bytes: &[u8],
    ) -> Vec<PageChange> {
        let mut all = self.0.lock();
        let twins = all.get_mut(&handle.node.id);
        let Some(twins) = twins.filter(|_| offset.is_multiple_of(PAGE as u64)) else {
            return vec![(offset, bytes.to_vec())];
        };
        let mut changes = Vec::new();
        for (number, bytes) in (offset / PAGE as u64..).zip(bytes.chunks(PAGE)) {
            let begin = number * PAGE as u64;
            let found = match twins.was.get_mut(&number) {
                Some(was) => {
                    let found = differing_runs(was, bytes);
                    was[..bytes.len()].copy_from_slice(bytes);
                    found.into_iter().map(|(at, bytes)| (begin + at as u64, bytes)).collect()
                }
                None => vec![(begin, bytes.to_vec())],
            };
            match number == 0 && twins.bringing > 0 {
                true => {
                    twins.held.extend(found.into_iter().map(|one| (Arc::clone(handle), one)));
                }
                false => changes.extend(found),
            }
        }
        changes
    }

    /// All pages of a file are about to come down.
    pub(crate) fn begin_invalidation(&self, node: u64) {
        if let Some(twins) = self.0.lock().get_mut(&node) {
            twins.bringing += 1;
        }
    }

    /// They have.
    pub(crate) fn end_invalidation(&self, node: u64) {
        if let Some(twins) = self.0.lock().get_mut(&node) {
            twins.bringing = twins.bringing.saturating_sub(1);
        }
        self.write_held_pages(node);
    }

    /// Writes what was held: before the file is read, and when all else has come down.
    pub(crate) fn write_held_pages(&self, node: u64) {
        self.write_held_pages_by(node, |handle, bytes, at| {
            rustix::io::pwrite(&handle.file, bytes, at)
        });
    }

    pub(super) fn write_held_pages_by(
        &self,
        node: u64,
        mut write: impl FnMut(&FileHandle, &[u8], u64) -> Result<usize>,
    ) {
        let mut all = self.0.lock();
        let Some(twins) = all.get_mut(&node) else { return };
        for (handle, (at, bytes)) in twins.held.drain(..) {
            // The kernel was told that these are written, so the next who can be told is.
            let (_, done) = write_all_at(&bytes, at, |bytes, at| write(&handle, bytes, at));
            if let Err(error) = done {
                tracing::error!("a page of a mapping could not be written: {error}");
                handle.node.unreported.record_error(error);
                twins.was.remove(&0);
            }
            if let Some(packed) = handle.node.packed.get() {
                packed.mark_dirty();
            }
        }
    }

    /// A page could not be written: next time it goes down whole.
    pub(crate) fn forget_failed_page(&self, node: u64, at: u64) {
        if let Some(twins) = self.0.lock().get_mut(&node) {
            twins.was.remove(&(at / PAGE as u64));
        }
    }

    /// Nobody has the file open any more.
    pub(crate) fn forget_file(&self, node: u64) {
        self.write_held_pages(node);
        self.0.lock().remove(&node);
    }
}

/// Runs of bytes that differ, and where in the page each begins.
fn differing_runs(was: &[u8], is: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let mut found: Vec<(usize, Vec<u8>)> = Vec::new();
    for (at, (_, new)) in was.iter().zip(is).enumerate().filter(|(_, (old, new))| old != new) {
        match found.last_mut() {
            Some((begin, run)) if *begin + run.len() == at => run.push(*new),
            _ => found.push((at, vec![*new])),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    //! Bytes of others that a page carries back would undo their commits.
    use super::*;

    #[test]
    fn only_what_differs_is_found() {
        assert_eq!(differing_runs(b"abcdef", b"abcdef"), []);
        let found = differing_runs(b"abcdefgh", b"aXYdefgZ");
        assert_eq!(found, [(1, b"XY".to_vec()), (7, b"Z".to_vec())]);
        assert_eq!(
            differing_runs(b"abc", b"Xb"),
            [(0, b"X".to_vec())],
            "cut off at the file's end"
        );
    }
}
