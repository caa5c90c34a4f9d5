//! The text of a mate, put together record by record of columns that are decoded only so far: each
//! base and quality is written once, where it stays.

use std::ops::Range;
use std::sync::Arc;

use memchr::memchr;

use super::{is_blank_text, split_record};
use crate::codecs::{OpenColumn, SLACK};
use crate::columns::{ExceptionRuns, MateColumns, NAME_TWICE, OPEN, line_end};
use crate::error::{Error, Kind, Result};
use crate::kept_bytes::KeptBytes;
use crate::mates::MateNameRule;

/// Where text is put together, record by record.
#[derive(Debug, Default)]
pub(crate) struct TextBuffer {
    bytes: KeptBytes,
    len: usize,
}

impl TextBuffer {
    /// With room for so many bytes; it grows where that was too little.
    pub(crate) fn new(len: usize) -> TextBuffer {
        TextBuffer { bytes: KeptBytes::from(vec![0; len + SLACK]), len: 0 }
    }

    /// The same in a buffer that others had before and will have again.
    pub(crate) fn kept(len: usize) -> TextBuffer {
        TextBuffer { bytes: KeptBytes::with_len(len + SLACK), len: 0 }
    }

    pub(crate) fn into_text(self) -> Vec<u8> {
        self.bytes.into_vec(self.len)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Room behind what was put together: `len` bytes and [`SLACK`], which are anything.
    #[inline]
    fn next_room(&mut self, len: usize) -> &mut [u8] {
        let end = self.len + len + SLACK;
        if end > self.bytes.len() {
            self.bytes.set_len(end.max(2 * self.bytes.len()));
        }
        &mut self.bytes[self.len..end]
    }

    pub(crate) fn append(&mut self, text: &[u8]) {
        self.next_room(text.len())[..text.len()].copy_from_slice(text);
        self.len += text.len();
    }
}

/// A mate that is decoded so far that its text can be written.
#[derive(Debug)]
pub(crate) enum MateText {
    /// Kept as text; and how much of it was taken.
    Whole(Vec<u8>, usize),
    Columns(Box<ColumnText>),
}

/// The columns of a mate, and how far they are written.
#[derive(Debug)]
pub(crate) struct ColumnText {
    pub(super) style: u8,
    pub(super) rule: MateNameRule,
    pub(super) lengths: Vec<u32>,
    pub(super) bases: OpenColumn,
    pub(super) exceptions: ExceptionRuns,
    pub(super) qualities: OpenColumn,
    /// Of this mate, or of the first one and to be changed by the rule.
    pub(super) names: Arc<Vec<u8>>,
    /// Bytes of the names that were taken, reads, and bytes of text that are still to come.
    pub(super) name: usize,
    pub(super) read: usize,
    pub(super) text_left: usize,
}

impl MateText {
    /// Bytes that are still to come.
    pub(crate) fn text_left(&self) -> usize {
        match self {
            MateText::Whole(text, at) => text.len() - at,
            MateText::Columns(columns) => columns.text_left,
        }
    }

    /// Whether it has nothing that anybody would miss ([`is_blank_text`]).
    pub(crate) fn is_blank(&self) -> bool {
        match self {
            MateText::Whole(text, _) => is_blank_text(text),
            MateText::Columns(columns) => columns.text_left == 0,
        }
    }

    /// Appends the next record; false if there is none.
    ///
    /// # Errors
    /// The columns are damaged; [`Kind::Request`] if the text has no records.
    #[inline]
    pub(crate) fn write_record(&mut self, out: &mut TextBuffer) -> Result<bool> {
        match self {
            MateText::Columns(columns) => columns.write_record(out),
            MateText::Whole(text, at) if *at == text.len() => Ok(false),
            MateText::Whole(text, at) => {
                let record = split_record(&text[*at..]).ok_or_else(no_records_error)?.0;
                out.append(record);
                *at += record.len();
                Ok(true)
            }
        }
    }

    /// Appends what comes next until there are `full` bytes or nothing more; false then.
    ///
    /// # Errors
    /// The columns are damaged.
    pub(crate) fn fill_window(&mut self, out: &mut TextBuffer, full: usize) -> Result<bool> {
        match self {
            MateText::Columns(columns) => {
                while out.len() < full {
                    if !columns.write_record(out)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            MateText::Whole(text, at) => {
                let part = (text.len() - *at).min(full.saturating_sub(out.len()));
                out.append(&text[*at..*at + part]);
                *at += part;
                Ok(*at < text.len())
            }
        }
    }

    /// A part of a text of `text_len` bytes, of which this has all from some place before on.
    ///
    /// # Errors
    /// The columns are damaged.
    pub(crate) fn into_part(mut self, text_len: usize, part: Range<usize>) -> Result<Vec<u8>> {
        let missing = || Error::damaged("a part of a text is not in it");
        let at = text_len.checked_sub(self.text_left()).ok_or_else(missing)?;
        let mut out = TextBuffer::new(part.len() + (4 << 10));
        self.fill_window(&mut out, part.end.checked_sub(at).ok_or_else(missing)?)?;
        let from = part.start.checked_sub(at).ok_or_else(missing)?;
        let found = out.as_bytes().get(from..from + part.len());
        found.map(<[u8]>::to_vec).ok_or_else(missing)
    }

    /// All that is still to come.
    ///
    /// # Errors
    /// The columns are damaged.
    pub(crate) fn into_text(mut self) -> Result<Vec<u8>> {
        if let MateText::Whole(text, 0) = self {
            return Ok(text);
        }
        let mut out = TextBuffer::new(self.text_left());
        self.fill_window(&mut out, usize::MAX)?;
        Ok(out.into_text())
    }
}

/// Records of a mate that have all of a part of its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordSpan {
    pub(super) first: usize,
    /// The record behind the last.
    pub(super) end: usize,
    /// Where the first one's name begins among all, and where the record begins in the text.
    pub(super) name: usize,
    pub(super) text: usize,
}

impl RecordSpan {
    /// The records that have `part` of a text of such columns.
    ///
    /// # Errors
    /// There are fewer names than reads, or the part begins behind all records.
    pub(super) fn find_part(
        style: u8,
        lengths: &[u32],
        names: &[u8],
        part: &Range<usize>,
    ) -> Result<RecordSpan> {
        let (mut found, mut name, mut text) = (None, 0, 0);
        for (nth, len) in lengths.iter().enumerate() {
            let stop = memchr(b'\n', &names[name..]);
            let stop = stop.ok_or_else(|| Error::damaged("names are missing"))?;
            let end = text + MateColumns::record_len(style, stop, *len as usize);
            if end > part.start {
                let span = found.get_or_insert(RecordSpan { first: nth, end: nth, name, text });
                span.end = nth + 1;
                if end >= part.end {
                    break;
                }
            }
            name += stop + 1;
            text = end;
        }
        found.ok_or_else(|| Error::damaged("a part of a text begins behind it"))
    }
}

impl ColumnText {
    /// Passes over the records before those that are wanted; nothing was written yet.
    pub(super) fn skip_to(&mut self, span: RecordSpan) -> Result<()> {
        let before = &self.lengths[..span.first];
        self.bases.skip_reads(before)?;
        self.qualities.skip_reads(before)?;
        self.exceptions.skip_bases(before.iter().map(|len| *len as usize).sum())?;
        let more = || Error::damaged("names do not end where they should");
        self.text_left = self.text_left.checked_sub(span.text).ok_or_else(more)?;
        (self.read, self.name) = (span.first, span.name);
        Ok(())
    }

    #[inline]
    fn write_record(&mut self, out: &mut TextBuffer) -> Result<bool> {
        let Some(len) = self.lengths.get(self.read) else {
            return match self.text_left {
                0 => Ok(false),
                _ => Err(Error::damaged("names do not end where they should")),
            };
        };
        let len = *len as usize;
        let names = &self.names[self.name..];
        let stop = memchr(b'\n', names).ok_or_else(|| Error::damaged("names are missing"))?;
        let end = line_end(self.style);
        let twice = self.style & NAME_TWICE != 0;
        let room = out.next_room(MateColumns::record_len(self.style, stop, len));
        room[0] = b'@';
        let mut at = 1 + stop;
        room[1..at].copy_from_slice(&names[..stop]);
        self.rule.apply_to_name(&mut room[1..at]);
        at = put(room, at, end);
        self.bases.write_read(&mut room[at..], len)?;
        self.exceptions.apply_to_read(&mut room[at..at + len])?;
        at = put(room, at + len, end);
        room[at] = b'+';
        at += 1;
        if twice {
            room.copy_within(1..1 + stop, at);
            at += stop;
        }
        at = put(room, at, end);
        self.qualities.write_read(&mut room[at..], len)?;
        at += len;
        self.name += stop + 1;
        self.read += 1;
        if self.read < self.lengths.len() || self.style & OPEN == 0 {
            at = put(room, at, end);
        }
        let more = || Error::damaged("names do not end where they should");
        self.text_left = self.text_left.checked_sub(at).ok_or_else(more)?;
        out.len += at;
        Ok(true)
    }
}

#[inline]
fn put(room: &mut [u8], at: usize, end: &[u8]) -> usize {
    match end {
        [byte] => room[at] = *byte,
        end => room[at..at + end.len()].copy_from_slice(end),
    }
    at + end.len()
}

/// What whoever wants reads of such a text is told.
pub(crate) fn no_records_error() -> Error {
    let words = "its text has no records of four lines; the file as it was can be had";
    Error::new(Kind::Request, words)
}
