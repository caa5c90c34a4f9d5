//! The text of an archive, by its index and what its groups decode to.

use std::ops::Range;
use std::sync::Arc;

use super::exported_text::wrong_archive_error;
use super::grouped_text::{GroupPosition, GroupedText};
use super::index_pages::IndexPages;
use crate::archive::{Archive, RequestedColumns};
use crate::error::{Error, Result};
use crate::manifest::ReadLayout;
use crate::stripe_index::LocatedGroup;
use crate::view::ReadSelection;

/// An archive with its index.
#[derive(Debug)]
pub(super) struct ArchiveText {
    archive: Arc<Archive>,
    pages: IndexPages,
}

impl ArchiveText {
    pub(super) fn new(archive: Arc<Archive>) -> ArchiveText {
        let pages = IndexPages::new(&archive);
        ArchiveText { archive, pages }
    }

    fn with_group<R>(
        &self,
        group: usize,
        work: impl FnOnce(&LocatedGroup) -> Result<R>,
    ) -> Result<R> {
        let stripe = self.archive.stripe_of_group(group).ok_or_else(wrong_archive_error)?;
        let groups = self.pages.get(&self.archive, stripe)?;
        let first = groups.first().map_or(0, |first| first.number);
        let at = group.checked_sub(first).and_then(|nth| groups.get(nth));
        work(at.ok_or_else(wrong_archive_error)?)
    }
}

impl GroupedText for ArchiveText {
    fn file_count(&self) -> usize {
        self.archive.manifest().files.len()
    }

    fn group_count(&self, _: usize) -> usize {
        self.archive.group_count()
    }

    fn locate_in_stripe(
        &self,
        file: usize,
        stripe: usize,
        mut start: u64,
        offset: u64,
    ) -> Result<GroupPosition> {
        for group in self.pages.get(&self.archive, stripe)?.iter() {
            let end = start + group.text_len(self.archive.manifest().shape, file);
            if offset < end {
                return Ok(GroupPosition { group: group.number, start });
            }
            start = end;
        }
        Err(wrong_archive_error())
    }

    fn group_len(&self, file: usize, group: usize) -> Result<usize> {
        let shape = self.archive.manifest().shape;
        self.with_group(group, |group| Ok(group.text_len(shape, file) as usize))
    }

    /// As it is in its stripe.
    fn estimated_group_len(&self, file: usize, group: usize) -> usize {
        let stripes = &self.archive.manifest().stripes;
        let stripe = self.archive.stripe_of_group(group).and_then(|stripe| stripes.get(stripe));
        stripe.map_or(0, |stripe| stripe.texts[file] as usize / stripe.groups.max(1))
    }

    fn prefetch_groups(&self, file: usize, groups: &[usize]) {
        let groups =
            groups.iter().map_while(|group| self.with_group(*group, |at| Ok(at.clone())).ok());
        let groups: Vec<LocatedGroup> = groups.collect();
        let asked =
            RequestedColumns::all_columns(self.archive.mates_of_view(ReadSelection::File(file)));
        self.archive.prefetch_groups(&groups, asked);
    }

    fn decode_part(
        &self,
        file: usize,
        group: usize,
        part: Range<usize>,
    ) -> Result<Option<Vec<u8>>> {
        // Where mates take turns, a part needs both; and what is fetched from afar is decoded at once.
        let in_turns = self.archive.manifest().shape == ReadLayout::Interleaved;
        if in_turns || !self.archive.objects.is_near() {
            return Ok(None);
        }
        self.with_group(group, |group| self.archive.read_text_part(group, file, part)).map(Some)
    }

    fn decode_group(&self, file: usize, group: usize) -> Result<Vec<u8>> {
        let len = self.group_len(file, group)?;
        let view = ReadSelection::File(file);
        let asked = RequestedColumns::all_columns(self.archive.mates_of_view(view));
        let text = self.with_group(group, |group| self.archive.render_group(group, view, asked))?;
        match text.len() == len {
            true => Ok(text),
            false => Err(Error::damaged(format!("group {group}: not as long as it was"))),
        }
    }
}
