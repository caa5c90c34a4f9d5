//! Attributes that a client of the storage would know without asking: a program may ask for those of
//! one file a thousand times a second, and a mount asks its storage once. The record counts what is
//! asked of storage, whoever looks on.

use rustc_hash::FxHashMap;

use super::names::Place;
use crate::native::TRUST;

/// For so long attributes are believed once they were told, in nanoseconds: as a mount's are.
const BELIEVED_NANOS: u64 = TRUST.as_nanos() as u64;
/// Names that are kept in mind; beyond, all are forgotten, and count once more.
const MOST_NAMES: usize = 16_384;

/// When attributes of a file were told last, on the machine's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToldAttributes(u64);

impl ToldAttributes {
    pub(super) fn told_at(nanos: u64) -> ToldAttributes {
        ToldAttributes(nanos)
    }

    /// Whether who wants them at `nanos` has to ask; then they are told.
    pub(super) fn needs_request(&mut self, nanos: u64) -> bool {
        let needs_request = nanos.saturating_sub(self.0) >= BELIEVED_NANOS;
        if needs_request {
            self.0 = nanos;
        }
        needs_request
    }
}

/// The same by name.
#[derive(Debug, Default)]
pub(super) struct KnownAttributes(FxHashMap<Place, ToldAttributes>);

impl KnownAttributes {
    /// Whether who wants those of `place` at `nanos` has to ask; then they are told.
    pub(super) fn needs_request(&mut self, place: &Place, nanos: u64) -> bool {
        match self.0.get_mut(place) {
            Some(told) => told.needs_request(nanos),
            None => {
                self.note_told(place, nanos);
                true
            }
        }
    }

    /// They came with something else: an open.
    pub(super) fn note_told(&mut self, place: &Place, nanos: u64) {
        if self.0.len() >= MOST_NAMES {
            self.0.clear();
        }
        self.0.insert(place.clone(), ToldAttributes::told_at(nanos));
    }

    /// Another file has the name, or none.
    pub(super) fn forget(&mut self, place: &Place) {
        self.0.remove(place);
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, a plan from a record without a mount expects storage to be asked for each stat of
    //! a program that polls.
    use super::*;
    use forebay_model::TreeId;

    #[test]
    fn attributes_are_asked_for_once_until_they_are_old() {
        let mut known = KnownAttributes::default();
        let place = |name: &[u8]| (TreeId(0), name.to_vec());
        let (one, other) = (place(b"one"), place(b"other"));
        assert!(known.needs_request(&one, 0) && known.needs_request(&other, 1));
        assert!(!known.needs_request(&one, BELIEVED_NANOS - 1));
        assert!(known.needs_request(&one, BELIEVED_NANOS));
        assert!(!known.needs_request(&one, BELIEVED_NANOS + 1), "they were told anew");
        known.forget(&one);
        assert!(known.needs_request(&one, BELIEVED_NANOS + 2));
        known.note_told(&other, BELIEVED_NANOS);
        assert!(!known.needs_request(&other, 2 * BELIEVED_NANOS - 1), "they came with an open");
    }

    #[test]
    fn what_is_kept_in_mind_is_bounded() {
        let mut known = KnownAttributes::default();
        for number in 0..3 * MOST_NAMES {
            assert!(known.needs_request(&(TreeId(0), number.to_string().into_bytes()), 0));
            assert!(known.0.len() <= MOST_NAMES);
        }
    }
}
