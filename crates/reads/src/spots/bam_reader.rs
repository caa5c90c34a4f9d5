//! BAM, read by read (SAM specification, section 4.2): what FASTQ has of it, and no more.

mod tags;

use std::io::Read as _;
use std::ops::Range;

use super::aligned_read::{AlignedRead, REVERSE, is_coordinate_sorted, is_written_by_forebay};
use super::{MatePart, input_error, read_exactly};
use crate::error::{Error, Kind, Result};
pub(crate) use tags::REST;
use tags::rest_of_name;

/// A line of more bytes is none: most are tags, such as the signal of nanopores.
const LINE_MAX: usize = 256 << 20;
const HEADER_MAX: usize = 1 << 30;
/// Fields of fixed length in front of each line.
const FIXED: usize = 32;
/// Bases of a nibble.
pub(crate) const BASES: &[u8; 16] = b"=ACMGRSVTWYHKDBN";

/// The lines of a BAM that is unpacked already; the one that was read last is held.
pub(crate) struct BamReader<R> {
    from: R,
    line: Vec<u8>,
    flag: u16,
    name: Range<usize>,
    bases: Range<usize>,
    qualities: Range<usize>,
    /// The line was read before its turn.
    ahead: Option<MatePart>,
    /// Its tags may have the rest of a name.
    ours: bool,
    /// In the order of a reference.
    pub(crate) by_place: bool,
}

impl<R: std::io::Read> BamReader<R> {
    /// Reads the header.
    pub(crate) fn open(mut from: R) -> Result<BamReader<R>> {
        let mut text = Vec::new();
        read_exactly(&mut from, 4, &mut text)?;
        if text != b"BAM\x01" {
            return Err(Error::new(Kind::Input, "it is no BAM"));
        }
        let len = read_count(&mut from, HEADER_MAX)?;
        read_exactly(&mut from, len, &mut text)?;
        let header = String::from_utf8_lossy(&text).into_owned();
        let (by_place, ours) = (is_coordinate_sorted(&header), is_written_by_forebay(&header));
        for _ in 0..read_count(&mut from, i32::MAX as usize)? {
            let len = read_count(&mut from, HEADER_MAX)?;
            read_exactly(&mut from, len, &mut text)?;
            read_count(&mut from, usize::MAX)?;
        }
        let (line, nothing) = (Vec::new(), 0..0);
        let (name, bases) = (nothing.clone(), nothing.clone());
        let qualities = nothing;
        Ok(BamReader { from, line, flag: 0, name, bases, qualities, ahead: None, ours, by_place })
    }

    /// Looks at the first read.
    pub(super) fn peek_first(&mut self) -> Result<Option<MatePart>> {
        self.ahead = self.next_read()?;
        Ok(self.ahead)
    }

    /// Goes to the next read: its primary line.
    pub(crate) fn next_read(&mut self) -> Result<Option<MatePart>> {
        if let Some(part) = self.ahead.take() {
            return Ok(Some(part));
        }
        loop {
            self.line.clear();
            (&mut self.from).take(4).read_to_end(&mut self.line).map_err(input_error)?;
            let len = match *self.line {
                [] => return Ok(None),
                [a, b, c, d] => u32::from_le_bytes([a, b, c, d]) as usize,
                _ => return Err(input_error(std::io::ErrorKind::UnexpectedEof.into())),
            };
            if !(FIXED..=LINE_MAX).contains(&len) {
                return Err(damaged_error(&format!("a line of {len} bytes")));
            }
            read_exactly(&mut self.from, len, &mut self.line)?;
            self.split_line()?;
            if let Some(part) = MatePart::from_flags(self.flag) {
                return Ok(Some(part));
            }
        }
    }

    /// Finds the fields of a line.
    fn split_line(&mut self) -> Result<()> {
        let two = |at: usize| u16::from_le_bytes([self.line[at], self.line[at + 1]]);
        let name = usize::from(self.line[8]);
        let cigar = 4 * usize::from(two(12));
        let bases = u32::from_le_bytes(*self.line[16..].first_chunk().expect("32 bytes")) as usize;
        self.flag = two(14);
        self.name = FIXED..FIXED + name.saturating_sub(1);
        let start = FIXED + name + cigar;
        self.bases = start..start + bases.div_ceil(2);
        self.qualities = self.bases.end..self.bases.end + bases;
        if name == 0 || self.qualities.end > self.line.len() {
            return Err(damaged_error("a line that is shorter than its fields"));
        }
        Ok(())
    }

    pub(crate) fn name(&self) -> &[u8] {
        &self.line[self.name.clone()]
    }

    /// Writes the read as it was sequenced.
    pub(crate) fn write_fastq(&self, out: &mut Vec<u8>) -> Result<()> {
        let tags = &self.line[self.qualities.end..];
        let read = AlignedRead {
            name: self.name(),
            rest: if self.ours { rest_of_name(tags).unwrap_or_default() } else { &[] },
            reverse: self.flag & REVERSE != 0,
            bases: self.qualities.len(),
        };
        let qualities = self.line[self.qualities.clone()].iter().copied();
        let bases = |out: &mut Vec<u8>| {
            for byte in &self.line[self.bases.clone()] {
                let pair = [BASES[usize::from(byte >> 4)], BASES[usize::from(byte & 15)]];
                out.extend_from_slice(&pair);
            }
        };
        read.write_fastq(bases, qualities, out)
    }
}

/// A number that says how many of something there are.
fn read_count(from: &mut impl std::io::Read, most: usize) -> Result<usize> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes).map_err(input_error)?;
    let number = u32::from_le_bytes(bytes) as usize;
    if number > most {
        return Err(damaged_error(&format!("a header of {number}")));
    }
    Ok(number)
}

fn damaged_error(words: &str) -> Error {
    Error::new(Kind::Input, format!("it is damaged: {words}"))
}
