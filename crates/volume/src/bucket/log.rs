//! A volume's log in its bucket: segments in the order of their numbers, each written only if
//! nobody else has written that number. Whoever finds its number taken is no longer the writer, so
//! two machines never write one history.

mod history;
mod segment_reader;
mod sweep;

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::request::Bucket;
use super::segment::SegmentDraft;
use super::tree::VolumeTree;
use super::tree_record::TreeRecord;
use forebay_objstore::{ObjectMetadata, RequestError};
pub(crate) use history::History;
pub(in crate::bucket) use segment_reader::{SegmentReader, read_segment};

/// Where segments are, and checkpoints.
const LOG: &str = ".forebay/log";
const CHECKPOINTS: &str = ".forebay/checkpoint";

/// The log, at its end.
#[derive(Debug)]
pub(crate) struct Log {
    bucket: Arc<dyn Bucket>,
    at: Position,
    /// Tells our writes from everybody else's.
    me: String,
    /// Who began to write last, and with which segment.
    begun: Option<(u64, String)>,
    /// The tree that was read has all that is in segments below this one, and nothing of others.
    cut: u64,
}

/// How far a log is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The number of the next segment.
    pub(crate) next: u64,
    /// That of the newest checkpoint; 0: there is none.
    checkpoint: u64,
}

/// The name of a segment.
pub(crate) fn segment_key(number: u64) -> String {
    format!("{LOG}/{number:016x}")
}

fn checkpoint_key(number: u64) -> String {
    format!("{CHECKPOINTS}/{number:016x}")
}

impl Log {
    /// Reads what the bucket holds of a volume: the tree at its last cut. `me` is a text that no
    /// other writer has.
    ///
    /// # Errors
    /// Those of the bucket. `InvalidData`: a part of the log is damaged.
    pub(crate) fn open(
        bucket: Arc<dyn Bucket>,
        me: String,
    ) -> Result<(Log, VolumeTree), RequestError> {
        let mut reader = SegmentReader::default();
        let (at, _) = reader.catch_up(&*bucket)?;
        // By now they may be somebody else's.
        reader.tree.unused.clear();
        Ok((Log { bucket, at, me, begun: reader.begun, cut: reader.cut }, reader.tree))
    }

    /// The same log, which was read to its end, through another client.
    pub(crate) fn resume_at(bucket: Arc<dyn Bucket>, at: Position, me: String) -> Log {
        Log { bucket, at, me, begun: None, cut: at.next }
    }

    /// How far it is.
    pub(crate) fn position(&self) -> Position {
        self.at
    }

    /// Who began to write last, in their words, and with which segment: as far as it was read.
    pub(crate) fn last_writer(&self) -> Option<(u64, &str)> {
        self.begun.as_ref().map(|(number, who)| (*number, who.as_str()))
    }

    /// The last cut that was read is in the segment before this one, or in none.
    pub(crate) fn commit_end(&self) -> u64 {
        self.cut
    }

    /// The number that the next segment has: what is drafted may speak of it.
    pub(crate) fn next_segment(&self) -> u64 {
        self.at.next
    }

    /// Whether nobody else has gone on with it.
    ///
    /// # Errors
    /// Those of the bucket.
    pub(crate) fn is_at_end(&self) -> Result<bool, RequestError> {
        Ok(self.bucket.head_object(&segment_key(self.at.next))?.is_none())
    }

    /// Writes a segment.
    ///
    /// # Errors
    /// Those of the bucket, and the segment may be tried again. `AlreadyExists`: somebody else
    /// writes this log now.
    pub(crate) fn write_segment(&mut self, bytes: Bytes) -> Result<(), RequestError> {
        let tag = format!("{} {}", self.me, self.at.next);
        self.bucket.put_if_absent(&segment_key(self.at.next), bytes, &tag)?;
        self.at.next += 1;
        Ok(())
    }

    /// Becomes the writer, by a segment that says so.
    ///
    /// # Errors
    /// As `write_segment`.
    pub(crate) fn begin_as_writer(&mut self, who: &str) -> Result<(), RequestError> {
        let mut draft = SegmentDraft::default();
        draft.append_record(&TreeRecord::Begin { who });
        let bytes = draft.encode_segment(self.at.next);
        self.write_segment(bytes.into())
    }

    /// Writes what all segments so far come to, so that nobody has to read their records again.
    ///
    /// # Errors
    /// Those of the bucket.
    pub(crate) fn write_checkpoint(&mut self, tree: &VolumeTree) -> Result<(), RequestError> {
        let next = self.at.next;
        let mut draft = SegmentDraft::default();
        // Who comes later wants to know whether it was somebody else.
        draft.append_record(&TreeRecord::Begin { who: &self.me });
        tree.for_each_record(|record| draft.append_record(record));
        let tag = format!("{} checkpoint {next}", self.me);
        let bytes = Bytes::from(draft.encode_segment(next));
        match self.bucket.put_if_absent(&checkpoint_key(next), bytes, &tag) {
            Err(failed) if failed.kind == io::ErrorKind::AlreadyExists => {}
            done => done?,
        }
        self.at.checkpoint = next;
        Ok(())
    }
}

/// The number of the newest checkpoint.
///
/// # Errors
/// Those of the bucket.
pub(crate) fn newest_checkpoint(bucket: &dyn Bucket) -> Result<Option<u64>, RequestError> {
    Ok(list_numbered_objects(bucket, CHECKPOINTS)?.pop().map(|(number, _)| number))
}

/// Numbers and sizes of the objects in a folder, in order.
fn list_numbered_objects(
    bucket: &dyn Bucket,
    folder: &str,
) -> Result<Vec<(u64, u64)>, RequestError> {
    let number = |found: ObjectMetadata| {
        let digits = found.name.rsplit('/').next()?.to_owned();
        let whole = digits.len() == 16;
        Some((u64::from_str_radix(&digits, 16).ok().filter(|_| whole)?, found.size))
    };
    let mut all: Vec<_> = bucket.list_objects(folder)?.into_iter().filter_map(number).collect();
    all.sort_unstable();
    Ok(all)
}

#[cfg(test)]
mod tests;
