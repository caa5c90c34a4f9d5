//! Reads that were left out since no mate lay beside them. Where the mate of one comes later, it was
//! there all the while: the file is in an order that its header does not tell, and whoever went on
//! would throw away nearly all of it.

use std::collections::HashSet;

use crate::hash::hash;

/// Names that are known at a time: some 64 MiB.
const MOST: usize = 4 << 20;

/// Names of first and second mates, as far as they are kept.
#[derive(Debug, Default)]
pub(super) struct UnpairedNames {
    names: [HashSet<u64>; 2],
    /// Of more names than there is room for, those are kept whose hash is a multiple of 2 to this:
    /// in a file of which no mates lie side by side, one in thousands is enough to see it.
    thinned: u32,
}

impl UnpairedNames {
    /// Takes note of a read: whether its mate was left out before.
    pub(super) fn note_left_out(&mut self, name: &[u8], mate: usize) -> bool {
        self.note_hash(name_hash(name), mate, MOST)
    }

    fn note_hash(&mut self, hash: u64, mate: usize, most: usize) -> bool {
        if hash.trailing_zeros() < self.thinned {
            return false;
        }
        if self.names[1 - mate].contains(&hash) {
            return true;
        }
        self.names[mate].insert(hash);
        while self.names.iter().map(HashSet::len).sum::<usize>() > most {
            self.thinned += 1;
            let least = self.thinned;
            self.names.iter_mut().for_each(|names| {
                names.retain(|hash| hash.trailing_zeros() >= least);
            });
        }
        false
    }
}

fn name_hash(name: &[u8]) -> u64 {
    hash(name).first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    //! A file of which all but some pairs are thrown away, with a status of success.
    use super::*;

    #[test]
    fn a_mate_that_comes_later_is_found_however_many_lie_between() {
        let mut lost = UnpairedNames::default();
        assert!(
            !lost.note_left_out(b"a", 0)
                && !lost.note_left_out(b"b", 0)
                && !lost.note_left_out(b"c", 1)
        );
        assert!(!lost.note_left_out(b"a", 0), "the same mate again");
        assert!(lost.note_left_out(b"a", 1) && lost.note_left_out(b"c", 0));

        let hash = |nth: u32| name_hash(&nth.to_le_bytes());
        let mut lost = UnpairedNames::default();
        for nth in 0..100_000 {
            assert!(!lost.note_hash(hash(nth), 0, 1000));
            assert!(lost.names[0].len() <= 1000);
        }
        let found = (0..100_000).position(|nth| lost.note_hash(hash(nth), 1, 1000));
        assert!(found.is_some_and(|nth| nth < 2000), "{found:?}");
    }
}
