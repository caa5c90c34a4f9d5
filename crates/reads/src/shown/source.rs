//! Groups of an archive by their numbers, for whoever shows its files and for threads that decode
//! ahead.

use std::sync::Arc;

use super::lane::elsewhere;
use super::pages::Pages;
use crate::archive::{Archive, Asked};
use crate::error::{Error, Result};
use crate::index::GroupAt;
use crate::view::View;

/// An archive with its index.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) archive: Arc<Archive>,
    pub(super) pages: Pages,
}

impl Source {
    pub(super) fn new(archive: Arc<Archive>) -> Source {
        let pages = Pages::new(&archive);
        Source { archive, pages }
    }

    fn with<R>(&self, group: usize, work: impl FnOnce(&GroupAt) -> Result<R>) -> Result<R> {
        let stripe = self.archive.stripe_of(group).ok_or_else(elsewhere)?;
        let groups = self.pages.get(&self.archive, stripe)?;
        let first = groups.first().map_or(0, |first| first.number);
        let at = group.checked_sub(first).and_then(|nth| groups.get(nth));
        work(at.ok_or_else(elsewhere)?)
    }

    /// Bytes of a group.
    pub(super) fn len(&self, file: usize, group: usize) -> Result<usize> {
        let shape = self.archive.manifest().shape;
        self.with(group, |group| Ok(group.text_len(shape, file) as usize))
    }

    /// Bytes of a group as they are in its stripe.
    pub(super) fn mean(&self, file: usize, group: usize) -> usize {
        let stripes = &self.archive.manifest().stripes;
        let stripe = self.archive.stripe_of(group).and_then(|stripe| stripes.get(stripe));
        stripe.map_or(0, |stripe| stripe.texts[file] as usize / stripe.groups.max(1))
    }

    /// Says that some groups will be wanted. Those of which no page can be had are met by who
    /// reads them.
    pub(super) fn soon(&self, file: usize, groups: impl Iterator<Item = usize>) {
        let groups = groups.map_while(|group| self.with(group, |at| Ok(at.clone())).ok());
        let groups: Vec<GroupAt> = groups.collect();
        let asked = Asked::all(self.archive.wanted(View::File(file)));
        self.archive.soon(&groups, asked);
    }

    /// Text of a file in a group.
    pub(super) fn decode(&self, file: usize, group: usize) -> Result<Vec<u8>> {
        let len = self.len(file, group)?;
        let view = View::File(file);
        let asked = Asked::all(self.archive.wanted(view));
        let text = self.with(group, |group| self.archive.view(group, view, asked))?;
        match text.len() == len {
            true => Ok(text),
            false => Err(Error::damaged(format!("group {group}: not as long as it was"))),
        }
    }
}
