//! The journal of a local tree: frames, one after the other, each whole or not there.

use std::fs::File;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::super::scan::{FileStamp, ScanUpdates};

/// A part of the journal: what was learnt when the log came to `next`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Frame {
    pub(super) next: u64,
    /// All that is here is in the bucket.
    pub(super) clean: bool,
    pub(super) numbers: Vec<(u64, (u64, i128))>,
    pub(super) stamps: Vec<(u64, FileStamp)>,
}

/// Appends to the journal.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    /// Bytes of whole frames.
    length: u64,
    /// What could not be noted: it comes with the next frame.
    left: ScanUpdates,
}

impl Journal {
    /// Goes on where a file of whole frames ends.
    pub(super) fn for_file(file: File, length: u64) -> Journal {
        Journal { file, length, left: ScanUpdates::default() }
    }

    /// Notes what was learnt, up to segment `next` of the log.
    ///
    /// # Errors
    /// Those of the file system: it is noted the next time, or, after the next start, files are
    /// brought to the bucket again.
    pub(crate) fn append_frame(
        &mut self,
        next: u64,
        clean: bool,
        learnt: ScanUpdates,
    ) -> io::Result<()> {
        let ScanUpdates { mut numbers, mut stamps } = std::mem::take(&mut self.left);
        numbers.extend(learnt.numbers);
        stamps.extend(learnt.stamps);
        let (mut bytes, whole) = (Vec::new(), Frame { next, clean, numbers, stamps });
        encode_frame(&mut bytes, &whole)?;
        if let Err(error) = self.file.write_all(&bytes) {
            // Or nothing that comes after half a frame would be read.
            self.file.set_len(self.length)?;
            self.left = ScanUpdates { numbers: whole.numbers, stamps: whole.stamps };
            return Err(error);
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// All that was noted is on the disk from now on.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn sync_to_disk(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Whether it has been noted which file here that one of the bucket's is.
    pub(crate) fn has_noted(&self, ino: u64) -> bool {
        self.left.numbers.iter().all(|(left, _)| *left != ino)
    }
}

pub(super) fn encode_frame(to: &mut Vec<u8>, frame: &Frame) -> io::Result<()> {
    let frame = postcard::to_stdvec(frame).map_err(io::Error::other)?;
    to.extend_from_slice(&(frame.len() as u32).to_le_bytes());
    to.extend_from_slice(&crc32fast::hash(&frame).to_le_bytes());
    to.extend_from_slice(&frame);
    Ok(())
}
