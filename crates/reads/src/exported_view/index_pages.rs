//! Pages of the index, each fetched once and kept: some 1 KiB for each group.

use std::sync::{Arc, Mutex};

use super::exported_text::wrong_archive_error;
use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::stripe_index::LocatedGroup;

/// The pages of an archive.
#[derive(Debug)]
pub(super) struct IndexPages(Vec<Mutex<Option<Arc<[LocatedGroup]>>>>);

impl IndexPages {
    pub(super) fn new(archive: &Archive) -> IndexPages {
        IndexPages(archive.manifest().stripes.iter().map(|_| Mutex::default()).collect())
    }

    /// The groups of a stripe. Who wants a page that is under way waits for it.
    pub(super) fn get(&self, archive: &Archive, stripe: usize) -> Result<Arc<[LocatedGroup]>> {
        let page = self.0.get(stripe).ok_or_else(wrong_archive_error)?;
        let mut page = page.lock().expect("nobody panics with it");
        if let Some(groups) = &*page {
            return Ok(Arc::clone(groups));
        }
        let groups: Arc<[LocatedGroup]> = read_checked_groups(archive, stripe)?.into();
        Ok(Arc::clone(page.insert(groups)))
    }
}

/// The groups of a stripe, whose texts add up to what the manifest says: places are computed of
/// both.
pub(super) fn read_checked_groups(archive: &Archive, stripe: usize) -> Result<Vec<LocatedGroup>> {
    let groups = archive.read_stripe_groups(stripe)?;
    let shape = archive.manifest().shape;
    for (file, told) in archive.manifest().stripes[stripe].texts.iter().enumerate() {
        if groups.iter().map(|group| group.text_len(shape, file)).sum::<u64>() != *told {
            let words = format!("stripe {stripe}: its groups have not as many bytes as it has");
            return Err(Error::damaged(words));
        }
    }
    Ok(groups)
}
