//! Whatever has text in groups, and where a group lies.

use std::fmt::Debug;
use std::ops::Range;

use crate::error::Result;

/// A group as it lies in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupPosition {
    /// Its number in the archive.
    pub(crate) group: usize,
    /// Where its text begins in that of the lane.
    pub(crate) start: u64,
}

/// Files whose text comes in groups, each of which is decoded alone. Both count from 0.
pub(crate) trait GroupedText: Send + Sync + Debug {
    /// How many files.
    fn file_count(&self) -> usize;

    /// How many groups a file has.
    fn group_count(&self, file: usize) -> usize;

    /// The group of a stripe that has the byte `offset` of a file; `start` is where the stripe's
    /// text begins in it.
    fn locate_in_stripe(
        &self,
        file: usize,
        stripe: usize,
        start: u64,
        offset: u64,
    ) -> Result<GroupPosition>;

    /// Bytes of a group.
    fn group_len(&self, file: usize, group: usize) -> Result<usize>;

    /// About as many, known without asking anybody.
    fn estimated_group_len(&self, file: usize, group: usize) -> usize;

    /// Says that some groups will be wanted. What can't be had is met by who reads it.
    fn prefetch_groups(&self, file: usize, groups: &[usize]);

    /// A part of the text of a file in a group, where that takes less than all of it.
    fn decode_part(&self, _: usize, _: usize, _: Range<usize>) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Text of a file in a group.
    fn decode_group(&self, file: usize, group: usize) -> Result<Vec<u8>>;
}
