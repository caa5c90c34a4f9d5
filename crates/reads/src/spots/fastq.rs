//! FASTQ of a program, read by read: records of four lines.

use std::io::{BufRead, BufReader, Read};

use super::{MatePart, input_error};
use crate::error::{Error, Kind, Result};
use crate::window::RECORD_MAX;

/// The reads of a text; the one that was read last is held.
pub(super) struct FastqReader {
    from: BufReader<Box<dyn Read + Send>>,
    record: Vec<u8>,
    /// Read before their turn, the next one last.
    ahead: Vec<Vec<u8>>,
    lines: u64,
}

impl FastqReader {
    /// Begins to read. Whether the first two reads have one name.
    pub(super) fn open(source: Box<dyn Read + Send>) -> Result<(FastqReader, bool)> {
        let from = BufReader::with_capacity(256 << 10, source);
        let mut fastq = FastqReader { from, record: Vec::new(), ahead: Vec::new(), lines: 0 };
        let mut ahead = Vec::new();
        while ahead.len() < 2 && fastq.next_read()?.is_some() {
            ahead.push(std::mem::take(&mut fastq.record));
        }
        let paired = ahead.len() == 2 && record_name(&ahead[0]) == record_name(&ahead[1]);
        ahead.reverse();
        fastq.ahead = ahead;
        Ok((fastq, paired))
    }

    pub(super) fn next_read(&mut self) -> Result<Option<MatePart>> {
        if let Some(record) = self.ahead.pop() {
            self.record = record;
            return Ok(Some(MatePart::InTurn));
        }
        self.record.clear();
        for line in 0..4 {
            let start = self.record.len();
            let room = (RECORD_MAX + 1 - start.min(RECORD_MAX)) as u64;
            (&mut self.from).take(room).read_until(b'\n', &mut self.record).map_err(input_error)?;
            let text = &self.record[start..];
            if text.is_empty() && line == 0 {
                return Ok(None);
            }
            self.lines += 1;
            let begins = [b"@".as_slice(), b"", b"+", b""][line];
            if !text.starts_with(begins) || !text.ends_with(b"\n") {
                let words = format!("line {} of the text is none of a FASTQ", self.lines);
                return Err(Error::new(Kind::Input, words));
            }
        }
        Ok(Some(MatePart::InTurn))
    }

    pub(super) fn name(&self) -> &[u8] {
        record_name(&self.record)
    }

    pub(super) fn write_fastq(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.record);
    }
}

/// Up to the first space.
fn record_name(record: &[u8]) -> &[u8] {
    let end = record.iter().position(|byte| byte.is_ascii_whitespace()).unwrap_or(record.len());
    record.get(1..end).unwrap_or_default()
}
