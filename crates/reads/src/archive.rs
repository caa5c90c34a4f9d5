//! Reading an archive: its manifest once, then pages and chunks as they are asked for. Every
//! chunk is compared with its checksum before it is decoded.

mod concurrency_limit;
mod fetch;
mod lite;
mod requested_columns;

use std::collections::BTreeSet;
use std::ops::Range;

use crate::error::{Error, Kind, Result};
use crate::hash::hash;
use crate::manifest::{INDEX, INDEX_MAGIC, MANIFEST, MANIFEST_MAX, Manifest, Stripe};
use crate::objects::{ObjectRange, ObjectSource, read_with_retry};
use crate::row_group::{self, EncodedMate, MateReference, MateText};
use crate::stripe_index::{self, LocatedGroup};
use concurrency_limit::{ConcurrencyLimit, DecodeTurn};
use fetch::{fetch_chunks, merge_adjacent_chunks};
pub(crate) use lite::no_lite_error;
pub(crate) use requested_columns::RequestedColumns;

/// An archive that is open.
#[derive(Debug)]
pub struct Archive {
    pub(crate) objects: Box<dyn ObjectSource>,
    manifest: Manifest,
    /// For each stripe: where its page begins, and the number of its first group.
    pages: Vec<(u64, usize)>,
    decoding: ConcurrencyLimit,
    /// Nobody wants qualities.
    lite: bool,
}

/// A group that is decoded so far that its text can be written.
#[derive(Debug)]
pub(crate) struct OpenGroup<'a> {
    /// Of each mate; None where it was not asked for.
    pub(crate) mates: [Option<MateText>; 2],
    _turn: DecodeTurn<'a>,
}

impl Archive {
    /// Reads and checks the manifest.
    ///
    /// # Errors
    /// There is none (this is no archive, or one that was never finished), it is damaged, or a
    /// newer Forebay wrote it.
    pub fn open(objects: Box<dyn ObjectSource>) -> Result<Archive> {
        let len = objects.object_size(MANIFEST)?;
        if len > MANIFEST_MAX {
            return Err(Error::damaged(format!("{MANIFEST}: {len} bytes are too many")));
        }
        let all = ObjectRange { name: MANIFEST, offset: 0, len: len as usize };
        let manifest =
            read_with_retry(&*objects, &[all], |bytes| Manifest::from_bytes(&bytes.concat()))?;
        let mut pages = Vec::with_capacity(manifest.stripes.len());
        let (mut at, mut first) = (INDEX_MAGIC.len() as u64, 0_usize);
        for stripe in &manifest.stripes {
            pages.push((at, first));
            at += stripe.page_len as u64;
            first += stripe.groups;
        }
        Ok(Archive { objects, manifest, pages, decoding: ConcurrencyLimit::default(), lite: false })
    }

    /// The same archive, whose objects are read from elsewhere from now on.
    #[must_use]
    pub fn with_objects(self, objects: Box<dyn ObjectSource>) -> Archive {
        Archive { objects, ..self }
    }

    /// Decodes so many groups at a time at most, for callers that have many threads wait for objects.
    #[must_use]
    pub fn with_decode_limit(self, groups: usize) -> Archive {
        Archive { decoding: ConcurrencyLimit::with_limit(groups), ..self }
    }

    /// Without qualities: each is `?` (30) from now on, and those of reads that have columns are not
    /// fetched. What lies in objects of its own need not be there any more. Text that has no records
    /// of four lines is an error of whoever wants it.
    #[must_use]
    pub fn into_lite(self) -> Archive {
        Archive { lite: true, ..self }
    }

    pub(crate) fn is_lite(&self) -> bool {
        self.lite
    }

    /// What it is.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The objects that have something of what is read, with their lengths.
    pub fn needed_objects(&self) -> impl Iterator<Item = &(String, u64)> {
        let families = if self.lite { 0..2 } else { 0..3 };
        let stripes = &self.manifest.stripes;
        let of_stripe = |stripe: &Stripe| stripe.families[families.clone()].to_vec();
        let needed: BTreeSet<usize> =
            stripes.iter().flat_map(of_stripe).map(|family| family.object).chain([0]).collect();
        let objects = self.manifest.objects.iter().enumerate();
        objects.filter(move |(nth, _)| needed.contains(nth)).map(|(_, object)| object)
    }

    /// How many groups it has.
    pub(crate) fn group_count(&self) -> usize {
        let last = self.pages.last().zip(self.manifest.stripes.last());
        last.map_or(0, |((_, first), stripe)| first + stripe.groups)
    }

    /// The stripe that has a group.
    pub(crate) fn stripe_of_group(&self, group: usize) -> Option<usize> {
        self.pages.partition_point(|(_, first)| *first <= group).checked_sub(1)
    }

    /// The groups of a stripe.
    pub(crate) fn read_stripe_groups(&self, stripe: usize) -> Result<Vec<LocatedGroup>> {
        let (offset, first) = self.pages[stripe];
        let told = &self.manifest.stripes[stripe];
        let place = || {
            let end = offset + told.page_len as u64;
            format!("{INDEX}, bytes {offset} to {end} (page of stripe {stripe})")
        };
        let part = ObjectRange { name: INDEX, offset, len: told.page_len };
        let page = read_with_retry(&*self.objects, &[part], |bytes| {
            let page = bytes.concat();
            let is_right = hash(&page) == told.page_hash;
            let wrong = || Error::damaged(format!("{}: {CHECKSUM}", place()));
            is_right.then_some(page).ok_or_else(wrong)
        })?;
        let groups = stripe_index::parse_page(&page, told, self.manifest.shape.mate_count(), first);
        groups.map_err(|error| error.with_context(place()))
    }

    /// Says that these mates of some groups are going to be decoded, the first ones first.
    pub(crate) fn prefetch_groups(&self, groups: &[LocatedGroup], asked: RequestedColumns) {
        let asked = self.apply_lite(asked);
        let of_one = |group| merge_adjacent_chunks(self, &asked.required_chunks(group).1).0;
        let parts: Vec<ObjectRange<'_>> = groups.iter().flat_map(of_one).collect();
        self.objects.prefetch_parts(&parts);
    }

    /// Whether a group has no reads and nothing that is missed without them
    /// ([`row_group::is_blank_text`]).
    pub(crate) fn is_blank_group(&self, at: &LocatedGroup) -> Result<bool> {
        if at.spots > 0 {
            return Ok(false);
        }
        let as_is = RequestedColumns::all_columns([true, at.mates.len() == 2]);
        let texts = self.fetch_and_open(at, as_is, None)?.into_texts(at)?;
        Ok(texts.iter().flatten().all(|text| row_group::is_blank_text(text)))
    }

    fn apply_lite(&self, asked: RequestedColumns) -> RequestedColumns {
        RequestedColumns { qualities: asked.qualities && !self.lite, ..asked }
    }

    /// The texts of a group of which this is wanted.
    pub(crate) fn read_texts(
        &self,
        group: &LocatedGroup,
        asked: RequestedColumns,
    ) -> Result<[Option<Vec<u8>>; 2]> {
        self.open_group(group, asked)?.into_texts(group)
    }

    /// Decodes what is wanted of a group, as far as its text needs.
    pub(crate) fn open_group(
        &self,
        group: &LocatedGroup,
        asked: RequestedColumns,
    ) -> Result<OpenGroup<'_>> {
        self.open_group_part(group, asked, None)
    }

    /// A part of one mate's text in a group: no more is decoded than it takes.
    pub(crate) fn read_text_part(
        &self,
        group: &LocatedGroup,
        mate: usize,
        part: Range<usize>,
    ) -> Result<Vec<u8>> {
        let asked = RequestedColumns::all_columns([mate == 0, mate == 1]);
        let mut opened = self.open_group_part(group, asked, Some(&part))?;
        let text = opened.mates[mate].take();
        let missing = || Error::damaged("a mate is missing");
        let found = text.ok_or_else(missing)?.into_part(group.mates[mate].text_len, part);
        found.map_err(|error| error.with_context(mate_place(group, mate)))
    }

    fn open_group_part(
        &self,
        group: &LocatedGroup,
        asked: RequestedColumns,
        part: Option<&Range<usize>>,
    ) -> Result<OpenGroup<'_>> {
        let mut opened = self.fetch_and_open(group, self.apply_lite(asked), part)?;
        if self.lite {
            for text in opened.mates.iter_mut().flatten() {
                if let MateText::Whole(text, _) = text {
                    lite::mask_qualities(text, group.spots)
                        .ok_or_else(|| lite::no_lite_error(group.number))?;
                }
            }
        }
        Ok(opened)
    }

    fn fetch_and_open(
        &self,
        group: &LocatedGroup,
        asked: RequestedColumns,
        part: Option<&Range<usize>>,
    ) -> Result<OpenGroup<'_>> {
        let (leans, needed) = asked.required_chunks(group);
        let mut fetched = fetch_chunks(self, group, &needed)?.into_iter();
        let turn = self.decoding.acquire_turn();
        let mut mates = <[Option<MateText>; 2]>::default();
        let mut first = MateReference::default();
        for (nth, at) in group.mates.iter().enumerate() {
            let place = |error: Error| {
                let error = error.with_context(mate_place(group, nth));
                match error.kind {
                    Kind::Unknown => {
                        error.with_suffix(format_args!("; `{}` wrote it", self.manifest.writer))
                    }
                    _ => error,
                }
            };
            let count = needed.iter().filter(|(mate, _)| *mate == nth).count();
            let chunks = fetched.by_ref().take(count).collect();
            let mut mate =
                EncodedMate { text_len: at.text_len, style: at.style, rule: at.rule, chunks };
            let leans = if nth == 0 { &leans[..] } else { &[] };
            if asked.mates[nth] {
                asked.fill_missing_columns(&mut mate, group, nth).map_err(place)?;
                let (text, lent) =
                    row_group::open_mate(&mate, group.spots, &first, leans, part).map_err(place)?;
                (mates[nth], first) = (Some(text), lent);
            } else if count > 0 {
                first = row_group::lend_columns(&mate, group.spots, leans).map_err(place)?;
            }
        }
        Ok(OpenGroup { mates, _turn: turn })
    }
}

impl OpenGroup<'_> {
    fn into_texts(self, group: &LocatedGroup) -> Result<[Option<Vec<u8>>; 2]> {
        let mut texts = <[Option<Vec<u8>>; 2]>::default();
        for (nth, mate) in self.mates.into_iter().enumerate() {
            let text = mate.map(MateText::into_text).transpose();
            texts[nth] = text.map_err(|error| error.with_context(mate_place(group, nth)))?;
        }
        Ok(texts)
    }
}

/// Where something is, for people.
pub(crate) fn mate_place(group: &LocatedGroup, nth: usize) -> String {
    format!("group {}, mate {}", group.number, nth + 1)
}

const CHECKSUM: &str = "not the bytes that were written (checksum)";

#[cfg(test)]
mod tests;
