//! Reading a volume's log: a checkpoint, then segments, one after the other, up to the last cut.

use std::io;

use bytes::Bytes;

use super::super::request::Bucket;
use super::super::segment::{HEADER, SegmentError, SegmentHeader};
use super::super::tree::{DEEPEST, VolumeTree};
use super::super::tree_record::TreeRecord;
use super::{CHECKPOINTS, LOG, Position, checkpoint_key, list_numbered_objects, segment_key};
use forebay_objstore::RequestError;

/// Bytes of a segment of which the start is asked for: the records of most are in it.
const START: u64 = 256 << 10;

/// Why a tree that is none is not shown.
const KNOTTED: &str = "a folder in it has two names, so it may lie in itself";

/// The records of a segment.
///
/// # Errors
/// Those of the bucket. `InvalidData`: it is damaged.
pub(in crate::bucket) fn read_segment(
    bucket: &dyn Bucket,
    name: &str,
    size: u64,
) -> Result<(SegmentHeader, Bytes), RequestError> {
    let broken = |why: &str| RequestError {
        kind: io::ErrorKind::InvalidData,
        why: format!("{name}: {why}"),
    };
    let start = bucket.get_range(name, 0..size.min(START), &|bytes| {
        SegmentHeader::parse(bytes).is_ok_and(|head| {
            let records = HEADER..head.data_offset() as usize;
            bytes.get(records).is_none_or(|records| head.has_valid_checksum(records))
        })
    });
    let start = match start {
        Err(failed) if failed.kind == io::ErrorKind::InvalidData => {
            return Err(broken("it is not what was written, or of a newer format"));
        }
        start => start?,
    };
    let head = SegmentHeader::parse(&start).map_err(|damage| broken(&damage.to_string()))?;
    if head.object_length() != size {
        return Err(broken("it has another length than it says"));
    }
    let end = head.data_offset();
    let records = match start.len() as u64 >= end {
        true => start.slice(HEADER..end as usize),
        false => {
            bucket.get_range(name, HEADER as u64..end, &|bytes| head.has_valid_checksum(bytes))?
        }
    };
    Ok((head, records))
}

/// Takes segments in, up to the last cut.
#[derive(Debug, Default)]
pub(in crate::bucket) struct SegmentReader {
    pub(in crate::bucket) tree: VolumeTree,
    /// Segments with records that no cut has followed yet, and how many of the first were taken.
    held: Vec<(SegmentHeader, Bytes)>,
    taken: u32,
    pub(super) begun: Option<(u64, String)>,
    /// The last cut is in the segment before this one.
    pub(super) cut: u64,
}

impl SegmentReader {
    /// Takes in all that the bucket has. False: segments are missing before the last ones.
    ///
    /// # Errors
    /// Those of the bucket. `InvalidData`: a part of the log is damaged.
    pub(in crate::bucket) fn catch_up(
        &mut self,
        bucket: &dyn Bucket,
    ) -> Result<(Position, bool), RequestError> {
        let (mut next, mut checkpoint) = (0, 0);
        if let Some((number, size)) = list_numbered_objects(bucket, CHECKPOINTS)?.pop() {
            self.apply_segment(read_segment(bucket, &checkpoint_key(number), size)?)?;
            (next, checkpoint, self.cut) = (number, number, number);
        }
        let mut is_whole = true;
        for (number, size) in list_numbered_objects(bucket, LOG)? {
            match number {
                // Covered by the checkpoint; there for its data.
                number if number < next => {}
                number if number == next => {
                    self.apply_segment(read_segment(bucket, &segment_key(number), size)?)?;
                    next += 1;
                }
                // What follows a gap was never told to be written.
                _ => {
                    is_whole = false;
                    break;
                }
            }
        }
        if self.tree.is_too_deep() {
            let why = format!("folders lie more than {DEEPEST} deep in each other");
            return Err(RequestError { kind: io::ErrorKind::InvalidData, why });
        }
        Ok((Position { next, checkpoint }, is_whole))
    }

    pub(super) fn apply_segment(
        &mut self,
        part: (SegmentHeader, Bytes),
    ) -> Result<(), RequestError> {
        self.apply_segment_observed(part, &mut |_, _| {})
    }

    /// The same; `tell` is told of each record before the tree has it.
    ///
    /// # Errors
    /// `InvalidData`: it is damaged.
    pub(in crate::bucket) fn apply_segment_observed(
        &mut self,
        (head, records): (SegmentHeader, Bytes),
        tell: &mut dyn FnMut(&VolumeTree, &TreeRecord<'_>),
    ) -> Result<(), RequestError> {
        let damaged = |damage: SegmentError| RequestError {
            kind: io::ErrorKind::InvalidData,
            why: format!("segment {:x} of the log: {damage}", head.number),
        };
        // Where the last cut of it is, and whether a new writer began before that.
        let (mut at, mut cut, mut begin) = (0, None, None);
        head.for_each_record(&records, |record| {
            at += 1;
            match record {
                TreeRecord::Cut => cut = Some(at),
                TreeRecord::Begin { who } => begin = Some((head.number, (*who).to_owned())),
                _ => {}
            }
        })
        .map_err(damaged)?;
        if begin.is_some() {
            self.begun = begin;
            // What the one before had not finished never was. A Begin is a segment's first.
            self.held.clear();
            self.taken = 0;
        }
        self.held.push((head, records));
        let Some(cut) = cut else { return Ok(()) };
        self.cut = head.number + 1;
        let held = std::mem::take(&mut self.held);
        let last = held.len() - 1;
        for (place, (head, records)) in held.iter().enumerate() {
            let skip = if place == 0 { self.taken } else { 0 };
            let end = if place == last { cut } else { u32::MAX };
            let mut at = 0;
            head.for_each_record(records, |record| {
                at += 1;
                if at > skip && at <= end {
                    tell(&self.tree, record);
                    match record {
                        TreeRecord::Bytes { ino, place } => {
                            let place = place.clone().in_segment(head.number);
                            self.tree.apply_record(&TreeRecord::Bytes { ino: *ino, place })
                        }
                        TreeRecord::Sums { ino, place } => {
                            let place = place.clone().in_segment(head.number);
                            self.tree.apply_record(&TreeRecord::Sums { ino: *ino, place })
                        }
                        record => self.tree.apply_record(record),
                    };
                }
            })
            .map_err(damaged)?;
        }
        if self.tree.is_knotted() {
            return Err(damaged(SegmentError::Unfit(KNOTTED)));
        }
        // What follows the cut waits for the next one.
        let rest = |(head, _): &(SegmentHeader, Bytes)| head.count > cut;
        self.held = held.into_iter().skip(last).filter(rest).collect();
        self.taken = if self.held.is_empty() { 0 } else { cut };
        Ok(())
    }
}
