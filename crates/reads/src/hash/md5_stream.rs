//! A stream whose MD5 is wanted, alone or in step with another one.

use super::md5_steps::{BLOCK, MD5_START, add_blocks};

/// What was added up so far, and what does not fill a block yet.
#[derive(Debug)]
pub(super) struct Md5Stream {
    state: [u32; 4],
    rest: Vec<u8>,
    bytes: u64,
}

impl Default for Md5Stream {
    fn default() -> Md5Stream {
        Md5Stream { state: MD5_START, rest: Vec::with_capacity(BLOCK), bytes: 0 }
    }
}

impl Md5Stream {
    pub(super) fn add_bytes(&mut self, bytes: &[u8]) {
        let bytes = self.fill_block(bytes);
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        md5::block_api::compress(&mut self.state, blocks);
        self.rest.extend_from_slice(rest);
    }

    /// Counts bytes, and takes of them what fills the block that was begun: what is left begins with
    /// a block.
    fn fill_block<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        self.bytes += bytes.len() as u64;
        if self.rest.is_empty() {
            return bytes;
        }
        let (head, left) = bytes.split_at(bytes.len().min(BLOCK - self.rest.len()));
        self.rest.extend_from_slice(head);
        if let Some(block) = self.rest.as_chunks::<BLOCK>().0.first() {
            md5::block_api::compress(&mut self.state, &[*block]);
            self.rest.clear();
        }
        left
    }

    /// Adds to each of two streams its bytes, in step as far as both have some.
    pub(super) fn add_to_both(streams: [&mut Md5Stream; 2], bytes: [&[u8]; 2]) {
        let [one, other] = streams;
        let (first, second) = (one.fill_block(bytes[0]), other.fill_block(bytes[1]));
        let ((mine, _), (theirs, _)) = (first.as_chunks::<BLOCK>(), second.as_chunks::<BLOCK>());
        for blocks in mine.iter().zip(theirs) {
            add_blocks((&mut one.state, &mut other.state), blocks);
        }
        let done = BLOCK * mine.len().min(theirs.len());
        for (stream, left) in [(one, &first[done..]), (other, &second[done..])] {
            let (blocks, rest) = left.as_chunks::<BLOCK>();
            md5::block_api::compress(&mut stream.state, blocks);
            stream.rest.extend_from_slice(rest);
        }
    }

    pub(super) fn into_md5(mut self) -> [u8; 16] {
        let bits = self.bytes.wrapping_mul(8);
        // One bit that is set, then zeros up to where the length ends a block.
        let mut end = vec![0x80];
        end.resize(1 + (2 * BLOCK - 9 - self.rest.len()) % BLOCK, 0);
        end.extend(bits.to_le_bytes());
        self.add_bytes(&end);
        let mut md5 = [0; 16];
        let words = md5.as_chunks_mut::<4>().0.iter_mut().zip(self.state);
        words.for_each(|(four, word)| *four = word.to_le_bytes());
        md5
    }
}
