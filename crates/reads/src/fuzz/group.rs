//! A group: what its page says of it, with the chunks themselves between.

use super::{FuzzTarget, sample};
use crate::error::Result;
use crate::row_group::{self, COLUMNS, Column, EncodedChunk, EncodedMate, MateReference};
use crate::wire::{WireReader, append_prefixed_bytes, append_varint};

pub(super) const TARGET: FuzzTarget = FuzzTarget { name: "group", feed, seeds };
/// Longer texts than this only take time.
const LONG: usize = 1 << 20;

fn feed(bytes: &[u8]) {
    let mut wire = WireReader::new(bytes);
    let Ok(spots) = wire.read_varint() else { return };
    let (mut first, leans) = (MateReference::default(), [Column::Names, Column::Bases]);
    while let Ok(mate) = read_mate(&mut wire) {
        let lent = row_group::lend_columns(&mate, spots as usize, &leans);
        let part = mate.text_len / 3..mate.text_len / 2;
        let alone = row_group::open_mate(&mate, spots as usize, &first, &leans, Some(&part))
            .and_then(|(text, _)| text.into_part(mate.text_len, part.clone()));
        let opened = row_group::open_mate(&mate, spots as usize, &first, &leans, None);
        first = match opened {
            Ok((text, lent)) => {
                if let Ok(text) = text.into_text() {
                    assert_eq!(text.len(), mate.text_len);
                    // An empty one may begin behind all records.
                    assert!(part.is_empty() || alone.is_ok_and(|alone| alone == text[part]));
                }
                lent
            }
            Err(_) => lent.unwrap_or_default(),
        };
    }
}

fn read_mate(wire: &mut WireReader<'_>) -> Result<EncodedMate> {
    let text_len = wire.read_bounded_varint(LONG)?;
    let [style, rule, count] = wire.read_array()?;
    let mut chunks = Vec::new();
    for _ in 0..count {
        let [column, codec] = wire.read_array()?;
        let column = COLUMNS[usize::from(column) % COLUMNS.len()];
        let raw_len = wire.read_bounded_varint(LONG)?;
        chunks.push(EncodedChunk {
            column,
            codec,
            raw_len,
            bytes: wire.read_prefixed_bytes()?.to_vec(),
        });
    }
    Ok(EncodedMate { text_len, style, rule, chunks })
}

fn seeds() -> Vec<Vec<u8>> {
    let (spots, mates) = sample::encode_sample_pair();
    let mut bytes = Vec::new();
    append_varint(&mut bytes, spots as u64);
    for mate in &mates {
        append_varint(&mut bytes, mate.text_len as u64);
        bytes.extend([mate.style, mate.rule, mate.chunks.len() as u8]);
        for chunk in &mate.chunks {
            bytes.extend([chunk.column as u8, chunk.codec]);
            append_varint(&mut bytes, chunk.raw_len as u64);
            append_prefixed_bytes(&mut bytes, &chunk.bytes);
        }
    }
    vec![bytes]
}
