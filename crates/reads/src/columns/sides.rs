//! What stands beside bases: the lengths of reads, and letters that are no bases.

use crate::codecs::{LETTER, NOT_A_BASE};
use crate::error::{Error, Result};
use crate::wire::{WireReader, append_varint};

/// Lengths as bytes: 0 and the one length that all have, or 1 and each.
pub(crate) fn encode_lengths(lengths: &[u32]) -> Vec<u8> {
    let same = lengths.windows(2).all(|pair| pair[0] == pair[1]);
    let mut raw = vec![u8::from(!same)];
    let kept = if same { &lengths[..lengths.len().min(1)] } else { lengths };
    kept.iter().for_each(|len| append_varint(&mut raw, u64::from(*len)));
    raw
}

/// Undoes [`encode_lengths`]; all reads together have at most `most` letters.
pub(crate) fn decode_lengths(raw: &[u8], count: usize, most: usize) -> Result<Vec<u32>> {
    let mut wire = WireReader::new(raw);
    let each = wire.read_byte()? != 0;
    let lengths = if each {
        let mut lengths = Vec::with_capacity(count);
        for _ in 0..count {
            lengths.push(wire.read_bounded_varint(most)? as u32);
        }
        lengths
    } else {
        vec![wire.read_bounded_varint(most)? as u32; count]
    };
    wire.expect_end()?;
    let sum: usize = lengths.iter().map(|len| *len as usize).sum();
    if sum > most {
        return Err(Error::damaged(format!("reads of {sum} letters where {most} can be")));
    }
    Ok(lengths)
}

/// What is no A, C, G or T: runs of (letters since the last run, length, byte).
pub(crate) fn encode_exceptions(bases: &[u8]) -> Vec<u8> {
    let (mut raw, mut last, mut at) = (Vec::new(), 0, 0);
    let odd = |at: usize| LETTER[usize::from(bases[at])] == NOT_A_BASE;
    while let Some(start) = (at..bases.len()).find(|at| odd(*at)) {
        let byte = bases[start];
        let len = bases[start..].iter().take_while(|other| **other == byte).count();
        append_varint(&mut raw, (start - last) as u64);
        append_varint(&mut raw, len as u64);
        raw.push(byte);
        (last, at) = (start + len, start + len);
    }
    raw
}

/// Exceptions that are put where they belong, read by read.
#[derive(Debug)]
pub(crate) struct ExceptionRuns {
    raw: Vec<u8>,
    /// Bytes of `raw` that were taken.
    at: usize,
    /// Bases up to the next run, counted from the next read, and its bases and byte; no run is left
    /// if the first is the highest there is.
    gap: usize,
    len: usize,
    byte: u8,
    /// Bases behind the run.
    rest: usize,
}

impl ExceptionRuns {
    /// Those of `letters` bases in all.
    pub(crate) fn new(raw: Vec<u8>, letters: usize) -> Result<ExceptionRuns> {
        let mut runs = ExceptionRuns { raw, at: 0, gap: 0, len: 0, byte: 0, rest: letters };
        runs.take_next(0)?;
        Ok(runs)
    }

    /// The next run, whose gap begins so many bases behind the front of the next read.
    fn take_next(&mut self, from: usize) -> Result<()> {
        let mut wire = WireReader::new(&self.raw[self.at..]);
        if wire.is_empty() {
            self.gap = usize::MAX;
            return Ok(());
        }
        let gap = wire.read_bounded_varint(self.rest)?;
        self.len = wire.read_bounded_varint(self.rest - gap)?;
        self.byte = wire.read_byte()?;
        self.rest -= gap + self.len;
        self.gap = from + gap;
        self.at = self.raw.len() - wire.rest().len();
        Ok(())
    }

    /// Passes over so many bases.
    pub(crate) fn skip_bases(&mut self, bases: usize) -> Result<()> {
        while self.gap < bases {
            let end = self.gap + self.len;
            if end > bases {
                (self.gap, self.len) = (bases, end - bases);
                break;
            }
            self.take_next(end)?;
        }
        if self.gap != usize::MAX {
            self.gap -= bases;
        }
        Ok(())
    }

    /// Mends the next read.
    #[inline]
    pub(crate) fn apply_to_read(&mut self, read: &mut [u8]) -> Result<()> {
        while self.gap < read.len() {
            let (end, len) = (self.gap + self.len, read.len());
            read[self.gap..end.min(len)].fill(self.byte);
            if end > len {
                (self.gap, self.len) = (len, end - len);
                break;
            }
            self.take_next(end)?;
        }
        if self.gap != usize::MAX {
            self.gap -= read.len();
        }
        Ok(())
    }
}
