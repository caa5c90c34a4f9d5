//! The text of a face: groups of one file, one behind the other; all of them, or each so many.

use std::sync::Arc;

use super::grouped_text::{GroupPosition, GroupedText};
use crate::error::{Error, Kind, Result};

/// Some groups of a file.
#[derive(Clone, Debug)]
pub(crate) struct ExportedText {
    pub(super) file: usize,
    /// Number of its first group.
    pub(super) first: usize,
    /// From one group to the next.
    pub(super) step: usize,
    pub(super) ends: TextEnds,
}

/// Where parts of the text end.
#[derive(Clone, Debug)]
pub(super) enum TextEnds {
    /// All stripes; a page says more.
    OfStripes(Arc<[u64]>),
    /// The groups of the lane.
    OfGroups(Arc<[u64]>),
}

impl ExportedText {
    /// All groups of a file, which have `texts` bytes.
    pub(crate) fn for_whole_file(file: usize, texts: &[u64]) -> ExportedText {
        ExportedText::for_shard(file, 0, 1, texts)
    }

    /// Each `step`-th group from `first` on, of a file whose groups have `texts` bytes.
    pub(super) fn for_shard(file: usize, first: usize, step: usize, texts: &[u64]) -> ExportedText {
        let mut end = 0_u64;
        let ends = texts.iter().skip(first).step_by(step).map(|len| {
            end = end.saturating_add(*len);
            end
        });
        ExportedText { file, first, step, ends: TextEnds::OfGroups(ends.collect()) }
    }

    /// Bytes of its text.
    pub(super) fn len(&self) -> u64 {
        let (TextEnds::OfStripes(ends) | TextEnds::OfGroups(ends)) = &self.ends;
        ends.last().copied().unwrap_or_default()
    }

    /// What tells lanes of one archive apart.
    pub(super) fn id(&self) -> [usize; 3] {
        [self.file, self.first, self.step]
    }

    /// The group that has a byte of the text; `offset` is less than [`ExportedText::len`].
    pub(super) fn find_group(&self, texts: &dyn GroupedText, offset: u64) -> Result<GroupPosition> {
        let (TextEnds::OfStripes(ends) | TextEnds::OfGroups(ends)) = &self.ends;
        let nth = ends.partition_point(|end| *end <= offset);
        let start = if nth == 0 { 0 } else { ends[nth - 1] };
        match self.ends {
            TextEnds::OfGroups(_) => {
                Ok(GroupPosition { group: self.first + nth * self.step, start })
            }
            TextEnds::OfStripes(_) => texts.locate_in_stripe(self.file, nth, start, offset),
        }
    }
}

/// A face was not of the archive that was asked for it.
pub(crate) fn wrong_archive_error() -> Error {
    Error::new(Kind::Request, "this file is of another archive")
}
