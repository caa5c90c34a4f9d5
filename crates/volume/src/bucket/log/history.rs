//! Reading a log of which parts may be damaged or missing: as far as it goes, and what is wrong with
//! the rest.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use bytes::Bytes;

use super::super::request::Bucket;
use super::super::segment::{SegmentError, SegmentHeader};
use super::super::tree::VolumeTree;
use super::segment_reader::{SegmentReader, read_segment};
use super::sweep::{KEPT, find_unneeded};
use super::{checkpoint_key, segment_key};
use forebay_objstore::{ObjectMetadata, RequestError};

/// What can be read of a log.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Sizes of what is there, by number.
    pub(crate) segments: BTreeMap<u64, u64>,
    checkpoints: BTreeMap<u64, u64>,
    /// The tree at the last cut that can be read.
    pub(crate) tree: VolumeTree,
    /// Nothing of what follows is in the tree.
    pub(crate) next: u64,
    /// The tree is that of the last cut that was made.
    pub(crate) is_whole: bool,
    /// Objects of the log that are damaged or missing, and why.
    pub(crate) damage: Vec<(String, String)>,
    /// The newest checkpoints that are kept read well; this is the first of them.
    floor: Option<u64>,
}

impl History {
    /// Reads the log of which these objects are there.
    ///
    /// # Errors
    /// Those of the bucket; damage is none.
    pub(crate) fn read_from_bucket(
        bucket: &dyn Bucket,
        all: &[ObjectMetadata],
    ) -> Result<History, RequestError> {
        let numbered = |name_of: fn(u64) -> String| {
            let number = |found: &ObjectMetadata| {
                let digits = found.name.rsplit('/').next()?;
                let number = u64::from_str_radix(digits, 16).ok()?;
                (name_of(number) == found.name).then_some((number, found.size))
            };
            all.iter().filter_map(number).collect::<BTreeMap<_, _>>()
        };
        let (segments, checkpoints) = (numbered(segment_key), numbered(checkpoint_key));
        let mut history = History { segments, checkpoints, ..History::default() };
        let mut reader = SegmentReader::default();
        let begun = history.read_newest_checkpoint(bucket, &mut reader)?;
        history.read_following_segments(bucket, &mut reader, begun)?;
        history.tree = reader.tree;
        Ok(history)
    }

    /// Whether there is any.
    pub(crate) fn has_objects(&self) -> bool {
        !self.segments.is_empty() || !self.checkpoints.is_empty()
    }

    /// The newest checkpoint that can be read, and whether those that are kept can.
    fn read_newest_checkpoint(
        &mut self,
        bucket: &dyn Bucket,
        reader: &mut SegmentReader,
    ) -> Result<Option<u64>, RequestError> {
        let mut begun = None;
        for (place, (number, size)) in self.checkpoints.clone().into_iter().rev().enumerate() {
            if place >= KEPT && begun.is_some() {
                break;
            }
            let Some(part) =
                self.read_log_object(bucket, checkpoint_key(number), (number, size))?
            else {
                continue;
            };
            if begun.is_none() {
                reader.apply_segment(part)?;
                begun = Some(number);
            }
            if place + 1 == KEPT && self.damage.is_empty() {
                self.floor = Some(number);
            }
        }
        Ok(begun)
    }

    /// The segments that follow.
    fn read_following_segments(
        &mut self,
        bucket: &dyn Bucket,
        reader: &mut SegmentReader,
        begun: Option<u64>,
    ) -> Result<(), RequestError> {
        self.next = begun.unwrap_or(0);
        let last = self.segments.keys().last().map(|last| last + 1);
        let end = last.max(self.checkpoints.keys().last().copied()).unwrap_or(0);
        while self.next < end {
            let name = segment_key(self.next);
            let Some(size) = self.segments.get(&self.next).copied() else {
                self.damage.push((name, "it is missing".to_owned()));
                return Ok(());
            };
            let Some(part) = self.read_log_object(bucket, name, (self.next, size))? else {
                return Ok(());
            };
            reader.apply_segment(part)?;
            self.next += 1;
        }
        self.is_whole = true;
        Ok(())
    }

    /// Reads one object of the log; `None`: it is damaged, which is noted.
    fn read_log_object(
        &mut self,
        bucket: &dyn Bucket,
        name: String,
        (number, size): (u64, u64),
    ) -> Result<Option<(SegmentHeader, Bytes)>, RequestError> {
        let (head, records) = match read_segment(bucket, &name, size) {
            Err(failed) if matches!(failed.kind, ErrorKind::InvalidData | ErrorKind::NotFound) => {
                let why = failed.why.strip_prefix(&format!("{name}: ")).unwrap_or(&failed.why);
                self.damage.push((name, why.to_owned()));
                return Ok(None);
            }
            part => part?,
        };
        let why = match head.for_each_record(&records, |_| {}) {
            Err(damage @ SegmentError::Unfit(_)) => damage.to_string(),
            Ok(()) if head.number == number => return Ok(Some((head, records))),
            _ => "it is not what was written under this name".to_owned(),
        };
        self.damage.push((name, why));
        Ok(None)
    }

    /// What nothing needs. Nothing, unless all of the log reads well.
    ///
    /// # Errors
    /// Those of the bucket.
    pub(crate) fn find_unneeded(
        &self,
        bucket: &dyn Bucket,
        is_live: impl Fn(u64) -> bool,
    ) -> Result<Vec<(String, u64)>, RequestError> {
        match self.floor.filter(|_| self.is_whole && self.damage.is_empty()) {
            Some(floor) => {
                find_unneeded(bucket, (&self.segments, &self.checkpoints), floor, is_live)
            }
            None => Ok(Vec::new()),
        }
    }
}
