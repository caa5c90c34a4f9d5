//! Checksums of an object that is a file: a CRC-32 for each block, so that any part of it can be
//! looked at which is read. They lie in a segment, as the bytes of a small file do.

use std::ops::Range;

use super::file_blocks::BLOCK;

/// Bytes of one checksum.
const EACH: usize = 4;

/// Takes bytes as they go to the bucket.
#[derive(Debug, Default)]
pub(crate) struct BlockChecksummer {
    done: Vec<u8>,
    block: crc32fast::Hasher,
    filled: u64,
}

impl BlockChecksummer {
    pub(crate) fn add_bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = (BLOCK - self.filled).min(bytes.len() as u64) as usize;
            let (now, later) = bytes.split_at(room);
            self.block.update(now);
            self.filled += room as u64;
            if self.filled == BLOCK {
                self.finish_block();
            }
            bytes = later;
        }
    }

    /// The checksums, little-endian, in the order of the blocks.
    pub(crate) fn into_checksums(mut self) -> Vec<u8> {
        if self.filled > 0 {
            self.finish_block();
        }
        self.done
    }

    fn finish_block(&mut self) {
        let crc = std::mem::take(&mut self.block).finalize();
        self.done.extend_from_slice(&crc.to_le_bytes());
        self.filled = 0;
    }
}

/// The checksum of a block; `None`: there is none.
pub(crate) fn block_checksum(sums: &[u8], block: u64) -> Option<u32> {
    let (all, _) = sums.as_chunks::<EACH>();
    all.get(block as usize).map(|sum| u32::from_le_bytes(*sum))
}

/// Whether these bytes of a file, from the beginning of a block on, are those that were summed.
pub(crate) fn matches_checksums(sums: &[u8], range: &Range<u64>, bytes: &[u8]) -> bool {
    let first = (range.start / BLOCK) as usize * EACH;
    let Some(sums) = sums.get(first..) else { return false };
    let blocks = bytes.chunks(BLOCK as usize);
    blocks.len() * EACH <= sums.len()
        && blocks
            .zip(sums.chunks(EACH))
            .all(|(block, sum)| crc32fast::hash(block).to_le_bytes() == *sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_bytes_come_each_block_has_its_checksum() {
        let size = 2 * BLOCK as usize + 77;
        let bytes: Vec<u8> = (0..size).map(|at| ((at * at) >> 7) as u8).collect();
        let sums = |piece: usize| {
            let mut summing = BlockChecksummer::default();
            bytes.chunks(piece).for_each(|bytes| summing.add_bytes(bytes));
            summing.into_checksums()
        };
        let whole = sums(size);
        assert_eq!(whole.len(), 3 * EACH);
        for piece in [1, 1000, BLOCK as usize, BLOCK as usize + 1] {
            assert_eq!(sums(piece), whole, "in pieces of {piece}");
        }
        for range in [0..size, BLOCK as usize..size, 0..BLOCK as usize] {
            let asked = range.start as u64..range.end as u64;
            assert!(matches_checksums(&whole, &asked, &bytes[range.clone()]));
            let mut other = bytes[range.clone()].to_vec();
            let last = other.len() - 1;
            other[last] ^= 1;
            assert!(!matches_checksums(&whole, &asked, &other), "{asked:?}");
        }
        assert!(!matches_checksums(&whole[..4], &(0..size as u64), &bytes), "some are missing");
        assert!(
            !matches_checksums(&whole, &(5 * BLOCK..6 * BLOCK), &bytes[..9]),
            "there is no such block"
        );
    }
}
