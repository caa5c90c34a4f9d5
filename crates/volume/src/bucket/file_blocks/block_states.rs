//! What is known of the blocks of a body: which are here, and how they are read.

use std::ops::Range;

use super::BLOCK;

#[derive(Debug)]
pub(super) struct BlockStates {
    pub(super) state: Vec<BlockState>,
    pub(super) missing: usize,
    /// Where the next read would go on, and how many bytes were read one after the other, by how
    /// many reads.
    pub(super) next: u64,
    pub(super) streak: u64,
    pub(super) reads: u32,
    /// Others are at work to bring all of it.
    pub(super) filling: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockState {
    Missing,
    Asked,
    Here,
}

impl BlockStates {
    pub(super) fn all_missing(size: u64) -> BlockStates {
        let blocks = size.div_ceil(BLOCK) as usize;
        let state = vec![BlockState::Missing; blocks];
        BlockStates { state, missing: blocks, next: 0, streak: 0, reads: 0, filling: false }
    }

    /// Notes a read; tells how many bytes were read by several, one after the other.
    pub(super) fn note_read(&mut self, range: &Range<u64>) -> u64 {
        // The kernel reads ahead by several requests, not always in their order.
        let goes_on = range.start <= self.next + 4 * BLOCK && self.next <= range.start + 4 * BLOCK;
        let (streak, reads) = if goes_on { (self.streak, self.reads) } else { (0, 0) };
        (self.streak, self.reads) = (streak + (range.end - range.start), reads + 1);
        self.next = range.end.max(if goes_on { self.next } else { 0 });
        if self.reads > 1 { self.streak } else { 0 }
    }

    /// All is here: there is nothing to bring.
    pub(super) fn mark_all_present(&mut self) {
        self.state.fill(BlockState::Here);
        self.missing = 0;
    }

    /// Blocks of these bytes are here, or not after all.
    pub(super) fn settle_range(&mut self, range: &Range<u64>, is_here: bool) {
        let state = if is_here { BlockState::Here } else { BlockState::Missing };
        for block in range.start / BLOCK..range.end.div_ceil(BLOCK) {
            let before = std::mem::replace(&mut self.state[block as usize], state);
            if before == BlockState::Here {
                // It was given up meanwhile.
                self.state[block as usize] = BlockState::Here;
            } else if is_here {
                self.missing -= 1;
            }
        }
    }

    /// Claims missing blocks from `first` on.
    pub(super) fn claim_blocks(
        &mut self,
        first: u64,
        end: u64,
        most: u64,
        size: u64,
    ) -> Range<u64> {
        let last = (first + (most / BLOCK).max(1)).min(end.max(first + 1));
        let mut block = first;
        while block < last && self.state[block as usize] == BlockState::Missing {
            self.state[block as usize] = BlockState::Asked;
            block += 1;
        }
        first * BLOCK..(block * BLOCK).min(size)
    }
}
