//! Qualities: the alphabet, one to four symbols together as a unit, then [`crate::rans`] with the
//! units before and the position in the read as context.
//!
//! ```text
//! symbols u8, that many bytes ascending | together u8 | rans
//! ```

use super::{Codec, ColumnShape, LetterSource, OpenColumn};
use crate::error::{Error, Result};
use crate::kept_bytes::KeptBytes;
use crate::rans::{self, SequenceKind, SequenceModel};
use crate::wire::WireReader;

pub(super) const CODEC: Codec = Codec {
    id: 4,
    since: 1,
    name: "qualities",
    encode: |raw, shape| encode_qualities(raw, shape, SequenceKind::Qualities),
    open: open_qualities,
};
/// The unit before is all that they know: larger, and sooner done both ways.
pub(super) const QUICK: Codec =
    Codec { encode: |raw, shape| encode_qualities(raw, shape, SequenceKind::Quick), ..CODEC };

/// Units that tables are worth for. Two of 8 symbols fit, and four of 2.
const UNITS_MAX: usize = 64;
const TOGETHER_MAX: u32 = 4;
/// Below this many qualities the tables cost more than they save.
const LEAST: usize = 2048;

fn encode_qualities(raw: &[u8], shape: &ColumnShape<'_>, kind: SequenceKind) -> Option<Vec<u8>> {
    if raw.len() < LEAST {
        return None;
    }
    let mut seen = [false; 256];
    raw.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let symbols: Vec<u8> = (0..=255).filter(|byte| seen[usize::from(*byte)]).collect();
    if symbols.len() > 255 {
        return None;
    }
    let fits = |together: &u32| symbols.len().pow(*together) <= UNITS_MAX;
    let together = (2..=TOGETHER_MAX).rev().find(fits).unwrap_or(1);
    let mut rank = [0_u8; 256];
    for (at, symbol) in symbols.iter().enumerate() {
        rank[usize::from(*symbol)] = at as u8;
    }
    let mut sequence = Vec::with_capacity(raw.len() / together as usize + shape.lengths.len());
    let mut rest = raw;
    for len in shape.lengths {
        let (read, after) = rest.split_at_checked(*len as usize)?;
        for piece in read.chunks(together as usize) {
            // A piece that is short repeats its last symbol, which costs least.
            let filled = (0..together as usize).map(|at| piece[at.min(piece.len() - 1)]);
            let ranks = filled.map(|symbol| usize::from(rank[usize::from(symbol)]));
            let unit = ranks.rev().fold(0, |unit, rank| unit * symbols.len() + rank);
            sequence.push(unit as u8);
        }
        rest = after;
    }
    let units = symbols.len().pow(together);
    let mut out = vec![symbols.len() as u8];
    out.extend_from_slice(&symbols);
    out.push(together as u8);
    // Units mean the same if all this is the same.
    let like = shape.like.filter(|like| like.codec == CODEC.id);
    let like =
        like.and_then(|like| SequenceModel::of_encoded(like.bytes.strip_prefix(&out[..])?).ok());
    let spans = unit_spans(shape, together);
    out.extend(rans::encode_sequence(&sequence, &spans, units, kind, like.as_ref()));
    (out.len() < raw.len()).then_some(out)
}

fn unit_spans(shape: &ColumnShape<'_>, together: u32) -> Vec<u32> {
    shape.lengths.iter().map(|len| len.div_ceil(together)).collect()
}

/// Qualities as units, read by read.
#[derive(Debug)]
struct QualityUnits {
    units: KeptBytes,
    at: usize,
    together: usize,
    meaning: Box<[[u8; 4]; 256]>,
}

fn open_qualities(bytes: &[u8], shape: &ColumnShape<'_>) -> Result<OpenColumn> {
    let mut wire = WireReader::new(bytes);
    let symbols = wire.read_byte()?;
    let symbols = wire.read_slice(usize::from(symbols))?;
    let together = u32::from(wire.read_byte()?);
    if symbols.is_empty() || !(1..=TOGETHER_MAX).contains(&together) {
        return Err(Error::damaged("no symbols, or too many together"));
    }
    let spans = unit_spans(shape, together);
    let count = spans.iter().map(|span| *span as usize).sum();
    let decoded = rans::decode_wanted(wire.rest(), &spans, count, shape.wanted)?;
    let (units, most) = (decoded.units, decoded.below);
    if most != symbols.len().pow(together) {
        return Err(Error::damaged("symbols and units differ"));
    }
    let mut meaning = Box::new([[0_u8; 4]; 256]);
    for (unit, meaning) in meaning.iter_mut().enumerate().take(most) {
        let mut unit = unit;
        for symbol in meaning.iter_mut().take(together as usize) {
            *symbol = symbols[unit % symbols.len()];
            unit /= symbols.len();
        }
    }
    let together = together as usize;
    Ok(OpenColumn::letters(QualityUnits { units, at: 0, together, meaning }))
}

impl LetterSource for QualityUnits {
    fn skip_reads(&mut self, lengths: &[u32]) -> Result<()> {
        self.at += lengths.iter().map(|len| (*len as usize).div_ceil(self.together)).sum::<usize>();
        Ok(())
    }

    fn write_read(&mut self, to: &mut [u8], len: usize) -> Result<()> {
        let from = self.at;
        self.at += len.div_ceil(self.together);
        let units = &self.units[from..self.at];
        match self.together {
            1 => self.write_single(to, units),
            // Four symbols are written at a time; what is too many the next unit writes over.
            2 => self.write_units::<2>(to, units),
            3 => self.write_units::<3>(to, units),
            _ => self.write_units::<4>(to, units),
        }
        Ok(())
    }
}

impl QualityUnits {
    fn write_single(&self, to: &mut [u8], units: &[u8]) {
        for (to, unit) in to.iter_mut().zip(units) {
            *to = self.meaning[usize::from(*unit)][0];
        }
    }

    fn write_units<const TOGETHER: usize>(&self, to: &mut [u8], units: &[u8]) {
        let to = &mut to[..units.len() * TOGETHER + 4];
        for (nth, unit) in units.iter().enumerate() {
            let at = nth * TOGETHER;
            to[at..at + 4].copy_from_slice(&self.meaning[usize::from(*unit)]);
        }
    }
}
