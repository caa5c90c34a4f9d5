//! What the tiers of a directory are opened for, and what a site and rules ask for.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use forebay_model::{Reach, Rules, Site, Tier};

use super::TierError;
use forebay_objstore::BucketSettings;

/// What the tiers of a directory are opened for.
#[derive(Debug, Clone, Copy)]
pub enum Purpose<'a> {
    /// A run that places files.
    Place(&'a PlacementOptions),
    /// A run without rules: what was placed before is shown as it should be.
    Show,
    /// `forebay restore`; the folders may have a spare of the book.
    Restore(&'a [PathBuf]),
    /// `forebay check --repair`: a damaged log of packed files is written anew.
    Repair(&'a [PathBuf]),
}

impl Purpose<'_> {
    /// Folders with spares of books. What only shows takes none for the book.
    pub(super) fn spare_folders(&self) -> &[PathBuf] {
        match self {
            Purpose::Place(wanted) => &wanted.spares,
            Purpose::Restore(spares) | Purpose::Repair(spares) => spares,
            Purpose::Show => &[],
        }
    }
}

/// What a site and rules ask for.
#[derive(Debug, Clone)]
pub struct PlacementOptions {
    /// The tiers there are.
    pub site: Site,
    /// Which file goes where.
    pub rules: Rules,
    /// How buckets are reached.
    pub settings: BucketSettings,
    /// Folders for spares of books, in state directories; the first is written to.
    pub spares: Vec<PathBuf>,
}

impl PlacementOptions {
    /// Whether tasks on other machines would miss files: their bytes are on a disk of this one, or
    /// their names in a log.
    pub fn binds_to_this_machine(&self) -> bool {
        let mut homes = self.rules.home_tiers().into_iter().filter_map(|id| self.site.tier(id));
        self.rules.packed_tier().is_some() || homes.any(|tier| tier.reach == Reach::Node)
    }
}

/// Whether files can live where rules send them, as far as the site file tells.
///
/// # Errors
/// A tier that rules name is a bucket, or has no path.
pub fn check_tier_paths(site: &Site, rules: &Rules) -> Result<(), TierError> {
    named_tiers(site, rules).into_iter().try_for_each(|tier| tier_path(tier).map(drop))
}

/// The tiers that a run with these rules opens.
pub(super) fn named_tiers<'s>(site: &'s Site, rules: &Rules) -> Vec<&'s Tier> {
    let named: BTreeSet<_> = rules.home_tiers().into_iter().chain(rules.cache_tiers()).collect();
    named.into_iter().filter_map(|id| site.tier(id)).collect()
}

/// The directory of a tier, as the site file says.
pub(super) fn tier_path(tier: &Tier) -> Result<&Path, TierError> {
    let why = match tier.bucket {
        None => "its site file gives no path for it: it can be planned with, not run on",
        Some(_) => "it is a bucket: files can be published to it, and can't live in it",
    };
    let at = || Path::new("tier").join(tier.whole_tier().as_str());
    tier.path
        .as_deref()
        .ok_or_else(|| TierError::with_context(&at(), "using")(io::Error::other(why)))
}
