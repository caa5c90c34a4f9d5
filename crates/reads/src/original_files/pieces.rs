//! Text that is hashed as it comes, in pieces of one length, so that any run of them can be compared
//! later, wherever it turns out to begin.

use std::io::{Result as IoResult, Write};

use crate::error::{Error, Result};
use crate::hash::{Hash, hash};

/// Bytes of a piece; only the last may have fewer.
pub(super) const PIECE: usize = 64 << 10;

/// Hashes of a text under way.
pub(super) struct PieceHasher<'a> {
    rest: Vec<u8>,
    hashes: Vec<Hash>,
    progress: &'a mut (dyn FnMut(u64) + Send),
}

impl<'a> PieceHasher<'a> {
    pub(super) fn new(progress: &'a mut (dyn FnMut(u64) + Send)) -> PieceHasher<'a> {
        PieceHasher { rest: Vec::with_capacity(PIECE), hashes: Vec::new(), progress }
    }

    fn len(&self) -> u64 {
        (self.hashes.len() * PIECE + self.rest.len()) as u64
    }

    /// How long the text was, and its hashes.
    pub(super) fn into_hashes(mut self) -> (u64, Vec<Hash>) {
        let len = self.len();
        if !self.rest.is_empty() {
            self.hashes.push(hash(&self.rest));
        }
        (len, self.hashes)
    }
}

impl Write for PieceHasher<'_> {
    fn write(&mut self, bytes: &[u8]) -> IoResult<usize> {
        let mut more = bytes;
        if !self.rest.is_empty() {
            let (head, tail) = more.split_at(more.len().min(PIECE - self.rest.len()));
            self.rest.extend_from_slice(head);
            more = tail;
            if self.rest.len() == PIECE {
                self.hashes.push(hash(&self.rest));
                self.rest.clear();
            }
        }
        let whole = more.chunks_exact(PIECE);
        self.rest.extend_from_slice(whole.remainder());
        self.hashes.extend(whole.map(hash));
        let len = self.len();
        (self.progress)(len);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> IoResult<()> {
        Ok(())
    }
}

/// Whether a text that begins where a piece does is the one whose hashes these are.
pub(super) fn check_pieces(text: &[u8], start: u64, hashes: &[u8]) -> Result<()> {
    let pieces = text.chunks(PIECE);
    let same = pieces.len() * size_of::<Hash>() == hashes.len();
    let other = pieces.zip(hashes.chunks(size_of::<Hash>()));
    let other = other.map(|(piece, told)| hash(piece) == told).position(|same| !same);
    match (same, other) {
        (true, None) => Ok(()),
        (_, nth) => {
            let at = start + (nth.unwrap_or_default() * PIECE) as u64;
            let words = "its text is not what it was when it was attached";
            Err(Error::damaged(format!("byte {at} of the text: {words}")))
        }
    }
}

#[cfg(test)]
mod tests {
    //! Hashes that depend on how a text came would refuse it the next time.
    use super::*;

    #[test]
    fn however_a_text_comes_its_hashes_are_the_same() {
        let text: Vec<u8> = (0..3 * PIECE + 1000).map(|nth| (nth * 7 / 3) as u8).collect();
        for step in [1000, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, text.len()] {
            let mut told = 0;
            let mut progress = |bytes| told = bytes;
            let mut pieces = PieceHasher::new(&mut progress);
            text.chunks(step).for_each(|part| pieces.write_all(part).expect("memory"));
            let (len, hashes) = pieces.into_hashes();
            assert_eq!((len, told), (text.len() as u64, len));
            let hashes = hashes.concat();
            check_pieces(&text[PIECE..], PIECE as u64, &hashes[16..]).expect("the same");
            let mut other = text.clone();
            other[2 * PIECE + 5] ^= 1;
            let error = check_pieces(&other, 0, &hashes).expect_err("another");
            assert!(error.message.contains(&format!("byte {} ", 2 * PIECE)), "{error}");
            assert!(check_pieces(&text[..PIECE], 0, &hashes).is_err());
        }
    }
}
