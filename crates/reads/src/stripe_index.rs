//! The lower level of the index: a page for each stripe, which tells its groups. Where a chunk
//! lies follows from the lengths of those before it.

use crate::error::{Error, Result};
use crate::hash::{Hash, hash};
use crate::manifest::Stripe;
use crate::row_group::{COLUMNS, Column, EncodedMate, TEXT_MAX};
use crate::wire::{WireReader, append_varint};

/// A chunk where it lies.
#[derive(Clone, Debug)]
pub(crate) struct LocatedChunk {
    pub(crate) column: Column,
    pub(crate) codec: u8,
    pub(crate) raw_len: usize,
    /// Which of the manifest's objects.
    pub(crate) object: usize,
    pub(crate) offset: u64,
    pub(crate) len: usize,
    pub(crate) hash: Hash,
}

/// One mate's part of a group, where it lies.
#[derive(Clone, Debug)]
pub(crate) struct LocatedMate {
    pub(crate) text_len: usize,
    pub(crate) style: u8,
    pub(crate) rule: u8,
    pub(crate) chunks: Vec<LocatedChunk>,
}

/// A row group, where it lies.
#[derive(Clone, Debug)]
pub(crate) struct LocatedGroup {
    /// Its number in the archive.
    pub(crate) number: usize,
    /// Reads of each mate; 0 if that is not known.
    pub(crate) spots: usize,
    pub(crate) mates: Vec<LocatedMate>,
}

/// Appends a group to a page.
pub(crate) fn append_group(page: &mut Vec<u8>, spots: usize, mates: &[EncodedMate]) {
    append_varint(page, spots as u64);
    for mate in mates {
        append_varint(page, mate.text_len as u64);
        page.extend([mate.style, mate.rule, mate.chunks.len() as u8]);
        for chunk in &mate.chunks {
            page.extend([chunk.column as u8, chunk.codec]);
            append_varint(page, chunk.raw_len as u64);
            append_varint(page, chunk.bytes.len() as u64);
            page.extend(hash(&chunk.bytes));
        }
    }
}

/// Reads the page of a stripe, whose first group has number `first`.
pub(crate) fn parse_page(
    page: &[u8],
    stripe: &Stripe,
    mates: usize,
    first: usize,
) -> Result<Vec<LocatedGroup>> {
    let mut wire = WireReader::new(page);
    let mut at: Vec<u64> = stripe.families.iter().map(|family| family.offset).collect();
    let mut groups = Vec::new();
    while !wire.is_empty() {
        let spots = wire.read_bounded_varint(TEXT_MAX)?;
        let mates = (0..mates).map(|_| read_mate(&mut wire, stripe, &mut at));
        let mates = mates.collect::<Result<Vec<LocatedMate>>>()?;
        groups.push(LocatedGroup { number: first + groups.len(), spots, mates });
    }
    let ends = stripe.families.iter().map(|family| family.offset.saturating_add(family.len));
    match ends.eq(at) && groups.len() == stripe.groups {
        true => Ok(groups),
        false => Err(Error::damaged("page and stripe differ")),
    }
}

fn read_mate(wire: &mut WireReader<'_>, stripe: &Stripe, at: &mut [u64]) -> Result<LocatedMate> {
    let text_len = wire.read_bounded_varint(TEXT_MAX)?;
    let [style, rule, count] = wire.read_array()?;
    let mut chunks = Vec::new();
    for _ in 0..count {
        let [column, codec] = wire.read_array()?;
        let column = COLUMNS.into_iter().find(|known| *known as u8 == column);
        let column = column.ok_or_else(|| Error::damaged("a column that there is not"))?;
        let raw_len = wire.read_bounded_varint(TEXT_MAX)?;
        // Encoded bytes are never more than raw ones and some framing.
        let len = wire.read_bounded_varint(TEXT_MAX + (1 << 16))?;
        let family = column.family();
        let (object, offset) = (stripe.families[family].object, at[family]);
        at[family] = offset.saturating_add(len as u64);
        chunks.push(LocatedChunk {
            column,
            codec,
            raw_len,
            object,
            offset,
            len,
            hash: wire.read_array()?,
        });
    }
    Ok(LocatedMate { text_len, style, rule, chunks })
}
