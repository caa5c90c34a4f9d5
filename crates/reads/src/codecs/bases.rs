//! Bases: two bits each (A C G T, the first lowest), each read from a byte of its own, at a place
//! where zstd finds what it has in common with reads before it ([`base_placement`]), then zstd.
//! Those of a second mate follow on those of the first, as far as zstd can see.
//!
//! ```text
//! places: length varint, rans of one number for each read; none if all are 0 | zstd
//! ```
//! What is no A, C, G or T is stored as A here; the column of exceptions mends it.

mod base_placement;

use std::sync::Arc;

use super::{Codec, ColumnShape, LetterSource, OpenColumn, ReadRange};
use crate::error::{Error, Result};
use crate::frames;
use crate::kept_bytes::KeptBytes;
use crate::rans::{self, SequenceKind};
use crate::wire::{WireReader, append_prefixed_bytes};
use base_placement::{BasePlacement, WindowTable};

pub(super) const CODEC: Codec = Codec {
    id: 3,
    since: 1,
    name: "bases",
    encode: |raw, shape| encode_bases(raw, shape, &[], true),
    open: open_bases,
};
/// Reads at bytes as they come, and those of a second mate by themselves: larger, and sooner done.
pub(super) const QUICK: Codec =
    Codec { encode: |raw, shape| encode_bases(raw, shape, &[], false), ..CODEC };
/// Of a second mate, behind those of the first.
pub(super) const BEHIND: Codec = Codec {
    id: 6,
    since: 1,
    name: "bases behind",
    encode: |raw, shape| encode_bases(raw, shape, shape.first?, true),
    open: open_bases,
};

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

/// As [`FOUR`], the other way round.
const TURNED: [[u8; 4]; 256] = {
    let mut table = [[0; 4]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut at = 0;
        while at < 4 {
            table[byte][at] = b"TGCA"[(byte >> (6 - 2 * at)) & 3];
            at += 1;
        }
        byte += 1;
    }
    table
};

fn encode_bases(
    raw: &[u8],
    shape: &ColumnShape<'_>,
    first: &[u8],
    placed: bool,
) -> Option<Vec<u8>> {
    let mut seen = WindowTable::new(first);
    let mut packed = Vec::with_capacity(raw.len() / 4 + 2 * shape.lengths.len());
    let mut places = Vec::with_capacity(shape.lengths.len());
    let mut rest = raw;
    for len in shape.lengths {
        let (read, after) = rest.split_at_checked(*len as usize)?;
        let number = if placed { seen.choose_place(read) } else { 0 };
        let from = packed.len();
        push_packed_read(&mut packed, read, BasePlacement::from_number(number));
        if placed {
            seen.learn_windows(&packed[from..]);
        }
        places.push(number);
        rest = after;
    }
    let mut out = Vec::with_capacity(packed.len());
    if places.iter().all(|number| *number == 0) {
        places.clear();
    } else {
        places =
            rans::encode_sequence(&places, &[places.len() as u32], 8, SequenceKind::Bytes, None);
    }
    append_prefixed_bytes(&mut out, &places);
    out.extend(frames::compress_with_prefix(&packed, first));
    Some(out)
}

fn push_packed_read(packed: &mut Vec<u8>, read: &[u8], place: BasePlacement) {
    let letter = |at: usize| match place.turned {
        false => LETTER[usize::from(read[at])] & 3,
        true => 3 - (LETTER[usize::from(read[read.len() - 1 - at])] & 3),
    };
    let head = ((4 - place.skip) % 4).min(read.len());
    if head > 0 {
        let letters = (0..head).map(|at| letter(at) << (2 * (at + place.skip)));
        packed.push(letters.fold(0, |sum, bits| sum | bits));
    }
    packed.extend((head..read.len()).step_by(4).map(|from| {
        let letters = (from..read.len().min(from + 4)).map(|at| letter(at) << (2 * (at - from)));
        letters.fold(0, |sum, bits| sum | bits)
    }));
}

/// The bits of a column of at most `letters`, of so many reads: what a second mate is behind of.
pub(crate) fn expand_packed_bits(bytes: &[u8], letters: usize, reads: usize) -> Result<KeptBytes> {
    let mut wire = WireReader::new(bytes);
    wire.read_prefixed_bytes()?;
    frames::decompress_with_prefix(wire.rest(), letters / 4 + 2 * reads, &[])
}

/// Bases as their bits, read by read.
#[derive(Debug)]
struct PackedBases {
    /// None if all are 0.
    places: Option<KeptBytes>,
    bits: Arc<KeptBytes>,
    read: usize,
    at: usize,
}

fn open_bases(bytes: &[u8], shape: &ColumnShape<'_>) -> Result<OpenColumn> {
    let mut wire = WireReader::new(bytes);
    let places = match wire.read_prefixed_bytes()? {
        [] => None,
        places => {
            let count = shape.lengths.len();
            let places = rans::decode_sequence(places, &[count as u32], count)?;
            if places.below != 8 {
                return Err(Error::damaged("places that there are not"));
            }
            Some(places.units)
        }
    };
    let len = packed_len(shape.lengths, places.as_ref().map(|places| &places[..]));
    let first = shape.first.unwrap_or_default();
    let bits = match shape.wanted {
        None => frames::decompress_with_prefix(wire.rest(), len, first)?,
        Some(ReadRange { end, .. }) => {
            let lengths = shape.lengths.get(..end).unwrap_or(shape.lengths);
            let front = packed_len(lengths, places.as_ref().map(|places| &places[..]));
            frames::decompress_front(wire.rest(), front, first)?
        }
    };
    if shape.wanted.is_none() && bits.len() != len {
        return Err(Error::damaged(format!("{} bytes of bits, not {len}", bits.len())));
    }
    Ok(OpenColumn::letters(PackedBases { places, bits: Arc::new(bits), read: 0, at: 0 }))
}

/// Bytes of the bits of the first reads.
fn packed_len(lengths: &[u32], places: Option<&[u8]>) -> usize {
    let size = |len: &u32, number| BasePlacement::from_number(number).byte_len(*len as usize);
    match places {
        None => lengths.iter().map(|len| size(len, 0)).sum(),
        Some(places) => lengths.iter().zip(places).map(|(len, number)| size(len, *number)).sum(),
    }
}

impl LetterSource for PackedBases {
    fn skip_reads(&mut self, lengths: &[u32]) -> Result<()> {
        let places = self.places.as_ref().and_then(|places| places.get(self.read..));
        self.at += packed_len(lengths, places);
        self.read += lengths.len();
        Ok(())
    }

    fn share_bits(&self) -> Option<Arc<KeptBytes>> {
        Some(Arc::clone(&self.bits))
    }

    fn write_read(&mut self, to: &mut [u8], len: usize) -> Result<()> {
        let number = self.places.as_ref().map_or(0, |places| places[self.read]);
        let place = BasePlacement::from_number(number);
        let bits = &self.bits[self.at..self.at + place.byte_len(len)];
        self.read += 1;
        self.at += bits.len();
        // Four letters are written at a time. Of the first byte that is written some stand before
        // the read.
        if place.turned {
            let before = 4 * bits.len() - place.skip - len;
            write_letters(to, bits.iter().rev(), before, &TURNED);
        } else {
            write_letters(to, bits.iter(), place.skip, &FOUR);
        }
        Ok(())
    }
}

#[inline]
fn write_letters<'a>(
    mut to: &mut [u8],
    mut bits: impl Iterator<Item = &'a u8>,
    before: usize,
    letters: &[[u8; 4]; 256],
) {
    if before > 0 {
        let Some(first) = bits.next() else { return };
        let four = u32::from_le_bytes(letters[usize::from(*first)]) >> (8 * before);
        to[..4].copy_from_slice(&four.to_le_bytes());
        to = &mut to[4 - before..];
    }
    for (four, byte) in to.as_chunks_mut::<4>().0.iter_mut().zip(bits) {
        *four = letters[usize::from(*byte)];
    }
}
