//! A text of four-line records as columns, and back, byte for byte.

mod sides;

use memchr::memchr;

pub(crate) use sides::{ExceptionRuns, decode_lengths, encode_exceptions, encode_lengths};

/// Lines end in CR LF.
pub(crate) const CRLF: u8 = 1;
/// The last line has no end.
pub(crate) const OPEN: u8 = 2;
/// Names stand again behind each `+`.
pub(crate) const NAME_TWICE: u8 = 4;

/// The columns of one mate.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MateColumns {
    /// [`CRLF`], [`OPEN`], [`NAME_TWICE`]: what is the same in all records.
    pub(crate) style: u8,
    pub(crate) lengths: Vec<u32>,
    pub(crate) bases: Vec<u8>,
    pub(crate) qualities: Vec<u8>,
    /// Names without `@`, each with a line feed.
    pub(crate) names: Vec<u8>,
}

impl MateColumns {
    /// Takes a text apart, whose records end at `ends`. None if it has no such columns: it is
    /// kept as it is then.
    pub(crate) fn from_records(text: &[u8], ends: &[u32]) -> Option<MateColumns> {
        let mut columns = MateColumns::default();
        let letters = text.len() / 2;
        columns.bases.reserve(letters);
        columns.qualities.reserve(letters);
        let mut start = 0;
        for (nth, end) in ends.iter().enumerate() {
            let record = text.get(start..*end as usize)?;
            let lines = split_lines(record)?;
            if nth == 0 {
                columns.style = record_style(&lines);
            }
            let last = nth + 1 == ends.len();
            columns.push_record(lines, last)?;
            start = *end as usize;
        }
        (start == text.len() && !ends.is_empty()).then_some(columns)
    }

    fn push_record(&mut self, lines: [&[u8]; 4], last: bool) -> Option<()> {
        let open = last && !lines[3].ends_with(b"\n");
        self.style |= if open { OPEN } else { 0 };
        let end = line_end(self.style);
        let [name, bases, plus] = [lines[0], lines[1], lines[2]].map(|l| l.strip_suffix(end));
        let qualities = if open { Some(lines[3]) } else { lines[3].strip_suffix(end) }?;
        let (name, bases) = (name?.strip_prefix(b"@")?, bases?);
        let behind = plus?.strip_prefix(b"+")?;
        let expected = if self.style & NAME_TWICE == 0 { &[][..] } else { name };
        if behind != expected || bases.len() != qualities.len() {
            return None;
        }
        self.lengths.push(u32::try_from(bases.len()).ok()?);
        self.bases.extend_from_slice(bases);
        self.qualities.extend_from_slice(qualities);
        self.names.extend_from_slice(name);
        self.names.push(b'\n');
        Some(())
    }

    /// Bytes of a record that has so many letters and a name of `name` bytes, and an end of its last line.
    #[inline]
    pub(crate) fn record_len(style: u8, name: usize, letters: usize) -> usize {
        let twice = usize::from(style & NAME_TWICE != 0);
        (1 + name) * (1 + twice) + (1 - twice) + 2 * letters + 4 * line_end(style).len()
    }

    /// Bytes that a text has of so many reads with `letters` bases in all and names of `names` bytes,
    /// each with its line feed.
    pub(crate) fn text_len(style: u8, reads: usize, letters: usize, names: usize) -> Option<usize> {
        let end = line_end(style).len();
        let copies = if style & NAME_TWICE != 0 { 2 } else { 1 };
        let open = if style & OPEN == 0 { 0 } else { end };
        let sum = names.checked_sub(reads)? * copies + 2 * letters + reads * (2 + 4 * end);
        sum.checked_sub(open)
    }
}

pub(crate) fn line_end(style: u8) -> &'static [u8] {
    if style & CRLF == 0 { b"\n" } else { b"\r\n" }
}

fn record_style(lines: &[&[u8]; 4]) -> u8 {
    let crlf = lines[0].ends_with(b"\r\n");
    let bare = lines[2] == b"+\n" || lines[2] == b"+\r\n";
    (if crlf { CRLF } else { 0 }) | (if bare { 0 } else { NAME_TWICE })
}

/// The four lines of a record, with their ends.
fn split_lines(record: &[u8]) -> Option<[&[u8]; 4]> {
    let mut rest = record;
    let mut lines = [&[][..]; 4];
    for line in &mut lines[..3] {
        let end = memchr(b'\n', rest)?;
        (*line, rest) = rest.split_at(end + 1);
    }
    lines[3] = rest;
    Some(lines)
}
