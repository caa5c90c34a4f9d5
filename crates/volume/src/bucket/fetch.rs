//! Bytes of files, from the bucket: whole small ones with their neighbours in the segment, which
//! were written together and are read together; parts of large ones.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::log::segment_key;
use super::request::Bucket;
use super::segment::{HEADER, SegmentHeader};
use super::tree_record::ContentLocation;
use forebay_objstore::RequestError;

/// Bytes of segments that are kept in memory.
const KEPT: u64 = 64 << 20;
/// A gap between two files up to which they are asked for together: what 20 ms would carry.
const WINDOW: u64 = 1 << 20;

/// Asks for bytes, and keeps some.
#[derive(Debug)]
pub(crate) struct ContentFetcher {
    bucket: Arc<dyn Bucket>,
    /// Where the data of each segment begin, and how long they are.
    heads: Mutex<FxHashMap<u64, SegmentHeader>>,
    windows: Mutex<Windows>,
}

/// Parts of segments, the one that was used last at the end.
#[derive(Debug, Default)]
struct Windows(Vec<(u64, Range<u64>, Bytes)>);

impl Windows {
    fn lookup_cached(&mut self, segment: u64, part: &Range<u64>) -> Option<Bytes> {
        let holds = |(number, range, _): &(u64, Range<u64>, Bytes)| {
            *number == segment && range.start <= part.start && part.end <= range.end
        };
        let at = self.0.iter().rposition(holds)?;
        let found = self.0.remove(at);
        let start = (part.start - found.1.start) as usize;
        let bytes = found.2.slice(start..start + (part.end - part.start) as usize);
        self.0.push(found);
        Some(bytes)
    }

    fn cache_window(&mut self, segment: u64, range: Range<u64>, bytes: Bytes) {
        self.0.push((segment, range, bytes));
        let mut all: u64 = self.0.iter().map(|(_, range, _)| range.end - range.start).sum();
        while all > KEPT && self.0.len() > 1 {
            let (_, range, _) = self.0.remove(0);
            all -= range.end - range.start;
        }
    }
}

impl ContentFetcher {
    pub(crate) fn new(bucket: Arc<dyn Bucket>) -> ContentFetcher {
        ContentFetcher { bucket, heads: Mutex::default(), windows: Mutex::default() }
    }

    /// The bytes of a small file.
    ///
    /// # Errors
    /// Those of the bucket. `InvalidData`: they are not what was written.
    pub(crate) fn read_packed(&self, place: &ContentLocation) -> Result<Bytes, RequestError> {
        let ContentLocation::Packed { segment: number, at, length, crc } = *place else {
            return Ok(Bytes::new());
        };
        let part = at..at + u64::from(length);
        let is_right = |bytes: &[u8]| crc32fast::hash(bytes) == crc;
        if let Some(bytes) = self.windows.lock().lookup_cached(number, &part)
            && is_right(&bytes)
        {
            return Ok(bytes);
        }
        let head = self.segment_head(number)?;
        let start = at / WINDOW * WINDOW;
        let window = start..part.end.max(start + WINDOW).min(head.data);
        let wrong = |why: &str| RequestError {
            kind: io::ErrorKind::InvalidData,
            why: format!("{}: {why}", segment_key(number)),
        };
        if part.end > window.end {
            return Err(wrong("it is shorter than the log says"));
        }
        let inner = (part.start - window.start) as usize..(part.end - window.start) as usize;
        let whole = window.start + head.data_offset()..window.end + head.data_offset();
        let right = |bytes: &[u8]| bytes.get(inner.clone()).is_some_and(is_right);
        let bytes = self.bucket.get_range(&segment_key(number), whole, &right)?;
        self.windows.lock().cache_window(number, window, bytes.clone());
        Ok(bytes.slice(inner))
    }

    /// Bytes of files in a segment, also of those that are no more.
    ///
    /// # Errors
    /// As `read_packed`.
    pub(crate) fn segment_data_length(&self, number: u64) -> Result<u64, RequestError> {
        Ok(self.segment_head(number)?.data)
    }

    fn segment_head(&self, number: u64) -> Result<SegmentHeader, RequestError> {
        if let Some(head) = self.heads.lock().get(&number) {
            return Ok(*head);
        }
        let is_right = |bytes: &[u8]| SegmentHeader::parse(bytes).is_ok();
        let start = self.bucket.get_range(&segment_key(number), 0..HEADER as u64, &is_right)?;
        let head = SegmentHeader::parse(&start).map_err(|_| RequestError {
            kind: io::ErrorKind::InvalidData,
            why: format!("{}: it is damaged", segment_key(number)),
        })?;
        self.heads.lock().insert(number, head);
        Ok(head)
    }
}
