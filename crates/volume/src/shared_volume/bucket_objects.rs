//! Objects of a shared volume's long files, in its bucket.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use forebay_objstore::{BucketClient, PutCondition, RequestError};
use forebay_sharing::ObjectStore;
use parking_lot::Mutex;

/// Bytes that one request asks for: programs read on, mostly.
const PART: u64 = 4 << 20;
/// Parts that are kept in memory.
const PARTS_KEPT: usize = 16;

/// A part of an object: filled by who asks first, while others wait.
type Part = Arc<Mutex<Option<Bytes>>>;

/// The objects below a shared volume's prefix.
#[derive(Debug)]
pub(super) struct BucketObjects {
    bucket: BucketClient,
    /// By object and number of the part, the one that was read last at the end.
    parts: Mutex<VecDeque<((String, u64), Part)>>,
}

impl BucketObjects {
    pub(super) fn new(bucket: BucketClient) -> BucketObjects {
        BucketObjects { bucket, parts: Mutex::default() }
    }

    fn part(&self, object: &str, number: u64) -> Part {
        let mut parts = self.parts.lock();
        let known = parts.iter().position(|((name, at), _)| name == object && *at == number);
        let found = known.and_then(|at| parts.remove(at));
        let found = found.unwrap_or_else(|| ((object.to_owned(), number), Part::default()));
        let part = Arc::clone(&found.1);
        parts.push_back(found);
        if parts.len() > PARTS_KEPT {
            parts.pop_front();
        }
        part
    }

    fn read_part(&self, object: &str, size: u64, number: u64) -> io::Result<Bytes> {
        let part = self.part(object, number);
        let mut part = part.lock();
        if let Some(bytes) = &*part {
            return Ok(bytes.clone());
        }
        let start = number * PART;
        let wanted = start..size.min(start + PART);
        let bytes = self.bucket.get(object, wanted).map_err(as_io_error)?;
        *part = Some(bytes.clone());
        Ok(bytes)
    }
}

fn as_io_error(failed: RequestError) -> io::Error {
    io::Error::new(failed.kind, failed.why)
}

impl ObjectStore for BucketObjects {
    fn write(&self, object: &str, size: u64, bytes: &File) -> io::Result<()> {
        let mut at = 0;
        let mut next = |into: &mut [u8]| {
            let read = bytes.read_at(into, at)?;
            at += read as u64;
            Ok(read)
        };
        let when = PutCondition::Always;
        let written = self.bucket.upload(object, object, size, when, &mut next);
        written.map(drop).map_err(as_io_error)
    }

    fn read(&self, object: &str, size: u64, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let end = size.min(offset.saturating_add(length as u64));
        let mut read = Vec::with_capacity(usize::try_from(end.saturating_sub(offset)).unwrap_or(0));
        let mut at = offset;
        while at < end {
            let part = self.read_part(object, size, at / PART)?;
            let from = (at % PART) as usize;
            let to = part.len().min(from + (end - at) as usize);
            let piece = part.get(from..to).filter(|piece| !piece.is_empty());
            let piece = piece.ok_or(io::ErrorKind::UnexpectedEof)?;
            read.extend_from_slice(piece);
            at += piece.len() as u64;
        }
        Ok(read)
    }

    fn remove(&self, object: &str) -> io::Result<()> {
        self.bucket.delete(object).map_err(as_io_error)
    }
}
