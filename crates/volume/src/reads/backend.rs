//! Files of reads beside the directory of empty ones that stands for them: no descriptor has their
//! bytes, which are decoded as they are read. All else of them (names, owner, mode, times, locks) is
//! that of an empty file.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use forebay_reads::ExportedFile;
use rustix::fs::Statx;
use rustix::io::Errno;

use super::ExportedReads;
use crate::backend::{Backend, ContentSource, Result};
use forebay_os::file_identity::FileIdentity;

/// Threads at most, where bytes come from a bucket and wait for it.
const THREADS_FAR: usize = 64;

/// One file, as long as it is open.
#[derive(Debug)]
struct DecodedSource {
    shown: Arc<ExportedReads>,
    face: Arc<ExportedFile>,
}

impl ContentSource for DecodedSource {
    fn is_complete(&self) -> bool {
        false
    }

    fn own_length(&self) -> Option<u64> {
        Some(self.face.len)
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.shown.read_decoded(&self.face, offset, buffer)
    }

    fn fetch_range(&self, _offset: u64, _length: u64) -> Result<()> {
        Err(Errno::XDEV)
    }

    fn fetch_all(&self) -> Result<()> {
        Err(Errno::XDEV)
    }
}

impl Backend for ExportedReads {
    fn thread_counts(&self, usual: usize) -> (usize, usize) {
        (usual, if self.is_in_bucket() { THREADS_FAR } else { usual })
    }

    fn open_source(
        self: Arc<Self>,
        file: &FileIdentity,
        _descriptor: BorrowedFd<'_>,
    ) -> Result<Option<Arc<dyn ContentSource>>> {
        let Some(face) = self.exported_file(file.inode).cloned() else { return Ok(None) };
        Ok(Some(Arc::new(DecodedSource { shown: self, face })))
    }

    fn apply_length(&self, stat: &mut Statx) {
        self.set_exported_length(stat);
    }

    fn finish_serving(&self) -> Vec<String> {
        self.finish_and_report()
    }
}
