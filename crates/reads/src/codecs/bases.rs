//! Bases: two bits each (A C G T), the first lowest, each read from a byte of its own, then zstd.
//!
//! Since reads begin at bytes, a sequence that comes again is the same bytes again, and zstd
//! finds it. What is no A, C, G or T is stored as A here; the column of exceptions mends it.

use super::{Codec, Shape, zstandard};
use crate::error::{Error, Result};

pub(super) const CODEC: Codec = Codec { id: 3, name: "bases", encode, decode };

/// Stands in [`LETTER`] for bytes that are no base.
pub(crate) const NOT_A_BASE: u8 = 4;

/// The two bits of a byte, or [`NOT_A_BASE`].
pub(crate) const LETTER: [u8; 256] = {
    let mut table = [NOT_A_BASE; 256];
    table[b'A' as usize] = 0;
    table[b'C' as usize] = 1;
    table[b'G' as usize] = 2;
    table[b'T' as usize] = 3;
    table
};

const FOUR: [[u8; 4]; 256] = {
    let mut table = [[0; 4]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut at = 0;
        while at < 4 {
            table[byte][at] = b"ACGT"[(byte >> (2 * at)) & 3];
            at += 1;
        }
        byte += 1;
    }
    table
};

fn packed_len(lengths: &[u32]) -> usize {
    lengths.iter().map(|len| (*len as usize).div_ceil(4)).sum()
}

fn encode(raw: &[u8], shape: &Shape<'_>) -> Option<Vec<u8>> {
    let bits = |byte: u8| LETTER[byte as usize] & 3;
    let mut packed = Vec::with_capacity(packed_len(shape.lengths));
    let mut rest = raw;
    for len in shape.lengths {
        let (read, after) = rest.split_at_checked(*len as usize)?;
        let (whole, last) = read.as_chunks::<4>();
        packed.extend(
            whole
                .iter()
                .map(|[a, b, c, d]| bits(*a) | bits(*b) << 2 | bits(*c) << 4 | bits(*d) << 6),
        );
        if !last.is_empty() {
            let bytes = last.iter().enumerate();
            packed.push(bytes.fold(0, |sum, (at, byte)| sum | bits(*byte) << (2 * at)));
        }
        rest = after;
    }
    Some(zstandard::compress(&packed))
}

fn decode(bytes: &[u8], shape: &Shape<'_>) -> Result<Vec<u8>> {
    let packed_len = packed_len(shape.lengths);
    let packed = zstandard::expand(bytes, packed_len)?;
    if packed.len() != packed_len {
        return Err(Error::damaged(format!("{} bytes of bits, not {packed_len}", packed.len())));
    }
    // Four letters are written at a time; what is too many is written over by the next read.
    let mut raw = vec![0; shape.raw_len + 4];
    let (mut from, mut to) = (0, 0);
    for len in shape.lengths {
        let len = *len as usize;
        let bits = &packed[from..from + len.div_ceil(4)];
        let room = raw.get_mut(to..to + bits.len() * 4);
        let room = room.ok_or_else(|| Error::damaged("reads are longer than their column"))?;
        for (four, byte) in room.as_chunks_mut::<4>().0.iter_mut().zip(bits) {
            *four = FOUR[*byte as usize];
        }
        from += bits.len();
        to += len;
    }
    raw.truncate(shape.raw_len);
    Ok(raw)
}
