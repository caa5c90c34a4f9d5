//! What a log does not need any more: the writer removes it after a checkpoint, and a check by its
//! repair.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use super::super::record::Record;
use super::super::request::{Bucket, each};
use super::reader::read;
use super::{CHECKPOINTS, LOG, Log, name_of_checkpoint, numbers, segment};
use forebay_objstore::Failed;

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
    pub(crate) fn sweep(&self, is_live: impl Fn(u64) -> bool) -> Result<Sizes, Failed> {
        let bucket = &*self.bucket;
        let checkpoints: Sizes = numbers(bucket, CHECKPOINTS)?.into_iter().collect();
        let Some((floor, size)) = checkpoints.iter().rev().nth(KEPT - 1) else {
            return Ok(Sizes::new());
        };
        let (head, records) = read(bucket, &name_of_checkpoint(*floor), *size)?;
        head.each(&records, |_| {}).map_err(|_| Failed {
            kind: ErrorKind::InvalidData,
            why: "a checkpoint is damaged".to_owned(),
        })?;
        let mut segments: Sizes = numbers(bucket, LOG)?.into_iter().collect();
        let gone = unneeded(bucket, (&segments, &checkpoints), *floor, &is_live)?;
        each(&gone, |(name, _)| bucket.delete(name)).into_iter().collect::<Result<(), Failed>>()?;
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
pub(super) fn unneeded(
    bucket: &dyn Bucket,
    (segments, checkpoints): (&Sizes, &Sizes),
    floor: u64,
    is_live: impl Fn(u64) -> bool,
) -> Result<Vec<(String, u64)>, Failed> {
    let mut found = Vec::new();
    let dead = segments.range(..floor).filter(|(number, _)| !is_live(**number));
    let dead: Vec<_> = dead.map(|(number, size)| (segment(*number), *size)).collect();
    let kept = each(&dead, |(name, size)| match *size <= SHORT {
        true => begins(bucket, name, *size),
        false => Ok(false),
    });
    for (dead, is_kept) in dead.into_iter().zip(kept) {
        if !is_kept? {
            found.push(dead);
        }
    }
    let old = checkpoints.range(..floor);
    found.extend(old.map(|(at, size)| (name_of_checkpoint(*at), *size)));
    Ok(found)
}

/// Whether a writer began with this segment, as far as one can tell.
fn begins(bucket: &dyn Bucket, name: &str, size: u64) -> Result<bool, Failed> {
    let mut begins = false;
    match read(bucket, name, size) {
        Err(failed) if failed.kind == ErrorKind::InvalidData => Ok(true),
        part => {
            let (head, records) = part?;
            let look = |record: &Record<'_>| begins |= matches!(record, Record::Begin { .. });
            Ok(head.each(&records, look).is_err() || begins)
        }
    }
}
