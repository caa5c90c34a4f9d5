//! An archive of reads that is attached to a volume: shown as a directory of FASTQ in which nothing
//! can be changed. Each file is an empty one in a directory of this machine's, with the archive's
//! owner and time; its length and its bytes are the archive's, which are decoded when somebody reads
//! them. What it is not: `forebay_reads` knows the format, and decodes.

mod empty;
mod found;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use forebay_reads::{Cache, Face, Reader};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustix::fs::Statx;
use rustix::io::Errno;

use crate::bucket::Held;
pub(crate) use found::{Found, find};
pub use found::{Trouble, can_show};

/// Bytes of text that are kept decoded, for those who read on.
const CACHE: usize = 128 << 20;
/// Threads that decode ahead, begun when somebody reads one part after the other.
const AHEAD: usize = 4;
/// Files of which it is told that they could not be read.
const NAMED: usize = 3;
/// Files of which it is known; of more there is no use.
const MOST: usize = 1000;
/// The unit in which statx(2) counts what a file takes.
const BLOCK: u64 = 512;

/// An archive that is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    source: PathBuf,
    reader: Reader,
    /// By the number of the empty file.
    faces: FxHashMap<u64, Arc<Face>>,
    /// Why bytes of each file could not be had, at first.
    lost: Mutex<BTreeMap<String, String>>,
    /// The archive is reached through it, wherever it lies and whatever covers it.
    folder: OwnedFd,
    held: Held,
}

impl Shown {
    /// Begins to serve it; threads begin here at the earliest.
    pub(crate) fn start(found: Found) -> Arc<Shown> {
        let Found { source, archive, faces, folder, held } = found;
        let faces = faces.into_iter().map(|(number, face)| (number, Arc::new(face))).collect();
        let reader = Reader::sharing(archive, Cache::new(CACHE, AHEAD));
        Arc::new(Shown { source, reader, faces, lost: Mutex::default(), folder, held })
    }

    /// What a file here stands for.
    pub(crate) fn face(&self, number: u64) -> Option<&Arc<Face>> {
        self.faces.get(&number)
    }

    /// Gives an empty file the length that it is shown with, and as much space: of a file that
    /// takes none, tar(1) keeps no bytes.
    pub(crate) fn dress(&self, stat: &mut Statx) {
        if let Some(face) = self.face(stat.stx_ino) {
            (stat.stx_size, stat.stx_blocks) = (face.len, face.len.div_ceil(BLOCK));
        }
    }

    /// Reads into `buffer` at `offset`; returns how much there was. The caller acts for itself.
    ///
    /// # Errors
    /// EIO: the archive is damaged there, or can't be read.
    pub(crate) fn read(&self, face: &Face, offset: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
        self.reader.read_at(face, offset, buffer).map_err(|error| {
            self.note(face, found::plain(&error, &self.folder, &self.source));
            Errno::IO
        })
    }

    fn note(&self, face: &Face, why: String) {
        let mut lost = self.lost.lock();
        if lost.len() < MOST {
            lost.entry(face.name.clone()).or_insert(why);
        }
    }

    /// Nobody looks any more. Tells what went wrong.
    pub(crate) fn finish(&self) -> Vec<String> {
        if let Err(error) = self.held.clear() {
            log::warn!("empty files stay in {}: {error}", self.held.tree().display());
        }
        let lost = self.lost.lock();
        let Some((_, why)) = lost.first_key_value() else { return Vec::new() };
        let source = self.source.display();
        let names: Vec<&str> = lost.keys().take(NAMED).map(String::as_str).collect();
        let more = match lost.len().checked_sub(NAMED) {
            Some(more @ 1..) => format!(" and {more} more"),
            _ => String::new(),
        };
        vec![format!(
            "bytes of {}{more} could not be read from {source}: {why}; programs got errors (EIO) in \
             their place, and `forebay reads verify {source}` names all that is damaged",
            names.join(", ")
        )]
    }
}

#[cfg(test)]
mod tests;
