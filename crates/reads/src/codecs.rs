//! Codecs: how the bytes of one column become fewer. One file each, one line in [`CODECS`].
//!
//! A codec is pure: bytes in, bytes out, and what both sides know besides ([`ColumnShape`]). What
//! it decodes may be anything: it says so or answers with bytes of the right length, never panics,
//! and allocates no more than a few times the length that it was told.

mod bases;
mod names;
mod open_column;
mod plain;
mod qualities;
mod quality_strings;
mod same;
mod zstandard;

use crate::error::{Error, Kind, Result};
pub(crate) use crate::rans::ReadRange;

/// What both sides know of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnShape<'a> {
    /// Letters of each read, in order.
    pub(crate) lengths: &'a [u32],
    /// Bytes of the column before they were encoded.
    pub(crate) raw_len: usize,
    /// Of a second mate's bases: what [`expand_packed_bits`] says of the first's.
    pub(crate) first: Option<&'a [u8]>,
    /// The reads that are wanted, where not all are: a codec may leave out what others have.
    pub(crate) wanted: Option<ReadRange>,
    /// The same column of a group near by, which this is most likely like: who encodes need not
    /// find out all by itself then.
    pub(crate) like: Option<EncodedColumn<'a>>,
}

/// A column as it stands in an archive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EncodedColumn<'a> {
    pub(crate) codec: u8,
    pub(crate) bytes: &'a [u8],
}

/// A codec by its number in the format.
pub(crate) struct Codec {
    /// The number that stands in archives, for ever.
    pub(crate) id: u8,
    /// The first version of the format that has it.
    pub(crate) since: u8,
    /// What people call it.
    pub(crate) name: &'static str,
    /// Encodes, or says that it can't or that it would not pay.
    pub(crate) encode: fn(&[u8], &ColumnShape<'_>) -> Option<Vec<u8>>,
    /// Decodes as far as can be before somebody says where letters go.
    pub(crate) open: fn(&[u8], &ColumnShape<'_>) -> Result<OpenColumn>,
}

/// All there are.
pub(crate) const CODECS: &[&Codec] = &[
    &plain::CODEC,
    &zstandard::CODEC,
    &same::CODEC,
    &bases::CODEC,
    &qualities::CODEC,
    &names::CODEC,
    &bases::BEHIND,
    &quality_strings::CODEC,
];

pub(crate) use bases::{LETTER, NOT_A_BASE, expand_packed_bits};
use open_column::LetterSource;
pub(crate) use open_column::{OpenColumn, SLACK};
pub(crate) use same::SAME;

/// Candidates of a column. The first line in which one can do it counts; of several in a line the
/// smallest result. A quick one is decoded as its codec is.
pub(crate) type CodecCandidates = &'static [&'static [&'static Codec]];
pub(crate) const FOR_TEXT: CodecCandidates = &[&[&zstandard::CODEC], &[&plain::CODEC]];
pub(crate) const FOR_BASES: CodecCandidates = &[&[&bases::BEHIND], &[&bases::CODEC]];
pub(crate) const FOR_BASES_QUICK: CodecCandidates = &[&[&bases::QUICK]];
/// What takes bases of a first mate, and what leans on them.
pub(crate) const BASES: u8 = bases::CODEC.id;
pub(crate) const BASES_BEHIND: u8 = bases::BEHIND.id;
pub(crate) const FOR_QUALITIES: CodecCandidates = &[
    &[&same::CODEC],
    &[&quality_strings::CODEC],
    &[&qualities::CODEC],
    &[&zstandard::CODEC],
    &[&plain::CODEC],
];
pub(crate) const FOR_QUALITIES_QUICK: CodecCandidates = &[
    &[&same::CODEC],
    &[&quality_strings::QUICK],
    &[&qualities::QUICK],
    &[&zstandard::CODEC],
    &[&plain::CODEC],
];
pub(crate) const FOR_NAMES: CodecCandidates =
    &[&[&names::SURE], &[&names::CODEC, &zstandard::CODEC], &[&plain::CODEC]];

fn find_codec(id: u8) -> Option<&'static Codec> {
    CODECS.iter().find(|codec| codec.id == id).copied()
}

/// The name of a codec, for people.
pub(crate) fn codec_name(id: u8) -> &'static str {
    find_codec(id).map_or("unknown", |codec| codec.name)
}

/// The first version of the format that has a codec.
pub(crate) fn codec_version(id: u8) -> u8 {
    find_codec(id).map_or(1, |codec| codec.since)
}

/// What the best candidate makes of `raw`, with its number.
pub(crate) fn encode_column(
    raw: &[u8],
    shape: &ColumnShape<'_>,
    candidates: CodecCandidates,
) -> (u8, Vec<u8>) {
    let by = |codec: &&Codec| (codec.encode)(raw, shape).map(|bytes| (codec.id, bytes));
    let line =
        |codecs: &&[&Codec]| codecs.iter().filter_map(by).min_by_key(|(_, bytes)| bytes.len());
    candidates.iter().find_map(line).unwrap_or_else(|| (plain::CODEC.id, raw.to_vec()))
}

/// Undoes [`encode_column`]. `raw_len` was checked by who asks.
pub(crate) fn decode_column(id: u8, bytes: &[u8], shape: &ColumnShape<'_>) -> Result<Vec<u8>> {
    open_column(id, bytes, shape)?.into_bytes(shape)
}

/// The same, as far as can be before somebody says where letters go.
pub(crate) fn open_column(id: u8, bytes: &[u8], shape: &ColumnShape<'_>) -> Result<OpenColumn> {
    let unknown = || Error::new(Kind::Unknown, format!("codec {id} is not known to this Forebay"));
    let codec = find_codec(id).ok_or_else(unknown)?;
    let column = (codec.open)(bytes, shape).map_err(|error| error.with_context(codec.name))?;
    column.check_len(shape)?;
    Ok(column)
}

#[cfg(test)]
mod tests;
