//! Counts of units become frequencies, and frequencies bytes.

use super::{BITS, Contexts, ENTRIES_MAX};
use crate::error::{Error, Result};
use crate::wire::{Wire, put, put_bytes};

const ONE: u32 = 1 << BITS;

/// Frequencies that add up to [`ONE`]; what occurs keeps at least 1. None for what never occurs.
pub(super) fn frequencies(counts: &[u32]) -> Option<Vec<u32>> {
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

/// Bits that units with these counts take, tables included (seven bits for each entry, as
/// measured on real qualities, more or less).
pub(super) fn cost(counts: &[u32], units: usize) -> f64 {
    let row = |counts: &[u32]| {
        let present = counts.iter().filter(|count| **count > 0);
        let total: f64 = present.clone().map(|count| f64::from(*count)).sum();
        let bits: f64 =
            present.map(|count| 7.0 + f64::from(*count) * (total / f64::from(*count)).log2()).sum();
        bits
    };
    counts.chunks(units).map(row).sum()
}

/// Tables as bytes: for each context whether it occurs, then the frequencies of those that do.
pub(super) fn put_tables(out: &mut Vec<u8>, tables: &[Option<Vec<u32>>]) {
    let mut raw: Vec<u8> = tables.iter().map(|table| u8::from(table.is_some())).collect();
    for share in tables.iter().flatten().flatten() {
        put(&mut raw, u64::from(*share));
    }
    let bytes = zstd::bulk::compress(&raw, 19).expect("memory to memory");
    put(out, raw.len() as u64);
    put_bytes(out, &bytes);
}

/// Tables for decoding: one entry for each of `1 << BITS` slots of each context that occurs.
#[derive(Debug)]
pub(super) struct Tables {
    /// Unit (8 bits), its frequency (12), the slot less the unit's first slot (from bit 20).
    pub(super) entries: Vec<u32>,
    /// Where the entries of a context begin; those of a context that never occurs are another's.
    pub(super) base: Vec<u32>,
}

pub(super) fn take_tables(wire: &mut Wire<'_>, contexts: Contexts) -> Result<Tables> {
    let count = contexts.count();
    let raw_len = wire.at_most(count * (1 + 2 * contexts.units))?;
    let raw = zstd::bulk::decompress(wire.bytes()?, raw_len);
    let raw = raw.map_err(|error| Error::damaged(format!("tables: {error}")))?;
    let mut raw = Wire::new(&raw);
    let used = raw.take(count)?;
    let occurring = used.iter().filter(|used| **used == 1).count();
    if occurring << BITS > ENTRIES_MAX || occurring == 0 {
        return Err(Error::damaged(format!("{occurring} tables")));
    }
    let mut entries = Vec::with_capacity(occurring << BITS);
    let mut base = Vec::with_capacity(count);
    for used in used {
        if *used != 1 {
            base.push(0);
            continue;
        }
        base.push(entries.len() as u32);
        let full = entries.len() + ONE as usize;
        for unit in 0..contexts.units as u32 {
            let share = raw.at_most(full - entries.len())? as u32;
            entries.extend((0..share).map(|bias| unit | share << 8 | bias << 20));
        }
        if entries.len() != full {
            return Err(Error::damaged("frequencies do not add up"));
        }
    }
    raw.end()?;
    Ok(Tables { entries, base })
}
