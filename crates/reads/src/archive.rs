//! Reading an archive: its manifest once, then pages and chunks as they are asked for. Every
//! chunk is compared with its checksum before it is decoded.

mod fetch;

use crate::error::{Error, Result};
use crate::group::{self, Lent, Mate};
use crate::hash::hash;
use crate::index::{self, ChunkAt, GroupAt};
use crate::manifest::{INDEX, INDEX_MAGIC, MANIFEST, MANIFEST_MAX, Manifest};
use crate::objects::Objects;
use fetch::fetch;

/// An archive that is open.
#[derive(Debug)]
pub struct Archive {
    pub(crate) objects: Box<dyn Objects>,
    manifest: Manifest,
    /// For each stripe: where its page begins, and the number of its first group.
    pages: Vec<(u64, usize)>,
}

/// Texts of the mates of one group; None where it was not asked for.
pub(crate) type Texts = [Option<Vec<u8>>; 2];

impl Archive {
    /// Reads and checks the manifest.
    ///
    /// # Errors
    /// There is none (this is no archive, or one that was never finished), it is damaged, or a
    /// newer Forebay wrote it.
    pub fn open(objects: Box<dyn Objects>) -> Result<Archive> {
        let len = objects.len(MANIFEST)?;
        if len > MANIFEST_MAX {
            return Err(Error::damaged(format!("{MANIFEST}: {len} bytes are too many")));
        }
        let manifest = Manifest::of_bytes(&objects.read(MANIFEST, 0, len as usize)?)?;
        let mut pages = Vec::with_capacity(manifest.stripes.len());
        let (mut at, mut first) = (INDEX_MAGIC.len() as u64, 0_usize);
        for stripe in &manifest.stripes {
            pages.push((at, first));
            at += stripe.page_len as u64;
            first += stripe.groups;
        }
        Ok(Archive { objects, manifest, pages })
    }

    /// What it is.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// How many groups it has.
    pub(crate) fn group_count(&self) -> usize {
        let last = self.pages.last().zip(self.manifest.stripes.last());
        last.map_or(0, |((_, first), stripe)| first + stripe.groups)
    }

    /// The stripe that has a group.
    pub(crate) fn stripe_of(&self, group: usize) -> Option<usize> {
        self.pages.partition_point(|(_, first)| *first <= group).checked_sub(1)
    }

    /// The groups of a stripe.
    pub(crate) fn groups(&self, stripe: usize) -> Result<Vec<GroupAt>> {
        let (offset, first) = self.pages[stripe];
        let told = &self.manifest.stripes[stripe];
        let place = || {
            let end = offset + told.page_len as u64;
            format!("{INDEX}, bytes {offset} to {end} (page of stripe {stripe})")
        };
        let page = self.objects.read(INDEX, offset, told.page_len)?;
        if hash(&page) != told.page_hash {
            return Err(Error::damaged(format!("{}: {CHECKSUM}", place())));
        }
        let groups = index::groups(&page, told, self.manifest.shape.mates(), first);
        groups.map_err(|error| error.at(place()))
    }

    /// Decodes the mates of a group that are wanted.
    pub(crate) fn texts(&self, group: &GroupAt, wanted: [bool; 2]) -> Result<Texts> {
        let second = group.mates.get(1).filter(|_| wanted[1]);
        let leans = second
            .map(|second| group::leans(second.rule, second.chunks.iter().map(|chunk| chunk.codec)))
            .unwrap_or_default();
        let mut asked = Vec::new();
        for (nth, at) in group.mates.iter().enumerate() {
            // Of a first mate that is not wanted only what the second one leans on.
            let lends = |chunk: &ChunkAt| nth == 0 && leans.contains(&chunk.column);
            let own = |chunk: &&ChunkAt| wanted[nth] || lends(chunk);
            asked.extend(at.chunks.iter().filter(own).map(|chunk| (nth, chunk)));
        }
        let mut fetched = fetch(self, group, &asked)?.into_iter();
        let mut texts = Texts::default();
        let mut first = Lent::default();
        for (nth, at) in group.mates.iter().enumerate() {
            let place =
                |error: Error| error.at(format!("group {}, mate {}", group.number, nth + 1));
            let count = asked.iter().filter(|(mate, _)| *mate == nth).count();
            let chunks = fetched.by_ref().take(count).collect();
            let mate = Mate { text_len: at.text_len, style: at.style, rule: at.rule, chunks };
            let leans = if nth == 0 { &leans[..] } else { &[] };
            if wanted[nth] {
                let (text, lent) =
                    group::decode(&mate, group.spots, &first, leans).map_err(place)?;
                (texts[nth], first) = (Some(text), lent);
            } else if count > 0 {
                first = group::lend(&mate, group.spots, leans).map_err(place)?;
            }
        }
        Ok(texts)
    }
}

const CHECKSUM: &str = "not the bytes that were written (checksum)";

#[cfg(test)]
mod tests;
