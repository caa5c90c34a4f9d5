//! Reads that are attached to a volume, an archive or files that were there before: shown as a
//! directory of FASTQ in which nothing can be changed. Each file is an empty one in a directory of
//! this machine's, with the source's owner and time; its length and its bytes are the source's, which
//! are decoded when somebody reads them. What it is not: `forebay_reads` knows the format, and decodes.

mod backend;
mod bucket_archive;
mod empty;
mod error;
mod learned;
mod opened_archive;
mod plain_fastq;
mod prepared_reads;
mod source_location;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use forebay_reads::{ExportedFile, ExportedReader, Kind, TextCache};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustix::fs::Statx;
use rustix::io::Errno;

use crate::bucket::AttachmentDirectory;
use bucket_archive::ArchiveObjects;
pub use bucket_archive::PrefixContent;
pub use error::ReadsError;
pub use learned::remove_learned_index;
pub use plain_fastq::index_original_files;
pub(crate) use plain_fastq::prepare_plain_files;
use prepared_reads::ReadsSource;
pub(crate) use prepared_reads::{PreparedReads, prepare_archive};
pub use prepared_reads::{check_can_show, classify_prefix, open_archive_in_bucket};
use source_location::SourceLocation;

/// Bytes of text that are kept decoded, for those who read on; beside what a bucket sends ahead.
const CACHE: usize = 128 << 20;
const CACHE_FAR: usize = 64 << 20;
/// Groups of an archive in a bucket that are decoded at a time, whoever waits for the bucket.
const DECODING: usize = 4;
/// Threads that decode ahead, begun when somebody reads one part after the other.
const AHEAD: usize = 4;
/// Files of which it is told that they could not be read.
const NAMED: usize = 3;
/// Files of which it is known; of more there is no use.
const MOST: usize = 1000;
/// The unit in which statx(2) counts what a file takes.
const BLOCK: u64 = 512;

/// Reads that are shown.
#[derive(Debug)]
pub(crate) struct ExportedReads {
    source: PathBuf,
    reader: ExportedReader,
    /// By the number of the empty file.
    faces: FxHashMap<u64, Arc<ExportedFile>>,
    /// Why bytes of each file could not be had, at first.
    lost: Mutex<BTreeMap<String, String>>,
    place: SourceLocation,
    held: AttachmentDirectory,
}

impl ExportedReads {
    /// Begins to serve it; threads begin here at the earliest.
    ///
    /// # Errors
    /// No client of its bucket can be made.
    pub(crate) fn start(found: PreparedReads) -> io::Result<Arc<ExportedReads>> {
        let PreparedReads { source, what, faces, place, held } = found;
        let faces = faces.into_iter().map(|(number, face)| (number, Arc::new(face))).collect();
        let reader = match (what, &place) {
            (ReadsSource::Plain(existing), _) => existing.into_reader(TextCache::new(CACHE, AHEAD)),
            (ReadsSource::Archive(archive), SourceLocation::Bucket(listing)) => {
                let bucket = ArchiveObjects::start(listing.clone());
                let bucket = bucket.map_err(|failed| io::Error::new(failed.kind, failed.why))?;
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                let archive =
                    archive.with_objects(Box::new(bucket)).with_decode_limit(cores.min(DECODING));
                ExportedReader::with_shared_cache(
                    Arc::new(archive),
                    TextCache::new(CACHE_FAR, AHEAD),
                )
            }
            (ReadsSource::Archive(archive), _) => {
                ExportedReader::with_shared_cache(Arc::new(archive), TextCache::new(CACHE, AHEAD))
            }
        };
        Ok(Arc::new(ExportedReads { source, reader, faces, lost: Mutex::default(), place, held }))
    }

    /// Whether its bytes come from a bucket.
    fn is_in_bucket(&self) -> bool {
        matches!(self.place, SourceLocation::Bucket(_))
    }

    /// What a file here stands for.
    fn exported_file(&self, number: u64) -> Option<&Arc<ExportedFile>> {
        self.faces.get(&number)
    }

    /// Gives an empty file the length that it is shown with, and as much space: of a file that
    /// takes none, tar(1) keeps no bytes.
    fn set_exported_length(&self, stat: &mut Statx) {
        if let Some(face) = self.exported_file(stat.stx_ino) {
            (stat.stx_size, stat.stx_blocks) = (face.len, face.len.div_ceil(BLOCK));
        }
    }

    /// Reads into `buffer` at `offset`; returns how much there was. The caller acts for itself.
    ///
    /// # Errors
    /// EIO: the archive is damaged there, or can't be read. ESTALE: its bucket has another one.
    fn read_decoded(
        &self,
        face: &ExportedFile,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<usize, Errno> {
        self.reader.read_at(face, offset, buffer).map_err(|error| {
            self.note_read_error(
                face,
                error::error_text(&error, self.place.folder(), &self.source),
            );
            if error.kind == Kind::Changed { Errno::STALE } else { Errno::IO }
        })
    }

    fn note_read_error(&self, face: &ExportedFile, why: String) {
        let mut lost = self.lost.lock();
        if lost.len() < MOST {
            lost.entry(face.name.clone()).or_insert(why);
        }
    }

    /// Nobody looks any more. Tells what went wrong.
    fn finish_and_report(&self) -> Vec<String> {
        if let Err(error) = self.held.remake_empty() {
            tracing::warn!("empty files stay in {}: {error}", self.held.tree_directory().display());
        }
        let lost = self.lost.lock();
        let Some((_, why)) = lost.first_key_value() else { return Vec::new() };
        let source = self.source.display();
        let names: Vec<&str> = lost.keys().take(NAMED).map(String::as_str).collect();
        let more = match lost.len().checked_sub(NAMED) {
            Some(more @ 1..) => format!(" and {more} more"),
            _ => String::new(),
        };
        let names = names.join(", ");
        let end = match self.place {
            SourceLocation::Files => "if the file is as it should be, attach it again".to_owned(),
            _ => format!("`forebay reads verify {source}` names all that is damaged"),
        };
        vec![format!(
            "bytes of {names}{more} could not be read from {source}: {why}; programs got errors \
             (EIO, of what was replaced ESTALE) in their place; {end}"
        )]
    }
}

#[cfg(test)]
mod tests;
