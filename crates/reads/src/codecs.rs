//! Codecs: how the bytes of one column become fewer. One file each, one line in [`CODECS`].
//!
//! A codec is pure: bytes in, bytes out, and what both sides know besides ([`Shape`]). What it
//! decodes may be anything: it says so or answers with bytes of the right length, never panics,
//! and allocates no more than a few times the length that it was told.

mod bases;
mod names;
mod plain;
mod qualities;
mod same;
mod zstandard;

use crate::error::{Error, Result};

/// What both sides know of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape<'a> {
    /// Letters of each read, in order.
    pub(crate) lengths: &'a [u32],
    /// Bytes of the column before they were encoded.
    pub(crate) raw_len: usize,
}

/// A codec by its number in the format.
pub(crate) struct Codec {
    /// The number that stands in archives, for ever.
    pub(crate) id: u8,
    /// What people call it.
    pub(crate) name: &'static str,
    /// Encodes, or says that it can't or that it would not pay.
    pub(crate) encode: fn(&[u8], &Shape<'_>) -> Option<Vec<u8>>,
    /// Decodes to `raw_len` bytes.
    pub(crate) decode: fn(&[u8], &Shape<'_>) -> Result<Vec<u8>>,
}

/// All there are.
pub(crate) const CODECS: &[&Codec] = &[
    &plain::CODEC,
    &zstandard::CODEC,
    &same::CODEC,
    &bases::CODEC,
    &qualities::CODEC,
    &names::CODEC,
];

pub(crate) use bases::{LETTER, NOT_A_BASE};

/// Candidates of a column, by number; the smallest result wins, the first of equals.
pub(crate) const FOR_TEXT: &[u8] = &[zstandard::CODEC.id, plain::CODEC.id];
pub(crate) const FOR_BASES: &[u8] = &[bases::CODEC.id];
pub(crate) const FOR_QUALITIES: &[u8] =
    &[same::CODEC.id, qualities::CODEC.id, zstandard::CODEC.id, plain::CODEC.id];
pub(crate) const FOR_NAMES: &[u8] = &[names::CODEC.id, zstandard::CODEC.id, plain::CODEC.id];

fn find(id: u8) -> Option<&'static Codec> {
    CODECS.iter().find(|codec| codec.id == id).copied()
}

/// The name of a codec, for people.
pub(crate) fn name(id: u8) -> &'static str {
    find(id).map_or("unknown", |codec| codec.name)
}

/// The smallest of what the candidates make of `raw`, with its number. A candidate that comes
/// after one which did well (an eighth of the bytes, or less than a later one could save) is
/// tried all the same, but for qualities, where the general ones are never better.
pub(crate) fn encode(raw: &[u8], lengths: &[u32], candidates: &[u8]) -> (u8, Vec<u8>) {
    let shape = Shape { lengths, raw_len: raw.len() };
    let mut best: Option<(u8, Vec<u8>)> = None;
    for id in candidates {
        let special = *id != zstandard::CODEC.id && *id != plain::CODEC.id;
        if best.is_some() && !special && candidates[0] != names::CODEC.id {
            break;
        }
        let codec = find(*id).expect("candidates are in the table");
        if let Some(bytes) = (codec.encode)(raw, &shape)
            && best.as_ref().is_none_or(|(_, least)| bytes.len() < least.len())
        {
            best = Some((*id, bytes));
        }
    }
    best.unwrap_or_else(|| (plain::CODEC.id, raw.to_vec()))
}

/// Undoes [`encode`]. `raw_len` was checked by who asks.
pub(crate) fn decode(id: u8, bytes: &[u8], lengths: &[u32], raw_len: usize) -> Result<Vec<u8>> {
    let codec = find(id).ok_or_else(|| Error::damaged(format!("there is no codec {id}")))?;
    let raw = (codec.decode)(bytes, &Shape { lengths, raw_len });
    let raw = raw.map_err(|error| error.at(codec.name))?;
    match raw.len() == raw_len {
        true => Ok(raw),
        false => Err(Error::damaged(format!("{} bytes, {raw_len} were promised", raw.len()))),
    }
}

#[cfg(test)]
mod tests;
