//! Groups of an archive in order, all or those that have some reads.

use std::ops::Range;

use super::no_group_records_error;
use crate::archive::{Archive, RequestedColumns};
use crate::error::Result;
use crate::stripe_index::LocatedGroup;

/// The groups from a stripe on.
pub(super) struct GroupIterator<'a> {
    archive: &'a Archive,
    stripes: Range<usize>,
    ready: std::vec::IntoIter<LocatedGroup>,
    /// What is going to be read of all; and the page behind that of `ready`, for them.
    all: Option<RequestedColumns>,
    later: Option<Result<Vec<LocatedGroup>>>,
}

impl GroupIterator<'_> {
    pub(super) fn new(archive: &Archive, stripe: usize) -> GroupIterator<'_> {
        let stripes = stripe..archive.manifest().stripes.len();
        GroupIterator { archive, stripes, ready: Vec::new().into_iter(), all: None, later: None }
    }

    /// All groups, of which this is going to be read: while one stripe is, the next is
    /// fetched.
    pub(super) fn all_groups(archive: &Archive, asked: RequestedColumns) -> GroupIterator<'_> {
        GroupIterator { all: Some(asked), ..GroupIterator::new(archive, 0) }
    }

    fn next_page(&mut self) -> Option<Result<Vec<LocatedGroup>>> {
        let groups = self.archive.read_stripe_groups(self.stripes.next()?);
        if let (Ok(groups), Some(asked)) = (&groups, self.all) {
            self.archive.prefetch_groups(groups, asked);
        }
        Some(groups)
    }
}

impl Iterator for GroupIterator<'_> {
    type Item = Result<LocatedGroup>;

    fn next(&mut self) -> Option<Result<LocatedGroup>> {
        loop {
            if let Some(group) = self.ready.next() {
                return Some(Ok(group));
            }
            let page = match self.later.take() {
                Some(page) => page,
                None => self.next_page()?,
            };
            if self.all.is_some() {
                self.later = self.next_page();
            }
            match page {
                Ok(groups) => self.ready = groups.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// A group, and which of its reads are wanted; None is all of it.
pub(super) type SelectedGroup = (LocatedGroup, Option<Range<u64>>);

/// Groups that have some of `spots`.
pub(super) fn groups_with_spots(
    archive: &Archive,
    spots: Range<u64>,
) -> impl FnMut() -> Option<Result<SelectedGroup>> {
    let manifest = archive.manifest();
    let (mut at, mut first) = (0_u64, 0);
    // Where text was kept as it is, reads of each group have to be looked at.
    if manifest.as_text_bytes == 0 {
        for stripe in &manifest.stripes {
            match at.checked_add(stripe.spots) {
                Some(end) if end <= spots.start => (at, first) = (end, first + 1),
                _ => break,
            }
        }
    }
    let mut groups = GroupIterator::new(archive, first);
    move || {
        while at < spots.end {
            let group = match groups.next()? {
                Ok(group) if group.spots == 0 => match archive.is_blank_group(&group) {
                    Ok(true) => continue,
                    Ok(false) => return Some(Err(no_group_records_error(&group))),
                    Err(error) => return Some(Err(error)),
                },
                Ok(group) => group,
                Err(error) => return Some(Err(error)),
            };
            let (start, end) = (at, at.saturating_add(group.spots as u64));
            at = end;
            if end > spots.start {
                let own = spots.start.saturating_sub(start)..spots.end.min(end) - start;
                return Some(Ok((group, Some(own))));
            }
        }
        None
    }
}
