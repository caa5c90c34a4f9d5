//! Bringing bytes: by whoever reads them, and by threads that bring all of a file.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use rustix::io::Errno;

use super::super::file_blocks::{BlockTask, FileBlocks};
use super::super::placeholder;
use super::super::scan::FileStamp;
use super::super::tree_record::ContentLocation;
use super::{EvictedFiles, PART, Result};
use forebay_objstore::RequestError;

/// Bytes up to which all are waited for: one answer, which a second request may overtake.
const AT_ONCE: u64 = 1 << 20;
/// Threads that bring a whole file, and of all files.
const HANDS: usize = 8;
const ALL_HANDS: usize = 24;

impl EvictedFiles {
    pub(super) fn begin_filling(self: &Arc<Self>, body: &Arc<FileBlocks>) {
        if !body.begin_filling() {
            return;
        }
        let hands = HANDS.min(body.size.div_ceil(PART) as usize);
        for _ in 0..hands {
            if self.hands.fetch_add(1, Relaxed) >= ALL_HANDS {
                self.hands.fetch_sub(1, Relaxed);
                break;
            }
            let (this, filled) = (Arc::clone(self), Arc::clone(body));
            let work = move || {
                while let Some(range) = filled.claim_next_missing(PART) {
                    if this.fetch_range(&filled, range).is_err() {
                        break;
                    }
                }
                filled.end_filling();
                this.hands.fetch_sub(1, Relaxed);
            };
            if std::thread::Builder::new().name("forebay-fill".into()).spawn(work).is_err() {
                self.hands.fetch_sub(1, Relaxed);
                body.end_filling();
            }
        }
    }

    pub(super) fn ensure_present(
        &self,
        body: &FileBlocks,
        range: Range<u64>,
        most: u64,
    ) -> Result<()> {
        if body.is_whole() || range.is_empty() {
            return Ok(());
        }
        while let BlockTask::Bring(part) = body.claim_missing(&range, most) {
            self.fetch_range(body, part)?;
        }
        Ok(())
    }

    fn fetch_range(&self, body: &FileBlocks, range: Range<u64>) -> Result<()> {
        self.brought.fetch_add(range.end - range.start, Relaxed);
        let mut left = range;
        let brought = if left.end - left.start > AT_ONCE {
            self.stream_range(body, &mut left)
        } else {
            let put =
                |bytes: Bytes| body.write_arrived(&bytes, left.start).map_err(io::Error::from);
            self.request_range(body, &left).and_then(|bytes| put(bytes).map_err(RequestError::from))
        };
        body.settle_range(&left, brought.is_ok(), || self.mark_present(body))?;
        brought.map_err(|failed| {
            if let Some(behind) = self.behind() {
                let name = self.retired_path(body.ino).or_else(|| behind.display_path(body.ino));
                let name = name.unwrap_or_else(|| format!("file {}", body.ino));
                tracing::error!("bytes {left:?} of {name}: {failed}");
                return self.lost.note_failure(&name, &failed);
            }
            tracing::error!("bytes {left:?} of file {}: {failed}", body.ino);
            let away = self.known.lock().away.get(&body.ino).cloned();
            match away.map(|away| away.place) {
                Some(ContentLocation::Own { key, .. }) => self.lost.note_failure(&key, &failed),
                _ if failed.kind == io::ErrorKind::StorageFull => Errno::NOSPC,
                _ => Errno::IO,
            }
        })
    }

    /// All bytes are here: it is a file like any other.
    pub(super) fn mark_present(&self, body: &FileBlocks) -> Result<()> {
        let mut known = self.known.lock();
        if known.is_over {
            return Ok(());
        }
        placeholder::mark_present(&body.file, body.mtime)?;
        let stamp = FileStamp::from_file(body.file.as_fd())?;
        known.away.remove(&body.ino);
        known.came.push((body.ino, stamp));
        Ok(())
    }
}
