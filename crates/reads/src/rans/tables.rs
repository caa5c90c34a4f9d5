//! Counts of units become frequencies, and frequencies bytes.

use super::cluster::ContextClusters;
use super::map::{decode_map, encode_map};
use super::{BITS, ContextModel, TABLES_MAX, UnitWidths};
use crate::error::{Error, Result};
use crate::frames;
use crate::wire::{WireReader, append_prefixed_bytes};

const ONE: u32 = 1 << BITS;

/// Frequencies that add up to [`ONE`]; what occurs keeps at least 1. None for what never occurs.
pub(super) fn normalize_counts(counts: &[u32]) -> Option<Vec<u32>> {
    let total: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    if total == 0 {
        return None;
    }
    let share = |count: &u32| match *count {
        0 => 0,
        count => ((u64::from(count) * u64::from(ONE) + total / 2) / total).max(1) as u32,
    };
    let mut shares: Vec<u32> = counts.iter().map(share).collect();
    // What rounding added or took, the largest gives or gets: it feels that least.
    loop {
        let sum: u32 = shares.iter().sum();
        let largest = shares.iter_mut().max().expect("something occurs");
        match sum.cmp(&ONE) {
            std::cmp::Ordering::Equal => return Some(shares),
            std::cmp::Ordering::Less => *largest += ONE - sum,
            std::cmp::Ordering::Greater => {
                *largest -= (sum - ONE).min((*largest / 2).max(1));
            }
        }
    }
}

/// Stands for the one frequency of a table that is what the others leave.
const REST: u8 = 72;

/// The frequency that a byte means: below 16 itself, above that four bits and some zeros.
fn decode_frequency(byte: u8) -> u32 {
    match byte {
        0..16 => u32::from(byte),
        _ => (u32::from(byte & 7) + 8) << ((byte >> 3) - 1),
    }
}

/// Frequencies with few digits, as bytes, and what they are then. All but the largest have a byte
/// of their own.
fn round_frequencies(shares: &mut [u32]) -> Vec<u8> {
    let largest = (0..shares.len()).max_by_key(|unit| shares[*unit]).expect("units");
    // To the nearest, unless that leaves too little for the largest; then down.
    for half in [1, 0] {
        let byte = |share: &u32| {
            let zeros = (28 - share.leading_zeros() as i32).max(0) as u32;
            let share = *share + if zeros > 0 { half << (zeros - 1) } else { 0 };
            // One digit more may have come.
            let zeros = 28_u32.saturating_sub(share.leading_zeros());
            (8 * zeros + (share >> zeros)) as u8
        };
        let mut bytes: Vec<u8> = shares.iter().map(byte).collect();
        bytes[largest] = 0;
        let sum: u32 = bytes.iter().map(|byte| decode_frequency(*byte)).sum();
        if sum + shares[largest] / 2 < ONE {
            bytes[largest] = REST;
            shares
                .iter_mut()
                .zip(&bytes)
                .for_each(|(share, byte)| *share = decode_frequency(*byte));
            shares[largest] = ONE - sum;
            return bytes;
        }
    }
    unreachable!("what is rounded down leaves at least what the largest had")
}

/// How hard zstd tries with maps and tables.
const LEVEL: i32 = 12;

/// The map, and tables of those counts; what both became.
pub(super) fn append_tables(
    out: &mut Vec<u8>,
    clusters: &ContextClusters,
) -> (Vec<u8>, Vec<Vec<u32>>) {
    let units = clusters.contexts.units;
    // Tables that nobody uses are left out.
    let rows: Vec<_> = clusters.counts.chunks(units).map(normalize_counts).collect();
    let mut number = 0;
    let numbers: Vec<u8> = rows
        .iter()
        .map(|row| {
            let own = number;
            number += u8::from(row.is_some());
            own
        })
        .collect();
    let map: Vec<u8> = clusters.map.iter().map(|table| numbers[usize::from(*table)]).collect();
    let mut tables: Vec<Vec<u32>> = rows.into_iter().flatten().collect();
    let bytes: Vec<u8> = tables.iter_mut().flat_map(|shares| round_frequencies(shares)).collect();
    out.push(tables.len() as u8);
    for raw in [encode_map(&map, clusters.contexts), bytes] {
        append_prefixed_bytes(out, &frames::compress_at(&raw, LEVEL));
    }
    (map, tables)
}

/// Where the parts of an entry begin.
pub(super) const SHARE: u32 = 8;
pub(super) const BIAS: u32 = SHARE + BITS;
pub(super) const WIDTH: u32 = BIAS + BITS;

/// Tables for decoding: one entry for each of `1 << BITS` slots of each context that occurs.
#[derive(Debug)]
pub(super) struct DecodeTables {
    /// Unit (8 bits), its frequency less 1 (from bit [`SHARE`]), the slot less the unit's first slot
    /// (from bit [`BIAS`]), the places that it takes less 1 (from bit [`WIDTH`]).
    pub(super) entries: Vec<u32>,
    /// The table of each context, and three bytes more, as vectors load four at a time.
    pub(super) table: Vec<u8>,
}

/// The map, and the frequencies of each table.
pub(super) fn read_frequencies(
    wire: &mut WireReader<'_>,
    contexts: ContextModel,
) -> Result<(Vec<u8>, Vec<Vec<u32>>)> {
    let count = usize::from(wire.read_byte()?);
    if !(1..=TABLES_MAX).contains(&count) {
        return Err(Error::damaged(format!("{count} tables")));
    }
    let mut frame = |most| {
        let raw = frames::decompress(wire.read_prefixed_bytes()?, most);
        raw.map_err(|error| error.with_context("tables"))
    };
    let map = decode_map(&frame(contexts.context_count())?, contexts, count)?;
    let bytes = frame(count * contexts.units)?;
    if bytes.len() != count * contexts.units {
        return Err(Error::damaged("frequencies are missing"));
    }
    let mut tables = Vec::with_capacity(count);
    for bytes in bytes.chunks(contexts.units) {
        let wrong = || Error::damaged("frequencies do not add up");
        let sum: u32 =
            bytes.iter().filter(|byte| **byte < REST).map(|byte| decode_frequency(*byte)).sum();
        let rest = ONE.checked_sub(sum).filter(|rest| *rest > 0).ok_or_else(wrong)?;
        if bytes.iter().any(|byte| *byte > REST)
            || bytes.iter().filter(|byte| **byte == REST).count() != 1
        {
            return Err(wrong());
        }
        let share = |byte: &u8| if *byte == REST { rest } else { decode_frequency(*byte) };
        tables.push(bytes.iter().map(share).collect());
    }
    Ok((map, tables))
}

pub(super) fn read_tables(
    wire: &mut WireReader<'_>,
    contexts: ContextModel,
    widths: Option<&UnitWidths>,
) -> Result<DecodeTables> {
    let (map, tables) = read_frequencies(wire, contexts)?;
    let mut entries = Vec::with_capacity(tables.len() << BITS);
    for table in &tables {
        for (unit, share) in (0..).zip(table.iter().copied()) {
            let width = widths.map_or(0, |widths| u32::from(widths[unit as usize]) - 1);
            let same = unit | width << WIDTH;
            entries.extend((0..share).map(|bias| same | (share - 1) << SHARE | bias << BIAS));
        }
    }
    let table = [&map[..], &[0; 3]].concat();
    Ok(DecodeTables { entries, table })
}
