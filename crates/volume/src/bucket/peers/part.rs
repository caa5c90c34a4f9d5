//! A part of an object on this machine's disk, which others read while it still comes.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};

use super::super::block_checksums::{BlockChecksummer, matches_checksums};
use super::super::file_blocks::BLOCK;
use super::super::request::ReadParts;
use super::part_id::{PART, PartId};
use forebay_objstore::RequestError;

/// Bytes that are handed over at once: some blocks.
const CHUNK: u64 = 4 * BLOCK;
/// How often a fetch that is cut off goes on at once.
const AGAIN: u32 = 2;
/// For how long bytes that are on their way are waited for: longer than the client of the bucket
/// tries.
const LONGEST: Duration = Duration::from_secs(120);

/// A part that is here, or comes.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) path: PathBuf,
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    /// Bytes of the part, once the bucket has said how long the object is.
    length: Option<u64>,
    /// Up to here they are in the file.
    filled: u64,
    end: Option<Result<Arc<[u8]>, FetchFailure>>,
}

/// Why a part did not come.
#[derive(Debug, Clone)]
struct FetchFailure {
    kind: ErrorKind,
    why: String,
}

impl Part {
    pub(super) fn new(path: PathBuf) -> Part {
        Part { path, progress: Mutex::default(), changed: Condvar::new() }
    }

    /// All of it is here.
    pub(super) fn is_complete(&self) -> bool {
        matches!(self.progress.lock().end, Some(Ok(_)))
    }

    /// Brings it from its bucket, where the object has this name; tells how many bytes it has.
    ///
    /// # Errors
    /// Those of the bucket, and of this machine's disk; readers get the same.
    pub(super) fn fetch_from(
        &self,
        file: &File,
        bucket: &dyn ReadParts,
        name: &str,
        id: &PartId,
    ) -> Result<u64, RequestError> {
        let (start, mut sums) = (id.start(), BlockChecksummer::default());
        let mut at = 0;
        let mut begin = |size: u64| {
            self.progress.lock().length = Some(size.saturating_sub(start).min(PART));
            self.changed.notify_all();
        };
        let mut take = |bytes: Bytes| {
            file.write_all_at(&bytes, at)?;
            sums.add_bytes(&bytes);
            at += bytes.len() as u64;
            self.progress.lock().filled = at;
            self.changed.notify_all();
            Ok(())
        };
        let mut ask = || {
            let from = start + self.progress.lock().filled;
            bucket.stream_up_to(name, &id.version, from..start + PART, &mut begin, &mut take)
        };
        let mut came = ask();
        // Whoever waits for it waits a little longer, and none of them has to ask the bucket.
        for _ in 0..AGAIN {
            match &came {
                Err(failed) if !failed.is_lasting() && failed.kind != ErrorKind::StorageFull => {}
                _ => break,
            }
            came = ask();
        }
        let mut progress = self.progress.lock();
        progress.end = Some(match &came {
            Ok(()) => Ok(sums.into_checksums().into()),
            Err(failed) => Err(FetchFailure { kind: failed.kind, why: failed.why.clone() }),
        });
        self.changed.notify_all();
        came.map(|()| progress.filled)
    }

    /// It will not come, if it has not.
    pub(super) fn give_up(&self, why: &str) {
        let failed = || FetchFailure { kind: ErrorKind::Other, why: why.to_owned() };
        self.progress.lock().end.get_or_insert_with(|| Err(failed()));
        self.changed.notify_all();
    }

    /// How many bytes it has, as soon as that is known.
    ///
    /// # Errors
    /// Why it does not come.
    pub(super) fn wait_for_length(&self) -> Result<u64, RequestError> {
        self.wait_until(|progress| progress.length)
    }

    fn wait_until<T>(
        &self,
        mut look: impl FnMut(&Progress) -> Option<T>,
    ) -> Result<T, RequestError> {
        let mut progress = self.progress.lock();
        loop {
            if let Some(found) = look(&progress) {
                return Ok(found);
            }
            match &progress.end {
                Some(Err(failed)) => {
                    return Err(RequestError { kind: failed.kind, why: failed.why.clone() });
                }
                Some(Ok(_)) => {
                    let why = "it is shorter than was thought".to_owned();
                    return Err(RequestError { kind: ErrorKind::InvalidInput, why });
                }
                None => {}
            }
            if self.changed.wait_for(&mut progress, LONGEST).timed_out() {
                let why = format!("the bucket sent nothing for {LONGEST:?}");
                return Err(RequestError { kind: ErrorKind::TimedOut, why });
            }
        }
    }
}

/// Reads a part; as long as it is there the part stays.
#[derive(Debug)]
pub(super) struct PartReader {
    part: Arc<Part>,
    file: File,
}

impl PartReader {
    /// Of a part whose file is there.
    pub(super) fn open(part: Arc<Part>) -> io::Result<PartReader> {
        let file = File::open(Path::new(&part.path))?;
        Ok(PartReader { part, file })
    }

    /// How many bytes the part has.
    ///
    /// # Errors
    /// Why it does not come.
    pub(super) fn length(&self) -> Result<u64, RequestError> {
        self.part.wait_for_length()
    }

    /// Waits until all of it is here.
    ///
    /// # Errors
    /// Why it does not come.
    pub(super) fn wait_until_complete(&self) -> Result<(), RequestError> {
        self.part.wait_until(|progress| matches!(progress.end, Some(Ok(_))).then_some(()))
    }

    /// Some bytes from the start of a range within the part, once they are here; the range begins
    /// with a block, and ends with one or with the part.
    ///
    /// # Errors
    /// Why they don't come. `InvalidData`: the disk gives others than were written.
    pub(super) fn read_some(&self, range: &Range<u64>) -> Result<Bytes, RequestError> {
        let (end, sums) = self.part.wait_until(|progress| {
            let (ready, sums) = match &progress.end {
                Some(Ok(sums)) => (progress.filled, Some(Arc::clone(sums))),
                _ => (progress.filled / BLOCK * BLOCK, None),
            };
            (ready > range.start).then_some((ready, sums))
        })?;
        let some = range.start..range.end.min(end).min(range.start + CHUNK);
        let mut bytes = vec![0; (some.end - some.start) as usize];
        self.file.read_exact_at(&mut bytes, some.start)?;
        // What has just been written is in memory; what was kept may have been on the disk.
        if sums.is_some_and(|sums| !matches_checksums(&sums, &some, &bytes)) {
            let why = format!("{} is not what was written", self.part.path.display());
            return Err(RequestError { kind: ErrorKind::InvalidData, why });
        }
        Ok(bytes.into())
    }
}
