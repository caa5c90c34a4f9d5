//! One codec: its number, lengths of reads, length of the column, then what is decoded.

use super::{FuzzTarget, sample};
use crate::codecs::{CODECS, ColumnShape, decode_column};
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
    let shape = ColumnShape { lengths: &lengths, raw_len, first: Some(&[27; 300]) };
    if let Ok(raw) = decode_column(codec % 8, wire.rest(), &shape) {
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
    seeds.extend(CODECS.iter().map(|codec| vec![codec.id, 1, 8, 8, b'A', b'C', b'G', b'T']));
    seeds
}
