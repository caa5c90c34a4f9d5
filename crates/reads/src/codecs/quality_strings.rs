//! Qualities by a dictionary: single ones and frequent strings of them are units, so that a step of
//! [`crate::rans`] decodes one to four. Numbers of units go up with the mean of their qualities, so
//! that histories of units say how high qualities were.
//!
//! ```text
//! entries - 1 u8 | each: length u8, that many qualities | units varint | rans, with lanes' starts
//! ```
//! A read is so many whole units.

mod dictionary;

use super::{Codec, ColumnShape, LetterSource, OpenColumn, SLACK};
use crate::error::{Error, Result};
use crate::kept_bytes::KeptBytes;
use crate::rans::{self, SequenceKind, SequenceModel, UnitPlace, UnitWidths, WIDTH_MAX};
use crate::wire::{WireReader, append_prefixed_bytes, append_varint};
use dictionary::Dictionary;

pub(super) const CODEC: Codec =
    Codec { id: 7, since: 2, name: "quality strings", encode: encode_usual, open: open_strings };
/// Few tables and long strings: sooner done both ways.
pub(super) const QUICK: Codec = Codec { encode: encode_quick, ..CODEC };

/// Below this many qualities dictionary and tables cost more than they save.
const LEAST: usize = 4096;
/// The same where archives are to be small: tables of strings have more entries, and are as many.
const LEAST_USUAL: usize = 1 << 20;
/// Different qualities of which [`super::qualities`] has units of two or more, all that there are.
const FEW: usize = 8;
/// Different qualities of which a small dictionary has no room for strings.
const MANY: usize = 48;
/// Different qualities at most, so that half of a large dictionary is strings.
const SYMBOLS_MAX: usize = 128;
/// Entries of a small dictionary, and qualities of each: some 1 % more bits on many levels than single
/// qualities, or fewer. More of either cost more.
const USUAL_ENTRIES: usize = 60;
const USUAL_LETTERS: usize = 3;
const QUICK_ENTRIES: usize = 256;
/// Qualities by which strings are chosen.
const LEARNED: usize = 1 << 16;
/// What strings may cost more than single qualities, if there are a fifth fewer at least, so that they
/// are decoded sooner.
const WORTH: f64 = 1.01;

fn encode_usual(raw: &[u8], shape: &ColumnShape<'_>) -> Option<Vec<u8>> {
    if raw.len() < LEAST_USUAL {
        return None;
    }
    let symbols = column_symbols(raw, shape)?;
    if !(FEW + 1..=MANY).contains(&symbols.len()) {
        return None;
    }
    match shape.like {
        Some(like) if like.codec == super::qualities::CODEC.id => return None,
        Some(like) if like.codec == CODEC.id => {
            if let Some(bytes) =
                encode_like(like.bytes, &symbols, raw, shape, SequenceKind::Qualities)
            {
                return Some(bytes);
            }
        }
        _ => {}
    }
    let dictionary = choose_strings(raw, shape, &symbols, USUAL_ENTRIES, USUAL_LETTERS);
    let sample = sampled_reads(raw, shape.lengths, LEARNED);
    let letters: usize = sample.iter().map(|read| read.len()).sum();
    if CodedReads::new(&dictionary, &sample).units.len() > letters / 5 * 4 {
        return None;
    }
    let bytes = encode_reads(&dictionary, raw, shape, SequenceKind::Qualities, None)?;
    // A sample would not do: what strings cost depends on which contexts have tables of their own.
    let reads: Vec<&[u8]> = reads_of(raw, shape.lengths).collect();
    let single = CodedReads::new(&Dictionary::of_symbols(&symbols), &reads).estimate_bits();
    (8.0 * bytes.len() as f64 <= single * WORTH).then_some(bytes)
}

fn encode_quick(raw: &[u8], shape: &ColumnShape<'_>) -> Option<Vec<u8>> {
    let symbols = column_symbols(raw, shape)?;
    if let Some(like) = shape.like.filter(|like| like.codec == CODEC.id)
        && let Some(bytes) = encode_like(like.bytes, &symbols, raw, shape, SequenceKind::Quick)
    {
        return Some(bytes);
    }
    // Of few there is room for nearly all strings of three, and four would leave many out.
    let letters = if symbols.len() <= FEW { 3 } else { WIDTH_MAX };
    let mut dictionary = choose_strings(raw, shape, &symbols, QUICK_ENTRIES, letters);
    let sample = sampled_reads(raw, shape.lengths, LEARNED.min(raw.len() / 8));
    let coded = CodedReads::new(&dictionary, &sample);
    let read: usize = sample.iter().map(|read| read.len()).sum();
    // Qualities that seldom repeat make short strings, of which fewer cost fewer bits.
    if coded.units.len() > read / 20 * 9 {
        dictionary = choose_strings(raw, shape, &symbols, QUICK_ENTRIES / 2, letters);
    }
    encode_reads(&dictionary, raw, shape, SequenceKind::Quick, None)
}

/// Encodes by dictionary and tables of a column that was encoded before; None if it lacks a quality.
fn encode_like(
    like: &[u8],
    symbols: &[u8],
    raw: &[u8],
    shape: &ColumnShape<'_>,
    kind: SequenceKind,
) -> Option<Vec<u8>> {
    let mut wire = WireReader::new(like);
    let entries = usize::from(wire.read_byte().ok()?) + 1;
    let entries = (0..entries).map(|_| Some(wire.read_prefixed_bytes().ok()?.to_vec()));
    let entries = entries.collect::<Option<Vec<Vec<u8>>>>()?;
    wire.read_bounded_varint(usize::MAX).ok()?;
    let model = SequenceModel::of_encoded(wire.rest()).ok()?;
    let has = |symbol: &u8| entries.iter().any(|entry| entry == &[*symbol]);
    symbols.iter().all(has).then_some(())?;
    encode_reads(&Dictionary::from_entries(entries), raw, shape, kind, Some(&model))
}

/// The different qualities of a column that is worth a dictionary.
fn column_symbols(raw: &[u8], shape: &ColumnShape<'_>) -> Option<Vec<u8>> {
    let letters: usize = shape.lengths.iter().map(|len| *len as usize).sum();
    if raw.len() < LEAST || letters != raw.len() {
        return None;
    }
    let mut seen = [false; 256];
    raw.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let symbols: Vec<u8> = (0..=255).filter(|byte| seen[usize::from(*byte)]).collect();
    (symbols.len() < SYMBOLS_MAX).then_some(symbols)
}

fn choose_strings(
    raw: &[u8],
    shape: &ColumnShape<'_>,
    symbols: &[u8],
    entries: usize,
    letters: usize,
) -> Dictionary {
    let sample = sampled_reads(raw, shape.lengths, LEARNED.min(raw.len() / 8));
    Dictionary::of_symbols(symbols).with_frequent_strings(&sample, entries, letters)
}

/// Reads from all over the column that have some `most` qualities.
fn sampled_reads<'a>(raw: &'a [u8], lengths: &[u32], most: usize) -> Vec<&'a [u8]> {
    let each = raw.len().div_ceil(most).max(1);
    reads_of(raw, lengths).step_by(each).collect()
}

fn reads_of<'a>(mut raw: &'a [u8], lengths: &[u32]) -> impl Iterator<Item = &'a [u8]> {
    lengths.iter().map(move |len| {
        let (read, rest) = raw.split_at(*len as usize);
        raw = rest;
        read
    })
}

fn encode_reads(
    dictionary: &Dictionary,
    raw: &[u8],
    shape: &ColumnShape<'_>,
    kind: SequenceKind,
    like: Option<&SequenceModel>,
) -> Option<Vec<u8>> {
    let mut out = vec![(dictionary.entries.len() - 1) as u8];
    for entry in &dictionary.entries {
        append_prefixed_bytes(&mut out, entry);
    }
    let reads: Vec<&[u8]> = reads_of(raw, shape.lengths).collect();
    let coded = CodedReads::new(dictionary, &reads);
    append_varint(&mut out, coded.units.len() as u64);
    let CodedReads { units, spans, widths, below } = coded;
    out.extend(rans::encode_strings(&units, &spans, &widths, below, kind, like));
    (out.len() < raw.len()).then_some(out)
}

/// Reads as units of a dictionary.
struct CodedReads {
    units: Vec<u8>,
    spans: Vec<u32>,
    widths: UnitWidths,
    below: usize,
}

impl CodedReads {
    fn new(dictionary: &Dictionary, reads: &[&[u8]]) -> CodedReads {
        let letters = reads.iter().map(|read| read.len()).sum();
        let (mut units, mut count) = (vec![0; letters], 0);
        for read in reads {
            count += dictionary.write_units(read, &mut units[count..]);
        }
        units.truncate(count);
        let spans = reads.iter().map(|read| read.len() as u32).collect();
        let mut widths: UnitWidths = [1; 256];
        for (entry, width) in dictionary.entries.iter().zip(&mut widths) {
            *width = entry.len() as u8;
        }
        CodedReads { units, spans, widths, below: dictionary.entries.len() }
    }

    /// Bits that they take by the finest contexts, more or less.
    fn estimate_bits(&self) -> f64 {
        rans::estimate_bits(&self.units, &self.spans, &self.widths, self.below)
    }
}

/// Qualities as units of a dictionary, read by read.
#[derive(Debug)]
struct QualityStrings {
    units: KeptBytes,
    /// From where on units are known, at or before the first read that is wanted.
    near: UnitPlace,
    at: usize,
    /// Of each unit its qualities, the first in the lowest byte, and how many from bit 32 on.
    meaning: Box<[u64; 256]>,
}

fn open_strings(bytes: &[u8], shape: &ColumnShape<'_>) -> Result<OpenColumn> {
    let mut wire = WireReader::new(bytes);
    let entries = usize::from(wire.read_byte()?) + 1;
    let (mut meaning, mut widths): (_, UnitWidths) = (Box::new([0; 256]), [1; 256]);
    for (meaning, width) in meaning.iter_mut().zip(&mut widths).take(entries) {
        *width = wire.read_byte()?;
        if !(1..=WIDTH_MAX).contains(&usize::from(*width)) {
            return Err(Error::damaged("a string of a length that cannot be"));
        }
        let mut eight = [0; 8];
        let entry = wire.read_slice(usize::from(*width))?;
        eight[..entry.len()].copy_from_slice(entry);
        *meaning = u64::from_le_bytes(eight) | u64::from(*width) << 32;
    }
    let count = wire.read_bounded_varint(shape.raw_len)?;
    let decoded = rans::decode_strings(wire.rest(), shape.lengths, count, &widths, shape.wanted)?;
    if decoded.below != entries {
        return Err(Error::damaged("dictionary and units differ"));
    }
    let (units, near) = (decoded.units, decoded.near);
    Ok(OpenColumn::letters(QualityStrings { units, near, at: 0, meaning }))
}

impl LetterSource for QualityStrings {
    fn skip_reads(&mut self, lengths: &[u32]) -> Result<()> {
        let until: usize = lengths.iter().map(|len| *len as usize).sum();
        let UnitPlace { mut unit, mut place } = self.near;
        while place < until {
            let entry = self.units.get(unit).map(|unit| self.meaning[usize::from(*unit)]);
            place += entry.map_or(0, |entry| (entry >> 32) as usize).max(1);
            unit += 1;
        }
        self.at = unit;
        match place == until && unit <= self.units.len() {
            true => Ok(()),
            false => Err(Error::damaged("a string goes beyond its read")),
        }
    }

    fn write_read(&mut self, to: &mut [u8], len: usize) -> Result<()> {
        let (mut done, to) = (0, &mut to[..len + SLACK]);
        let rest = &self.units[self.at..];
        let mut units = rest.iter();
        while done < len {
            let Some(unit) = units.next() else {
                return Err(Error::damaged("units are missing"));
            };
            let entry = self.meaning[usize::from(*unit)];
            // Four qualities are written at a time; what is too many the next unit writes over.
            to[done..done + 4].copy_from_slice(&(entry as u32).to_le_bytes());
            done += (entry >> 32) as usize;
        }
        self.at += rest.len() - units.len();
        match done == len {
            true => Ok(()),
            false => Err(Error::damaged("a string goes beyond its read")),
        }
    }
}
