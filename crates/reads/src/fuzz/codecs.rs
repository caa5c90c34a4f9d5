//! One codec: its number, lengths of reads, length of the column, then what is decoded.

use super::{FuzzTarget, sample};
use crate::codecs::{CODECS, ColumnShape, FOR_QUALITIES_QUICK, decode_column, encode_column};
use crate::wire::{WireReader, append_varint};

pub(super) const TARGET: FuzzTarget = FuzzTarget { name: "codecs", feed, seeds };
/// Longer columns than this only take time.
const LONG: usize = 1 << 20;

fn feed(bytes: &[u8]) {
    let mut wire = WireReader::new(bytes);
    let Ok([codec, count]) = wire.read_array() else { return };
    let lengths = (0..count).map(|_| Ok(wire.read_bounded_varint(LONG)? as u32));
    let Ok(lengths) = lengths.collect::<crate::Result<Vec<u32>>>() else { return };
    let Ok(raw_len) = wire.read_bounded_varint(LONG) else { return };
    let shape = ColumnShape {
        lengths: &lengths,
        raw_len,
        first: Some(&[27; 300]),
        wanted: None,
        like: None,
    };
    // One number that no codec has.
    let codec = codec % (CODECS.len() as u8 + 1);
    if let Ok(raw) = decode_column(codec, wire.rest(), &shape) {
        assert_eq!(raw.len(), raw_len);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let lengths: Vec<u32> = (0..60).map(|nth| nth * 31 % 90).collect();
    let (_, mates) = sample::encode_sample_pair();
    let chunks = mates.iter().flat_map(|mate| &mate.chunks);
    let mut seeds: Vec<Vec<u8>> = chunks
        .map(|chunk| {
            let mut bytes = vec![chunk.codec, lengths.len() as u8];
            lengths.iter().for_each(|len| append_varint(&mut bytes, u64::from(*len)));
            append_varint(&mut bytes, chunk.raw_len as u64);
            bytes.extend(&chunk.bytes);
            bytes
        })
        .collect();
    seeds.push(quality_strings_seed());
    seeds.extend(CODECS.iter().map(|codec| vec![codec.id, 1, 8, 8, b'A', b'C', b'G', b'T']));
    seeds
}

/// Enough qualities of many levels for a dictionary.
fn quality_strings_seed() -> Vec<u8> {
    let lengths = [90; 60];
    let column: Vec<u8> = (0..90 * 60_u32).map(|at| b'#' + (at * at % 37 / 2) as u8).collect();
    let shape = ColumnShape {
        lengths: &lengths,
        raw_len: column.len(),
        first: None,
        wanted: None,
        like: None,
    };
    let (codec, bytes) = encode_column(&column, &shape, FOR_QUALITIES_QUICK);
    let mut seed = vec![codec, lengths.len() as u8];
    lengths.iter().for_each(|len| append_varint(&mut seed, u64::from(*len)));
    append_varint(&mut seed, column.len() as u64);
    seed.extend(bytes);
    seed
}
