//! A row group: some reads, each mate's columns encoded by themselves, and decoded again to see
//! that every byte comes back. What does not come back so is kept as text.

use crate::codecs::{self, Candidates, FOR_BASES, FOR_NAMES, FOR_QUALITIES, FOR_TEXT};
use crate::columns::{Columns, exceptions, mend, put_lengths, take_lengths};
use crate::error::{Error, Result};
use crate::mates::Rule;

/// Bytes of one mate's text in a group at most, whatever an archive says.
pub const TEXT_MAX: usize = 20 << 20;

/// What a chunk holds; the number stands in archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Letters of each read.
    Lengths = 0,
    /// Bases.
    Bases = 1,
    /// Where bases are no A, C, G or T.
    Exceptions = 2,
    /// Text that has no columns.
    Text = 3,
    /// Names.
    Names = 4,
    /// Qualities.
    Qualities = 5,
}

/// All columns.
pub const COLUMNS: [Column; 6] = [
    Column::Lengths,
    Column::Bases,
    Column::Exceptions,
    Column::Text,
    Column::Names,
    Column::Qualities,
];

impl Column {
    /// What lies together in a stripe: bases with what they need, names, qualities.
    #[must_use]
    pub fn family(self) -> usize {
        match self {
            Column::Names => 1,
            Column::Qualities => 2,
            _ => 0,
        }
    }

    /// Its name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Column::Lengths => "lengths",
            Column::Bases => "bases",
            Column::Exceptions => "exceptions of bases",
            Column::Text => "text",
            Column::Names => "names",
            Column::Qualities => "qualities",
        }
    }
}

/// One column of one mate, encoded.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) column: Column,
    pub(crate) codec: u8,
    pub(crate) raw_len: usize,
    pub(crate) bytes: Vec<u8>,
}

/// One mate's part of a group.
#[derive(Debug)]
pub(crate) struct Mate {
    pub(crate) text_len: usize,
    /// What all records have in common; see [`Columns::style`].
    pub(crate) style: u8,
    /// A number of [`Rule`]: where names of a second mate come from.
    pub(crate) rule: u8,
    pub(crate) chunks: Vec<Chunk>,
}

/// A text, and where its records end; no ends if it is not known to have records.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) text: Vec<u8>,
    pub(crate) ends: Vec<u32>,
}

/// Encodes a mate; `first` are the names of the first one, if this is a second.
pub(crate) fn encode(records: &Records, first: Option<&[u8]>) -> (Mate, Option<Vec<u8>>) {
    if let Some(columns) = Columns::of(&records.text, &records.ends) {
        let mate = of_columns(&columns, records.text.len(), first);
        let again = decode(&mate, columns.lengths.len(), first);
        if again.is_ok_and(|(text, _)| text == records.text) {
            return (mate, Some(columns.names));
        }
    }
    let chunks = vec![chunk(Column::Text, &records.text, &[], FOR_TEXT)];
    (Mate { text_len: records.text.len(), style: 0, rule: Rule::Own as u8, chunks }, None)
}

fn chunk(column: Column, raw: &[u8], lengths: &[u32], candidates: Candidates) -> Chunk {
    let (codec, bytes) = codecs::encode(raw, lengths, candidates);
    Chunk { column, codec, raw_len: raw.len(), bytes }
}

fn of_columns(columns: &Columns, text_len: usize, first: Option<&[u8]>) -> Mate {
    let lengths = &columns.lengths;
    let mut chunks = vec![chunk(Column::Lengths, &put_lengths(lengths), &[], FOR_TEXT)];
    let odd = exceptions(&columns.bases);
    // Text that is mostly no bases (proteins, say) is better off as text.
    if odd.len() > columns.bases.len() / 4 {
        chunks.push(chunk(Column::Bases, &columns.bases, lengths, FOR_TEXT));
    } else {
        chunks.push(chunk(Column::Bases, &columns.bases, lengths, FOR_BASES));
        if !odd.is_empty() {
            chunks.push(chunk(Column::Exceptions, &odd, &[], FOR_TEXT));
        }
    }
    let rule = first.map_or(Rule::Own, |first| Rule::of(first, &columns.names));
    if rule == Rule::Own {
        chunks.push(chunk(Column::Names, &columns.names, lengths, FOR_NAMES));
    }
    chunks.push(chunk(Column::Qualities, &columns.qualities, lengths, FOR_QUALITIES));
    Mate { text_len, style: columns.style, rule: rule as u8, chunks }
}

/// Decodes a mate of `spots` reads to its text, and its names if it has any.
pub(crate) fn decode(
    mate: &Mate,
    spots: usize,
    first: Option<&[u8]>,
) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
    let text_len = mate.text_len;
    if text_len > TEXT_MAX || mate.chunks.iter().any(|c| c.raw_len > text_len.max(16)) {
        return Err(Error::damaged("a column is longer than it can be"));
    }
    if let Some(text) = raw(mate, Column::Text, &[])? {
        let same = text.len() == text_len;
        return same.then_some((text, None)).ok_or_else(|| Error::damaged("text is missing"));
    }
    // A record has six bytes besides its letters, but for the end of a last line.
    if spots > text_len / 6 + 1 {
        return Err(Error::damaged("more reads than there is text"));
    }
    let lengths = needed(mate, Column::Lengths, &[])?;
    let lengths = take_lengths(&lengths, spots, text_len / 2)?;
    let mut bases = needed(mate, Column::Bases, &lengths)?;
    if let Some(odd) = raw(mate, Column::Exceptions, &[])? {
        mend(&mut bases, &odd)?;
    }
    let qualities = needed(mate, Column::Qualities, &lengths)?;
    let letters: usize = lengths.iter().map(|len| *len as usize).sum();
    if bases.len() != letters || qualities.len() != letters {
        return Err(Error::damaged("bases, qualities and lengths differ"));
    }
    let rule = Rule::find(mate.rule).ok_or_else(|| Error::damaged("no such rule of names"))?;
    let names = match (rule, first) {
        (Rule::Own, _) => needed(mate, Column::Names, &lengths)?,
        (rule, Some(first)) => rule.apply(first),
        (_, None) => return Err(Error::damaged("names of the first mate are missing")),
    };
    let columns = Columns { style: mate.style, lengths, bases, qualities, names };
    Ok((columns.text(text_len)?, Some(columns.names)))
}

/// The names of a mate of which nothing else was fetched.
pub(crate) fn names(mate: &Mate, spots: usize) -> Result<Option<Vec<u8>>> {
    let too_many = spots > mate.text_len / 6 + 1;
    if too_many || mate.chunks.iter().any(|chunk| chunk.raw_len > mate.text_len.max(16)) {
        return Err(Error::damaged("more reads than there is text"));
    }
    raw(mate, Column::Names, &vec![0; spots])
}

fn needed(mate: &Mate, column: Column, lengths: &[u32]) -> Result<Vec<u8>> {
    let missing = || Error::damaged(format!("no {}", column.name()));
    raw(mate, column, lengths)?.ok_or_else(missing)
}

/// A column as it was.
pub(crate) fn raw(mate: &Mate, column: Column, lengths: &[u32]) -> Result<Option<Vec<u8>>> {
    let Some(chunk) = mate.chunks.iter().find(|chunk| chunk.column == column) else {
        return Ok(None);
    };
    let raw = codecs::decode(chunk.codec, &chunk.bytes, lengths, chunk.raw_len);
    raw.map(Some).map_err(|error| error.at(column.name()))
}
