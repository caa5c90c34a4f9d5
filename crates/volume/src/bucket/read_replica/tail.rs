//! The end of a log that somebody else writes: what has come is taken in, and what it touches is
//! noted. One request tells that nothing has.

use std::io::ErrorKind;

use super::super::log::{SegmentReader, newest_checkpoint, read_segment, segment_key};
use super::super::request::Bucket;
use super::super::tree::VolumeTree;
use super::BucketError;
use super::touched::TouchedEntries;
use forebay_objstore::RequestError;

/// Looks of which one asks for checkpoints, too: a writer removes segments that it needs no more, and
/// who was away so long would wait for the next one for ever.
const SURE: u32 = 12;
/// Segments of one look after which others may be gone already: those that files need stay longer.
const MANY: u32 = 16;
/// How often a log is read from its newest checkpoint on when parts of it go meanwhile.
const AGAIN: u32 = 5;

#[derive(Debug)]
pub(super) struct Tail {
    reader: SegmentReader,
    next: u64,
    looks: u32,
    /// Segments may have gone unread.
    is_unsure: bool,
    pub(super) touched: TouchedEntries,
}

impl Tail {
    /// Reads all that there is.
    ///
    /// # Errors
    /// Those of the bucket; `NoVolume`: there is none in it.
    pub(super) fn open_at_end(bucket: &dyn Bucket) -> Result<Tail, BucketError> {
        let (reader, next) = read_newest_log(bucket)?;
        if next == 0 {
            let first = bucket.list_objects("")?.into_iter().next();
            return Err(BucketError::NoVolume(first.map(|found| found.name)));
        }
        let touched = TouchedEntries::default();
        Ok(Tail { reader, next, looks: 0, is_unsure: false, touched })
    }

    /// The tree at its last cut.
    pub(super) fn tree(&self) -> &VolumeTree {
        &self.reader.tree
    }

    /// Looks for what has come since; what it touches is noted, also before an error. With
    /// `is_missing` somebody has missed something: it looks more closely.
    ///
    /// # Errors
    /// Those of the bucket: the next look goes on where this one was. `InvalidData`: a segment is
    /// damaged.
    pub(super) fn poll_log(
        &mut self,
        bucket: &dyn Bucket,
        is_missing: bool,
    ) -> Result<(), RequestError> {
        self.looks += 1;
        let ask = self.is_unsure || is_missing || self.looks.is_multiple_of(SURE);
        let looked = match self.read_new_segments(bucket) {
            Ok(came) if ask || came >= MANY => self.catch_up(bucket),
            Ok(_) => Ok(()),
            // A checkpoint may say what it said.
            Err(failed) if failed.kind == ErrorKind::InvalidData => {
                let next = self.next;
                self.catch_up(bucket).and(if self.next > next { Ok(()) } else { Err(failed) })
            }
            Err(failed) => Err(failed),
        };
        // Nobody else removes objects of files.
        self.reader.tree.unused.clear();
        self.touched.ended.extend(self.reader.tree.ended.replace(Vec::new()).unwrap_or_default());
        self.is_unsure = looked.is_err();
        looked
    }

    /// Takes in the segments that follow; tells how many there were.
    fn read_new_segments(&mut self, bucket: &dyn Bucket) -> Result<u32, RequestError> {
        let mut came = 0;
        loop {
            let name = segment_key(self.next);
            let Some(found) = bucket.head_object(&name)? else { return Ok(came) };
            let part = read_segment(bucket, &name, found.size)?;
            let touched = &mut self.touched;
            self.reader.apply_segment_observed(part, &mut |tree, record| {
                touched.note_record(tree, record)
            })?;
            self.next += 1;
            came += 1;
        }
    }

    /// If it fell behind, what it has is compared with what the newest checkpoint leads to.
    fn catch_up(&mut self, bucket: &dyn Bucket) -> Result<(), RequestError> {
        if newest_checkpoint(bucket)? <= Some(self.next) {
            return Ok(());
        }
        tracing::info!("segment {:x} of the log is gone: it is read anew", self.next);
        let (reader, next) = read_newest_log(bucket)?;
        self.touched.note_differences(&self.reader.tree, &reader.tree);
        // Segments that were waiting for a cut are in what was read.
        (self.reader, self.next) = (reader, next);
        Ok(())
    }
}

/// All that there is, while its writer goes on and removes what it does not need.
fn read_newest_log(bucket: &dyn Bucket) -> Result<(SegmentReader, u64), RequestError> {
    let mut tries = 1;
    loop {
        let mut reader = SegmentReader::default();
        match reader.catch_up(bucket) {
            Ok((_, false)) if tries < AGAIN => {}
            Err(failed) if failed.kind == ErrorKind::NotFound && tries < AGAIN => {}
            done => {
                let (at, _) = done?;
                reader.tree.ended = Some(Vec::new());
                reader.tree.unused.clear();
                return Ok((reader, at.next));
            }
        }
        tries += 1;
    }
}
