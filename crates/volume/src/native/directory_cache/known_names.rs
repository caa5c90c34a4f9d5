//! Which names are not in a directory: all but those that were there when it was listed, and those
//! that came since.

use std::ffi::CStr;
use std::hash::{BuildHasher, BuildHasherDefault};

use rustc_hash::{FxHashSet, FxHasher};

use super::{ObservationTime, is_fresh};

/// Questions about absent names that are asked before the names are listed: a listing costs about
/// as much as that.
const MISSES: u32 = 3;

/// What is known of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::native) enum NamePresence {
    Absent,
    /// It may be there.
    Open,
    /// The names are to be listed, which pays now.
    List,
}

#[derive(Debug, Default)]
pub(super) struct KnownNames {
    /// The names in place, and when they were listed. Only hashes: two names that share one are
    /// both taken for there.
    listed: Option<(ObservationTime, FxHashSet<u64>)>,
    /// Names that came while they were listed.
    coming: Option<Vec<u64>>,
    misses: u32,
    /// Since when there is no use in listing: too many names, or not allowed.
    useless: Option<ObservationTime>,
}

fn hash_name(name: &[u8]) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(name)
}

impl KnownNames {
    pub(super) fn known_empty(now: ObservationTime) -> KnownNames {
        KnownNames { listed: Some((now, FxHashSet::default())), ..KnownNames::default() }
    }

    /// A name may be there from now on.
    pub(super) fn note_name(&mut self, name: &CStr) {
        let name = hash_name(name.to_bytes());
        if let Some((_, names)) = &mut self.listed {
            names.insert(name);
        }
        if let Some(coming) = &mut self.coming {
            coming.push(name);
        }
    }

    pub(super) fn check_name(
        &mut self,
        name: &CStr,
        now: ObservationTime,
        trust: u64,
    ) -> NamePresence {
        match &self.listed {
            Some((seen, names)) if is_fresh(*seen, now, trust) => {
                match names.contains(&hash_name(name.to_bytes())) {
                    true => NamePresence::Open,
                    false => NamePresence::Absent,
                }
            }
            _ if self.coming.is_some() => NamePresence::Open,
            _ if self.useless.is_some_and(|since| is_fresh(since, now, trust)) => {
                NamePresence::Open
            }
            _ => {
                self.misses += 1;
                if self.misses < MISSES { NamePresence::Open } else { NamePresence::List }
            }
        }
    }

    pub(super) fn begin_listing(&mut self) -> bool {
        let first = self.coming.is_none();
        self.coming.get_or_insert_default();
        first
    }

    pub(super) fn finish_listing<'n>(
        &mut self,
        began: ObservationTime,
        names: Option<impl Iterator<Item = &'n [u8]>>,
    ) {
        let coming = self.coming.take().unwrap_or_default();
        self.misses = 0;
        match names {
            Some(names) => {
                self.listed = Some((began, names.map(hash_name).chain(coming).collect()))
            }
            None => self.useless = Some(began),
        }
    }
}
