//! Long parts of a file: written down as they come, and given to readers block by block, each of
//! which has been looked at.

use std::io;
use std::ops::Range;

use bytes::Bytes;
use rustix::io::Errno;

use super::super::block_checksums::block_checksum;
use super::super::file_blocks::{BLOCK, FileBlocks};
use super::super::request::get_version_or_any;
use super::super::tree_record::ContentLocation;
use super::EvictedFiles;
use forebay_objstore::RequestError;

/// How often wrong bytes are asked for again at once.
const AGAIN: u32 = 3;

/// A part of a file on its way.
struct ArrivingRange<'a> {
    bodies: &'a EvictedFiles,
    body: &'a FileBlocks,
    sums: Option<Bytes>,
    /// Where the next byte belongs.
    at: u64,
    /// The end of the part.
    end: u64,
    /// Up to here readers have it.
    settled: u64,
    /// The block that is coming.
    block: crc32fast::Hasher,
    /// What this machine's file system says.
    local: Option<Errno>,
}

impl EvictedFiles {
    /// Brings these bytes; of `left` what has not come is left.
    ///
    /// # Errors
    /// Those of the bucket, and of this machine's file system.
    pub(super) fn stream_range(
        &self,
        body: &FileBlocks,
        left: &mut Range<u64>,
    ) -> Result<(), RequestError> {
        self.retry_patiently(|| {
            let mut asked = self.stream_range_once(body, left);
            for _ in 0..AGAIN {
                match &asked {
                    Err(failed) if failed.kind == io::ErrorKind::InvalidData => {}
                    _ => break,
                }
                asked = self.stream_range_once(body, left);
            }
            asked
        })?
        .map_err(|local| io::Error::from(local).into())
    }

    fn stream_range_once(
        &self,
        body: &FileBlocks,
        left: &mut Range<u64>,
    ) -> Result<Result<(), Errno>, RequestError> {
        self.with_current_place(body, |away| {
            let mut arriving = ArrivingRange {
                bodies: self,
                body,
                sums: self.object_checksums(body, away)?,
                at: left.start,
                end: left.end,
                settled: left.start,
                block: crc32fast::Hasher::new(),
                local: None,
            };
            let asked = match &away.place {
                ContentLocation::Own { key, version, .. } => {
                    let has_sums = arriving.sums.is_some();
                    let mut take = |bytes: Bytes| arriving.accept_bytes(&bytes);
                    get_version_or_any(version.as_deref(), has_sums, |version| {
                        self.bucket.stream_range(key, version, left.clone(), &mut take)
                    })
                }
                // It had an object when its first parts were asked for.
                _ => self
                    .read_from_segment(away, left)
                    .and_then(|bytes| arriving.accept_bytes(&bytes)),
            };
            left.start = arriving.settled;
            match arriving.local {
                Some(local) => Ok(Err(local)),
                None => asked.map(Ok),
            }
        })
    }
}

impl ArrivingRange<'_> {
    fn accept_bytes(&mut self, bytes: &[u8]) -> Result<(), RequestError> {
        let stopped = |this: &mut Self, errno: Errno| {
            this.local = Some(errno);
            RequestError::from(io::Error::from(errno))
        };
        self.body.write_arrived(bytes, self.at).map_err(|errno| stopped(self, errno))?;
        let mut rest = bytes;
        let mut right = self.settled;
        while !rest.is_empty() {
            let block_end = (self.at / BLOCK * BLOCK + BLOCK).min(self.end);
            let (now, later) = rest.split_at(((block_end - self.at) as usize).min(rest.len()));
            if self.sums.is_some() {
                self.block.update(now);
            }
            self.at += now.len() as u64;
            if self.at == block_end {
                if let Err(failed) = self.verify_block((block_end - 1) / BLOCK) {
                    self.release_to_readers(right).map_err(|errno| stopped(self, errno))?;
                    return Err(failed);
                }
                right = block_end;
            }
            rest = later;
        }
        self.release_to_readers(right).map_err(|errno| stopped(self, errno))
    }

    /// Whether all of a block came as it was written.
    fn verify_block(&mut self, number: u64) -> Result<(), RequestError> {
        let came = std::mem::take(&mut self.block).finalize();
        match &self.sums {
            Some(sums) if block_checksum(sums, number) != Some(came) => {
                let why =
                    format!("block {number} of file {} is not what was written", self.body.ino);
                Err(RequestError { kind: io::ErrorKind::InvalidData, why })
            }
            _ => Ok(()),
        }
    }

    /// Readers may have all up to here.
    fn release_to_readers(&mut self, right: u64) -> Result<(), Errno> {
        if right > self.settled {
            let came = self.settled..right;
            self.settled = right;
            self.body.settle_range(&came, true, || self.bodies.mark_present(self.body))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
