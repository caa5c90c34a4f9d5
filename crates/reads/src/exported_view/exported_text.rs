//! The text of a face: groups of one file, one behind the other; all of them, or each so many.

use std::sync::Arc;

use super::grouped_text::{Place, Texts};
use crate::error::{Error, Kind, Result};

/// Some groups of a file.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(super) file: usize,
    /// Number of its first group.
    pub(super) first: usize,
    /// From one group to the next.
    pub(super) step: usize,
    pub(super) ends: Ends,
}

/// Where parts of the text end.
#[derive(Clone, Debug)]
pub(super) enum Ends {
    /// All stripes; a page says more.
    OfStripes(Arc<[u64]>),
    /// The groups of the lane.
    OfGroups(Arc<[u64]>),
}

impl Lane {
    /// All groups of a file, which have `texts` bytes.
    pub(crate) fn for_whole_file(file: usize, texts: &[u64]) -> Lane {
        Lane::for_shard(file, 0, 1, texts)
    }

    /// Each `step`-th group from `first` on, of a file whose groups have `texts` bytes.
    pub(super) fn for_shard(file: usize, first: usize, step: usize, texts: &[u64]) -> Lane {
        let mut end = 0_u64;
        let ends = texts.iter().skip(first).step_by(step).map(|len| {
            end = end.saturating_add(*len);
            end
        });
        Lane { file, first, step, ends: Ends::OfGroups(ends.collect()) }
    }

    /// Bytes of its text.
    pub(super) fn len(&self) -> u64 {
        let (Ends::OfStripes(ends) | Ends::OfGroups(ends)) = &self.ends;
        ends.last().copied().unwrap_or_default()
    }

    /// What tells lanes of one archive apart.
    pub(super) fn id(&self) -> [usize; 3] {
        [self.file, self.first, self.step]
    }

    /// The group that has a byte of the text; `offset` is less than [`Lane::len`].
    pub(super) fn find_group(&self, texts: &dyn Texts, offset: u64) -> Result<Place> {
        let (Ends::OfStripes(ends) | Ends::OfGroups(ends)) = &self.ends;
        let nth = ends.partition_point(|end| *end <= offset);
        let start = if nth == 0 { 0 } else { ends[nth - 1] };
        match self.ends {
            Ends::OfGroups(_) => Ok(Place { group: self.first + nth * self.step, start }),
            Ends::OfStripes(_) => texts.locate_in_stripe(self.file, nth, start, offset),
        }
    }
}

/// A face was not of the archive that was asked for it.
pub(crate) fn wrong_archive_error() -> Error {
    Error::new(Kind::Request, "this file is of another archive")
}
