//! The text of a face: groups of one file, one behind the other; all of them, or each so many.

use std::sync::Arc;

use super::pages::Pages;
use crate::archive::Archive;
use crate::error::{Error, Kind, Result};

/// Some groups of a file.
#[derive(Clone, Debug)]
pub(super) struct Lane {
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

/// A group as it lies in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its number in the archive.
    pub(super) group: usize,
    /// Where its text begins in that of the lane.
    pub(super) start: u64,
}

impl Lane {
    /// Each `step`-th group from `first` on, of a file whose groups have `texts` bytes.
    pub(super) fn shard(file: usize, first: usize, step: usize, texts: &[u64]) -> Lane {
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
    pub(super) fn find(&self, archive: &Archive, pages: &Pages, offset: u64) -> Result<Place> {
        let (Ends::OfStripes(ends) | Ends::OfGroups(ends)) = &self.ends;
        let nth = ends.partition_point(|end| *end <= offset);
        let mut start = if nth == 0 { 0 } else { ends[nth - 1] };
        if let Ends::OfGroups(_) = self.ends {
            return Ok(Place { group: self.first + nth * self.step, start });
        }
        for group in pages.get(archive, nth)?.iter() {
            let end = start + group.text_len(archive.manifest().shape, self.file);
            if offset < end {
                return Ok(Place { group: group.number, start });
            }
            start = end;
        }
        Err(elsewhere())
    }
}

/// A face was not of the archive that was asked for it.
pub(super) fn elsewhere() -> Error {
    Error::new(Kind::Request, "this file is of another archive")
}
