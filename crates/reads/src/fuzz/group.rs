//! A group: what its page says of it, with the chunks themselves between.

use super::{Target, sample};
use crate::error::Result;
use crate::group::{self, COLUMNS, Chunk, Column, Lent, Mate};
use crate::wire::{Wire, put, put_bytes};

pub(super) const TARGET: Target = Target { name: "group", feed, seeds };
/// Longer texts than this only take time.
const LONG: usize = 1 << 20;

fn feed(bytes: &[u8]) {
    let mut wire = Wire::new(bytes);
    let Ok(spots) = wire.number() else { return };
    let (mut first, leans) = (Lent::default(), [Column::Names, Column::Bases]);
    while let Ok(mate) = mate(&mut wire) {
        let lent = group::lend(&mate, spots as usize, &leans);
        let decoded = group::decode(&mate, spots as usize, &first, &leans);
        first = match decoded {
            Ok((text, lent)) => {
                assert_eq!(text.len(), mate.text_len);
                lent
            }
            Err(_) => lent.unwrap_or_default(),
        };
    }
}

fn mate(wire: &mut Wire<'_>) -> Result<Mate> {
    let text_len = wire.at_most(LONG)?;
    let [style, rule, count] = wire.array()?;
    let mut chunks = Vec::new();
    for _ in 0..count {
        let [column, codec] = wire.array()?;
        let column = COLUMNS[usize::from(column) % COLUMNS.len()];
        let raw_len = wire.at_most(LONG)?;
        chunks.push(Chunk { column, codec, raw_len, bytes: wire.bytes()?.to_vec() });
    }
    Ok(Mate { text_len, style, rule, chunks })
}

fn seeds() -> Vec<Vec<u8>> {
    let (spots, mates) = sample::pair();
    let mut bytes = Vec::new();
    put(&mut bytes, spots as u64);
    for mate in &mates {
        put(&mut bytes, mate.text_len as u64);
        bytes.extend([mate.style, mate.rule, mate.chunks.len() as u8]);
        for chunk in &mate.chunks {
            bytes.extend([chunk.column as u8, chunk.codec]);
            put(&mut bytes, chunk.raw_len as u64);
            put_bytes(&mut bytes, &chunk.bytes);
        }
    }
    vec![bytes]
}
