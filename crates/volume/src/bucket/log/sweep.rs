//! What a log does not need any more: the writer removes it after a checkpoint, and a check by its
//! repair.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use super::super::request::{Bucket, map_in_parallel};
use super::super::tree_record::TreeRecord;
use super::segment_reader::read_segment;
use super::{CHECKPOINTS, LOG, Log, checkpoint_key, list_numbered_objects, segment_key};
use forebay_objstore::RequestError;

/// A segment that says who begins has nothing else, and is shorter than this.
const SHORT: u64 = 4096;

/// Checkpoints that are kept: where the last one is damaged, the one before leads to the same tree.
pub(super) const KEPT: usize = 2;

/// Sizes of objects, by their numbers.
type Sizes = BTreeMap<u64, u64>;

impl Log {
    /// Whether so many segments have been written since the newest checkpoint.
    pub(crate) fn has_grown_by(&self, segments: u64) -> bool {
        self.at.next - self.at.checkpoint >= segments
    }

    /// Removes what nothing needs; tells what is left of segments below all checkpoints that are
    /// kept, and their sizes.
    ///
    /// # Errors
    /// Those of the bucket; `InvalidData`: a checkpoint is damaged, and nothing is removed.
    pub(crate) fn remove_unneeded(
        &self,
        is_live: impl Fn(u64) -> bool,
    ) -> Result<Sizes, RequestError> {
        let bucket = &*self.bucket;
        let checkpoints: Sizes = list_numbered_objects(bucket, CHECKPOINTS)?.into_iter().collect();
        let Some((floor, size)) = checkpoints.iter().rev().nth(KEPT - 1) else {
            return Ok(Sizes::new());
        };
        let (head, records) = read_segment(bucket, &checkpoint_key(*floor), *size)?;
        head.for_each_record(&records, |_| {}).map_err(|_| RequestError {
            kind: ErrorKind::InvalidData,
            why: "a checkpoint is damaged".to_owned(),
        })?;
        let mut segments: Sizes = list_numbered_objects(bucket, LOG)?.into_iter().collect();
        let gone = find_unneeded(bucket, (&segments, &checkpoints), *floor, &is_live)?;
        map_in_parallel(&gone, |(name, _)| bucket.delete_object(name))
            .into_iter()
            .collect::<Result<(), RequestError>>()?;
        segments.retain(|number, _| number < floor && is_live(*number));
        Ok(segments)
    }
}

/// What nothing needs: segments of which no file has bytes, below all checkpoints that are kept,
/// and older checkpoints. Who was replaced as the writer tries the number with which the next one
/// began, so those stay.
///
/// # Errors
/// Those of the bucket.
pub(super) fn find_unneeded(
    bucket: &dyn Bucket,
    (segments, checkpoints): (&Sizes, &Sizes),
    floor: u64,
    is_live: impl Fn(u64) -> bool,
) -> Result<Vec<(String, u64)>, RequestError> {
    let mut found = Vec::new();
    let dead = segments.range(..floor).filter(|(number, _)| !is_live(**number));
    let dead: Vec<_> = dead.map(|(number, size)| (segment_key(*number), *size)).collect();
    let kept = map_in_parallel(&dead, |(name, size)| match *size <= SHORT {
        true => has_begin_record(bucket, name, *size),
        false => Ok(false),
    });
    for (dead, is_kept) in dead.into_iter().zip(kept) {
        if !is_kept? {
            found.push(dead);
        }
    }
    let old = checkpoints.range(..floor);
    found.extend(old.map(|(at, size)| (checkpoint_key(*at), *size)));
    Ok(found)
}

/// Whether a writer began with this segment, as far as one can tell.
fn has_begin_record(bucket: &dyn Bucket, name: &str, size: u64) -> Result<bool, RequestError> {
    let mut begins = false;
    match read_segment(bucket, name, size) {
        Err(failed) if failed.kind == ErrorKind::InvalidData => Ok(true),
        part => {
            let (head, records) = part?;
            let look =
                |record: &TreeRecord<'_>| begins |= matches!(record, TreeRecord::Begin { .. });
            Ok(head.for_each_record(&records, look).is_err() || begins)
        }
    }
}
