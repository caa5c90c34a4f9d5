//! A row group: some reads, each mate's columns encoded by themselves, and decoded again to see
//! that every byte comes back. What does not come back so is kept as text.

mod column;
mod mate_reference;
mod mate_text;

use std::ops::Range;
use std::sync::Arc;

use memchr::memchr;

use crate::codecs::{
    self, CodecCandidates, ColumnShape, EncodedColumn, FOR_TEXT, OpenColumn, ReadRange,
};
use crate::columns::{
    ExceptionRuns, MateColumns, decode_lengths, encode_exceptions, encode_lengths,
};
use crate::error::{Error, Result};
use crate::mates::MateNameRule;
use crate::profile::PackProfile;
pub use column::{COLUMNS, Column};
use mate_reference::lends_bases;
pub(crate) use mate_reference::{MateReference, lend_columns, required_of_first};
use mate_text::{ColumnText, RecordSpan};
pub(crate) use mate_text::{MateText, TextBuffer, no_records_error};

/// Bytes of one mate's text in a group at most, whatever an archive says.
pub const TEXT_MAX: usize = 20 << 20;

/// What some editors put in front of a file.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// One column of one mate, encoded.
#[derive(Debug)]
pub(crate) struct EncodedChunk {
    pub(crate) column: Column,
    pub(crate) codec: u8,
    pub(crate) raw_len: usize,
    pub(crate) bytes: Vec<u8>,
}

/// Qualities of a mate as they were encoded, for groups that are like theirs.
#[derive(Clone, Debug)]
pub(crate) struct ColumnModel {
    codec: u8,
    bytes: Vec<u8>,
}

impl ColumnModel {
    /// Of a mate that has columns.
    pub(crate) fn of_mate(mate: &EncodedMate) -> Option<ColumnModel> {
        let chunk = mate.chunks.iter().find(|chunk| chunk.column == Column::Qualities)?;
        Some(ColumnModel { codec: chunk.codec, bytes: chunk.bytes.clone() })
    }

    fn as_column(&self) -> EncodedColumn<'_> {
        EncodedColumn { codec: self.codec, bytes: &self.bytes }
    }
}

/// One mate's part of a group.
#[derive(Debug)]
pub(crate) struct EncodedMate {
    pub(crate) text_len: usize,
    /// What all records have in common; see [`MateColumns::style`].
    pub(crate) style: u8,
    /// A number of [`MateNameRule`]: where names of a second mate come from.
    pub(crate) rule: u8,
    pub(crate) chunks: Vec<EncodedChunk>,
}

/// A text, and where its records end; no ends if it is not known to have records.
#[derive(Debug, Default)]
pub(crate) struct TextRecords {
    pub(crate) text: Vec<u8>,
    pub(crate) ends: Vec<u32>,
}

/// Whether a text has nothing in it that anybody would miss: blank lines, or the byte order mark in
/// front of a file. In the midst of reads it is passed over.
pub(crate) fn is_blank_text(text: &[u8]) -> bool {
    let lines = text.strip_prefix(BOM).unwrap_or(text);
    lines.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
}

/// A record of four lines, and the rest.
pub(crate) fn split_record(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut end = 0;
    for line in 0..4 {
        end += match memchr(b'\n', &text[end..]) {
            Some(at) => at + 1,
            None if line == 3 => text.len() - end,
            None => return None,
        };
    }
    Some(text.split_at(end))
}

/// Encodes a mate; `first` has nothing in it if this is the first one. `like` is a mate of a group near
/// by.
pub(crate) fn encode_mate(
    records: &TextRecords,
    first: &MateReference,
    profile: PackProfile,
    like: Option<&ColumnModel>,
) -> (EncodedMate, MateReference) {
    if let Some(columns) = MateColumns::from_records(&records.text, &records.ends) {
        let mate = encode_columns(&columns, records.text.len(), first, profile, like);
        let again = open_mate(&mate, columns.lengths.len(), first, &[Column::Bases], None);
        if let Ok((text, lent)) = again
            && text.into_text().is_ok_and(|text| text == records.text)
        {
            return (mate, lent);
        }
    }
    let chunks = vec![encode_chunk(Column::Text, &records.text, &[], FOR_TEXT)];
    let mate = EncodedMate {
        text_len: records.text.len(),
        style: 0,
        rule: MateNameRule::Own as u8,
        chunks,
    };
    (mate, MateReference::default())
}

fn encode_chunk(
    column: Column,
    raw: &[u8],
    lengths: &[u32],
    candidates: CodecCandidates,
) -> EncodedChunk {
    let shape = ColumnShape { lengths, raw_len: raw.len(), first: None, wanted: None, like: None };
    encode_shaped(column, raw, &shape, candidates)
}

fn encode_shaped(
    column: Column,
    raw: &[u8],
    shape: &ColumnShape<'_>,
    candidates: CodecCandidates,
) -> EncodedChunk {
    let (codec, bytes) = codecs::encode_column(raw, shape, candidates);
    EncodedChunk { column, codec, raw_len: raw.len(), bytes }
}

fn encode_columns(
    columns: &MateColumns,
    text_len: usize,
    first: &MateReference,
    profile: PackProfile,
    like: Option<&ColumnModel>,
) -> EncodedMate {
    let lengths = &columns.lengths;
    let shape = ColumnShape {
        lengths,
        raw_len: columns.bases.len(),
        first: first.bases.as_ref().map(|bits| &bits[..]),
        wanted: None,
        like: like.map(ColumnModel::as_column),
    };
    let mut chunks = vec![encode_chunk(Column::Lengths, &encode_lengths(lengths), &[], FOR_TEXT)];
    let odd = encode_exceptions(&columns.bases);
    // Text that is mostly no bases (proteins, say) is better off as text.
    if odd.len() > columns.bases.len() / 4 {
        chunks.push(encode_chunk(Column::Bases, &columns.bases, lengths, FOR_TEXT));
    } else {
        chunks.push(encode_shaped(Column::Bases, &columns.bases, &shape, profile.bases));
        if !odd.is_empty() {
            chunks.push(encode_chunk(Column::Exceptions, &odd, &[], FOR_TEXT));
        }
    }
    let rule = first
        .names
        .as_ref()
        .map_or(MateNameRule::Own, |first| MateNameRule::for_names(first, &columns.names));
    if rule == MateNameRule::Own {
        chunks.push(encode_chunk(Column::Names, &columns.names, lengths, profile.names));
    }
    chunks.push(encode_shaped(Column::Qualities, &columns.qualities, &shape, profile.qualities));
    EncodedMate { text_len, style: columns.style, rule: rule as u8, chunks }
}

/// Decodes a mate of `spots` reads as far as its text needs, and what a second one `leans` on. Of a
/// mate of which a `part` is wanted, what comes before may be left out; it lends no bases then.
pub(crate) fn open_mate(
    mate: &EncodedMate,
    spots: usize,
    first: &MateReference,
    leans: &[Column],
    part: Option<&Range<usize>>,
) -> Result<(MateText, MateReference)> {
    let text_len = mate.text_len;
    if text_len > TEXT_MAX || mate.chunks.iter().any(|c| c.raw_len > text_len.max(16)) {
        return Err(Error::damaged("a column is longer than it can be"));
    }
    if let Some(text) = optional_column(mate, Column::Text, &[])? {
        let same = text.len() == text_len;
        let start = part.map_or(0, |part| part.start.min(text_len));
        return same
            .then_some((MateText::Whole(text, start), MateReference::default()))
            .ok_or_else(|| Error::damaged("text is missing"));
    }
    // A record has six bytes besides its letters, but for the end of a last line.
    if spots > text_len / 6 + 1 {
        return Err(Error::damaged("more reads than there is text"));
    }
    let lengths = required_column(mate, Column::Lengths, &[])?;
    let lengths = decode_lengths(&lengths, spots, text_len / 2)?;
    let letters: usize = lengths.iter().map(|len| *len as usize).sum();
    let rule = MateNameRule::find_by_id(mate.rule)
        .ok_or_else(|| Error::damaged("no such rule of names"))?;
    let names = match (rule, &first.names) {
        (MateNameRule::Own, _) => Arc::new(required_column(mate, Column::Names, &lengths)?),
        (_, Some(first)) => Arc::clone(first),
        (_, None) => return Err(Error::damaged("names of the first mate are missing")),
    };
    // Counted first, so that nothing is allocated that was not announced.
    let style = mate.style;
    let found = MateColumns::text_len(style, spots, letters, names.len());
    if found != Some(text_len) {
        return Err(Error::damaged(format!("columns of {found:?} bytes, not {text_len}")));
    }
    let span = part.map(|part| RecordSpan::find_part(style, &lengths, &names, part)).transpose()?;
    let wanted = span.map(|span| ReadRange { first: span.first, end: span.end });
    let behind = first.bases.as_ref().map(|bits| &bits[..]);
    let shape =
        ColumnShape { lengths: &lengths, raw_len: letters, first: None, wanted, like: None };
    let bases = open_letters(mate, Column::Bases, &ColumnShape { first: behind, ..shape })?;
    let lent = bases.share_bits().filter(|_| part.is_none() && lends_bases(mate, leans));
    let odd = optional_column(mate, Column::Exceptions, &[])?;
    let exceptions = ExceptionRuns::new(odd.unwrap_or_default(), letters)?;
    let qualities = open_letters(mate, Column::Qualities, &shape)?;
    let reference = MateReference { names: Some(Arc::clone(&names)), bases: lent };
    let text_left = text_len;
    let (name, read) = (0, 0);
    let mut columns = ColumnText {
        style,
        rule,
        lengths,
        bases,
        exceptions,
        qualities,
        names,
        name,
        read,
        text_left,
    };
    if let Some(span) = span {
        columns.skip_to(span)?;
    }
    Ok((MateText::Columns(Box::new(columns)), reference))
}

/// A column of bases or qualities, which has as many as the reads together.
fn open_letters(mate: &EncodedMate, column: Column, shape: &ColumnShape<'_>) -> Result<OpenColumn> {
    let chunk = mate.chunks.iter().find(|chunk| chunk.column == column);
    let chunk = chunk.ok_or_else(|| Error::damaged(format!("no {}", column.name())))?;
    if chunk.raw_len != shape.raw_len {
        return Err(Error::damaged("bases, qualities and lengths differ"));
    }
    let opened = codecs::open_column(chunk.codec, &chunk.bytes, shape);
    opened.map_err(|error| error.with_context(column.name()))
}

fn required_column(mate: &EncodedMate, column: Column, lengths: &[u32]) -> Result<Vec<u8>> {
    let missing = || Error::damaged(format!("no {}", column.name()));
    optional_column(mate, column, lengths)?.ok_or_else(missing)
}

/// A column as it was.
fn optional_column(mate: &EncodedMate, column: Column, lengths: &[u32]) -> Result<Option<Vec<u8>>> {
    let Some(chunk) = mate.chunks.iter().find(|chunk| chunk.column == column) else {
        return Ok(None);
    };
    let shape =
        ColumnShape { lengths, raw_len: chunk.raw_len, first: None, wanted: None, like: None };
    let raw = codecs::decode_column(chunk.codec, &chunk.bytes, &shape);
    raw.map(Some).map_err(|error| error.with_context(column.name()))
}
