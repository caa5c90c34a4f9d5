//! The part of an input that is being cut into records.

mod blank;

use memchr::{memchr, memchr_iter};

use crate::error::{Error, Kind, Result};
use crate::hash::FileDigests;
use crate::input::{InputEvent, TextInput};
use crate::profile::GROUP_TEXT;
use crate::row_group::TextRecords;

/// A longer record is no record: 16 MiB, which is a read of 8 million bases.
pub const RECORD_MAX: usize = 16 << 20;
/// Text without records is taken in pieces of this size at least.
const ODD_LEAST: usize = 1 << 20;

/// A text, from where it was not taken yet.
pub(crate) struct RecordWindow {
    pub(crate) input: TextInput,
    text: Vec<u8>,
    /// Lines that were taken.
    lines: u64,
    /// Files that came, and the line before the first of each.
    files: Vec<(u64, String)>,
    /// Once all of it has come.
    pub(crate) digests: Option<FileDigests>,
}

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordScan {
    /// A record that ends before this byte.
    Record(usize),
    /// Nothing more.
    End,
    /// No record: in which of its lines (0 to 3), and what is wrong.
    Odd(u64, &'static str),
}

impl RecordWindow {
    pub(crate) fn new(input: TextInput) -> RecordWindow {
        RecordWindow { input, text: Vec::new(), lines: 0, files: Vec::new(), digests: None }
    }

    /// Looks for a record at a place of the text.
    pub(crate) fn next_record(&mut self, at: usize) -> Result<RecordScan> {
        while at == self.text.len() && self.read_more()? {}
        match self.text.get(at) {
            None => return Ok(RecordScan::End),
            Some(b'@') => {}
            Some(first) => {
                return Ok(RecordScan::Odd(
                    0,
                    match first {
                        b'\r' | b'\n' => "a record begins with @, this line is blank",
                        0xef => "a record begins with @, this line with a byte order mark (BOM)",
                        _ => "a record begins with @, this line does not",
                    },
                ));
            }
        }
        let (mut ends, mut found, mut from) = ([0; 4], 0, at);
        while found < 4 {
            if let Some(end) = memchr(b'\n', &self.text[from..]) {
                from += end + 1;
                ends[found] = from;
                found += 1;
            } else if self.text.len() - at > RECORD_MAX {
                return Ok(RecordScan::Odd(found as u64, "a record of more than 16 MiB"));
            } else if !self.read_more()? {
                if found < 3 {
                    return Ok(RecordScan::Odd(found as u64, "the file ends within a record"));
                }
                ends[3] = self.text.len();
                break;
            }
        }
        if ends[3] - at > RECORD_MAX {
            return Ok(RecordScan::Odd(0, "a record of more than 16 MiB"));
        }
        let line = |nth: usize| {
            let start = if nth == 0 { at } else { ends[nth - 1] };
            let line = &self.text[start..ends[nth]];
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            line.strip_suffix(b"\r").unwrap_or(line)
        };
        Ok(if !line(2).starts_with(b"+") {
            RecordScan::Odd(2, "the third line of a record begins with +, this one does not")
        } else if line(1).len() != line(3).len() {
            RecordScan::Odd(3, "as many qualities as bases were expected")
        } else {
            RecordScan::Record(ends[3])
        })
    }

    /// Takes the text up to the last of `ends`.
    pub(crate) fn take_records(&mut self, ends: Vec<u32>) -> TextRecords {
        let end = ends.last().map_or(0, |end| *end as usize);
        TextRecords { text: self.split_front(end), ends }
    }

    /// Takes text that has no records at its front: up to the next record, or the end of a line.
    pub(crate) fn take_unparsed(&mut self) -> Result<TextRecords> {
        while self.text.len() < GROUP_TEXT && self.read_more()? {}
        let most = self.text.len().min(GROUP_TEXT);
        let mut end = None;
        let mut starts = ODD_LEAST.min(most);
        while let Some(line) = memchr(b'\n', &self.text[starts..most]) {
            starts += line + 1;
            end = Some(starts);
            if matches!(self.next_record(starts)?, RecordScan::Record(_)) {
                break;
            }
        }
        Ok(TextRecords { text: self.split_front(end.unwrap_or(most)), ends: Vec::new() })
    }

    /// The file that has a line, and the number of the line in it, counted from 1.
    fn locate_line(&self, at: usize, further: u64) -> (&str, u64) {
        let before = self.lines + memchr_iter(b'\n', &self.text[..at]).count() as u64 + further;
        let file = self.files.iter().rev().find(|(first, _)| *first <= before);
        let (first, name) = file.map_or((0, &self.input.name), |(first, name)| (*first, name));
        (name, before - first + 1)
    }

    /// An error of this place.
    pub(crate) fn error_at(&self, at: usize, further: u64, words: &str) -> Error {
        let (file, line) = self.locate_line(at, further);
        Error::new(Kind::Input, format!("{file}, line {line}: {words}"))
    }

    fn split_front(&mut self, end: usize) -> Vec<u8> {
        // As much comes again before the next time, which need not grow bit by bit.
        let mut rest = Vec::with_capacity(self.text.capacity());
        rest.extend_from_slice(&self.text[end..]);
        let mut text = std::mem::replace(&mut self.text, rest);
        text.truncate(end);
        self.lines += memchr_iter(b'\n', &text).count() as u64;
        text
    }

    /// Whether something came.
    fn read_more(&mut self) -> Result<bool> {
        if self.digests.is_some() {
            return Ok(false);
        }
        let more = self.input.read_more(&mut self.text).map_err(|error| {
            if !self.input.lined {
                return error;
            }
            let (_, line) = self.locate_line(self.text.len(), 0);
            error.with_suffix(format_args!(", in line {line}"))
        })?;
        match more {
            InputEvent::Bytes => {}
            InputEvent::File(name) => {
                let (lines, text) = (self.lines, memchr_iter(b'\n', &self.text).count() as u64);
                self.files.push((lines + text, name));
            }
            InputEvent::End(digests) => self.digests = Some(digests),
        }
        Ok(self.digests.is_none())
    }
}
