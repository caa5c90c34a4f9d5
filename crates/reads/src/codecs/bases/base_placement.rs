//! Where a read goes in the column of bases: as it is or the other way round (reverse complement),
//! and how many letters into its first byte. zstd compares bytes, so bases that were there before
//! are found only if they stand in their bytes as they stood then. Mates of a short fragment, and
//! reads of one transcript, overlap anyhow, and in either direction.

use super::LETTER;

/// Letters that are looked for: what fits four bytes.
const LETTERS: usize = 16;
/// Sixteen letters are remembered each in 1 << SEEN places: 1 MiB.
const SEEN: u32 = 18;
/// How often a placing must be found before it counts, and how much oftener than none.
const LEAST: u8 = 2;

/// A place: letters before the read in its first byte, and whether it is turned round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BasePlacement {
    pub(super) skip: usize,
    pub(super) turned: bool,
}

impl BasePlacement {
    pub(super) fn from_number(number: u8) -> BasePlacement {
        BasePlacement { skip: usize::from(number & 3), turned: number & 4 != 0 }
    }

    /// Bytes that a read takes there.
    pub(super) fn byte_len(self, letters: usize) -> usize {
        (self.skip + letters).div_ceil(4)
    }
}

/// What was seen, in whole bytes.
#[derive(Debug)]
pub(super) struct WindowTable {
    table: Vec<u32>,
}

fn table_slot(letters: u32) -> usize {
    (letters.wrapping_mul(0x9e37_79b1) >> (32 - SEEN)) as usize
}

/// One, two or three letters again and again are everywhere, and say nothing.
fn is_repetitive(letters: u32) -> bool {
    [2, 4, 6].iter().any(|shift| letters >> shift == letters << shift >> shift)
}

impl WindowTable {
    pub(super) fn new(packed: &[u8]) -> WindowTable {
        let mut seen = WindowTable { table: vec![0; 1 << SEEN] };
        seen.learn_windows(packed);
        seen
    }

    pub(super) fn learn_windows(&mut self, packed: &[u8]) {
        for window in packed.windows(4) {
            let letters = u32::from_le_bytes(window.try_into().expect("four"));
            self.table[table_slot(letters)] = letters;
        }
    }

    fn has_seen(&self, letters: u32) -> bool {
        self.table[table_slot(letters)] == letters && !is_repetitive(letters)
    }

    /// The place of a read (number of [`BasePlacement::from_number`]) where most of it was seen.
    pub(super) fn choose_place(&self, read: &[u8]) -> u8 {
        let mut votes = [0_u8; 8];
        let (mut forth, mut back) = (0_u32, 0_u32);
        for (at, byte) in read.iter().enumerate() {
            let letter = u32::from(LETTER[usize::from(*byte)] & 3);
            forth = forth >> 2 | letter << 30;
            back = back << 2 | (3 - letter);
            if at + 1 < LETTERS {
                continue;
            }
            if self.has_seen(forth) {
                let votes = &mut votes[!at & 3];
                *votes = votes.saturating_add(1);
            }
            if self.has_seen(back) {
                // Where the last of these letters stands when the read is turned round.
                let last = read.len() - 1 - at + LETTERS - 1;
                let votes = &mut votes[4 + (!last & 3)];
                *votes = votes.saturating_add(1);
            }
        }
        let best = (1..8_u8).rev().max_by_key(|place| votes[usize::from(*place)]).unwrap_or(0);
        let most = votes[usize::from(best)];
        if most >= LEAST && most > votes[0].saturating_add(1) { best } else { 0 }
    }
}
