//! A trial that is no part of the product: qualities by rANS as archives have it (32 lanes, one stream of
//! words), by 64 lanes of it, and by tANS (an entry of a table says the unit, the bits and the next state,
//! so one load depends on the one before), with each lane's bits by themselves. All have the unit before
//! as context, a table for each, and 11 bits. Prints bits and ns a quality, best of ten;
//! docs/internals/reads.md has what came of it.
//!
//! ```text
//! cargo run --release -p forebay-reads --example entropy_trial -- x_R1.fq
//! ```

#![allow(unsafe_code, reason = "vectors are gathered at raw addresses")]
#![allow(clippy::disallowed_methods, reason = "times are what this is for")]
#![allow(clippy::disallowed_macros, reason = "a program of its own")]

use std::time::Instant;

const BITS: u32 = 11;
const SLOTS: usize = 1 << BITS;
const LOW: u32 = 1 << 16;
/// Qualities that are coded, a multiple of all lanes: some MiB, as a group has.
const MOST: usize = 1 << 21;

/// Shares of each unit, one row for each unit before; all of a row are 1 << BITS.
struct Shares {
    units: usize,
    rows: Vec<Vec<u32>>,
}

fn count_shares(sequence: &[u8], units: usize, lanes: usize) -> Shares {
    let mut rows = vec![vec![0_u32; units]; units];
    for lane in sequence.chunks_exact(sequence.len() / lanes) {
        let mut before = 0;
        for unit in lane {
            rows[before][usize::from(*unit)] += 1;
            before = usize::from(*unit);
        }
    }
    let scaled = rows.into_iter().map(|row| {
        let total = row.iter().sum::<u32>().max(1);
        let part = |count: &u32| match u64::from(*count) * SLOTS as u64 / u64::from(total) {
            0 if *count > 0 => 1,
            part => part as u32,
        };
        let mut row: Vec<u32> = row.iter().map(part).collect();
        while row.iter().sum::<u32>() != SLOTS as u32 {
            let sum = row.iter().sum::<u32>();
            let most = row.iter_mut().max().expect("units");
            *most = if sum < SLOTS as u32 { *most + SLOTS as u32 - sum } else { *most - 1 };
        }
        row
    });
    Shares { units, rows: scaled.collect() }
}

/// An entry: the unit, its share less 1 from bit 8 on, the slot less its first from bit 20 on.
fn rans_entries(shares: &Shares) -> Vec<u32> {
    let of_row = |row: &Vec<u32>| {
        let of_unit = |(unit, share): (usize, &u32)| {
            let (unit, share) = (unit as u32, *share);
            (0..share).map(move |bias| unit | (share - 1) << 8 | bias << 20)
        };
        row.iter().enumerate().flat_map(of_unit).collect::<Vec<u32>>()
    };
    shares.rows.iter().flat_map(of_row).collect()
}

/// States, and the words of all lanes in the order in which they are read.
fn encode_rans<const LANES: usize>(sequence: &[u8], shares: &Shares) -> ([u32; LANES], Vec<u16>) {
    let steps = sequence.len() / LANES;
    let (mut states, mut words) = ([LOW; LANES], Vec::new());
    for step in (0..steps).rev() {
        for (lane, state) in states.iter_mut().enumerate().rev() {
            let at = lane * steps + step;
            let before = if step == 0 { 0 } else { usize::from(sequence[at - 1]) };
            let row = &shares.rows[before];
            let unit = usize::from(sequence[at]);
            let first: u32 = row[..unit].iter().sum();
            if u64::from(*state) >= u64::from(row[unit]) << (32 - BITS) {
                words.push(*state as u16);
                *state >>= 16;
            }
            *state = ((*state / row[unit]) << BITS) + *state % row[unit] + first;
        }
    }
    words.reverse();
    (states, words)
}

fn decode_rans<const LANES: usize>(
    mut states: [u32; LANES],
    words: &[u16],
    entries: &[u32],
    rows: &mut [[u8; LANES]],
) {
    let (mut before, mut word) = ([0_usize; LANES], 0);
    for row in rows {
        for lane in 0..LANES {
            let state = states[lane];
            let entry = entries[before[lane] << BITS | state as usize & (SLOTS - 1)];
            let mut state = ((entry >> 8 & 0xfff) + 1) * (state >> BITS) + (entry >> 20);
            if state < LOW {
                state = state << 16 | u32::from(words[word]);
                word += 1;
            }
            states[lane] = state;
            row[lane] = entry as u8;
            before[lane] = usize::from(entry as u8);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn decode_rans_avx2(states: [u32; 32], words: &[u16], entries: &[u32], rows: &mut [[u8; 32]]) {
    use std::arch::x86_64::*;
    let deal: Vec<[u32; 8]> = (0..256_u32)
        .map(|mask| {
            let mut next = 0;
            std::array::from_fn(|lane| {
                next += mask >> lane & 1;
                next.saturating_sub(1)
            })
        })
        .collect();
    let all = |number: u32| _mm256_set1_epi32(number as i32);
    // SAFETY: each address has 32 bytes behind it.
    let load = |from: *const u32| unsafe { _mm256_loadu_si256(from.cast()) };
    let mut state = [0, 8, 16, 24].map(|at| load(states[at..].as_ptr()));
    let mut before = [_mm256_setzero_si256(); 4];
    let (slots, share, byte) = (all(SLOTS as u32 - 1), all(0xfff), all(0xff));
    let (one, low) = (all(1), all(LOW - 1));
    let mut word = words.as_ptr();
    let shuffle = _mm256_setr_epi8(
        0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1,
    );
    for row in rows {
        for vector in 0..4 {
            let slot = _mm256_or_si256(
                _mm256_slli_epi32::<{ BITS as i32 }>(before[vector]),
                _mm256_and_si256(state[vector], slots),
            );
            // SAFETY: rows are as many as units, and have SLOTS entries.
            let entry = unsafe { _mm256_i32gather_epi32::<4>(entries.as_ptr().cast(), slot) };
            let part =
                _mm256_add_epi32(_mm256_and_si256(_mm256_srli_epi32::<8>(entry), share), one);
            let next = _mm256_add_epi32(
                _mm256_mullo_epi32(part, _mm256_srli_epi32::<{ BITS as i32 }>(state[vector])),
                _mm256_srli_epi32::<20>(entry),
            );
            // States are below 1 << 31 here: a share of 2^11 times a state that lost 11 bits is not.
            let full = _mm256_cmpeq_epi32(_mm256_max_epu32(next, low), next);
            let full = _mm256_andnot_si256(_mm256_cmpeq_epi32(next, low), full);
            let mask = !_mm256_movemask_ps(_mm256_castsi256_ps(full)) & 0xff;
            // SAFETY: eight words more than there are stand behind the last.
            let eight = unsafe { _mm256_cvtepu16_epi32(_mm_loadu_si128(word.cast())) };
            let dealt = _mm256_permutevar8x32_epi32(eight, load(deal[mask as usize].as_ptr()));
            let filled = _mm256_or_si256(_mm256_slli_epi32::<16>(next), dealt);
            state[vector] = _mm256_blendv_epi8(filled, next, full);
            // SAFETY: as many words as lanes needed are there.
            word = unsafe { word.add(mask.count_ones() as usize) };
            before[vector] = _mm256_and_si256(entry, byte);
            let bytes = _mm256_shuffle_epi8(before[vector], shuffle);
            let (left, right) =
                (_mm256_extract_epi32::<0>(bytes), _mm256_extract_epi32::<4>(bytes));
            row[vector * 8..vector * 8 + 4].copy_from_slice(&left.to_le_bytes());
            row[vector * 8 + 4..vector * 8 + 8].copy_from_slice(&right.to_le_bytes());
        }
    }
}

/// The unit of each slot, as far from its like as may be.
fn spread_units(row: &[u32]) -> Vec<u8> {
    let (mut spread, mut at) = (vec![0; SLOTS], 0);
    for (unit, share) in row.iter().enumerate() {
        for _ in 0..*share {
            spread[at] = unit as u8;
            at = (at + (SLOTS >> 1) + (SLOTS >> 3) + 3) & (SLOTS - 1);
        }
    }
    spread
}

/// An entry: the unit, its bits from bit 8 on, what the next state is without them from bit 16 on.
fn tans_entries(shares: &Shares) -> Vec<u32> {
    let of_row = |row: &Vec<u32>| {
        let mut next = row.clone();
        let of_slot = |unit: u8| {
            let state = next[usize::from(unit)];
            next[usize::from(unit)] += 1;
            let bits = BITS - state.ilog2();
            u32::from(unit) | bits << 8 | ((state << bits) - SLOTS as u32) << 16
        };
        spread_units(row).into_iter().map(of_slot).collect::<Vec<u32>>()
    };
    shares.rows.iter().flat_map(of_row).collect()
}

/// For each lane where its bits begin and its state; and all bits, least first.
fn encode_tans<const LANES: usize>(
    sequence: &[u8],
    shares: &Shares,
) -> ([(usize, u32); LANES], Vec<u8>) {
    // Of each row and unit its slots, in order.
    let mut slots = vec![Vec::new(); shares.units * shares.units];
    for (before, row) in shares.rows.iter().enumerate() {
        for (slot, unit) in spread_units(row).into_iter().enumerate() {
            slots[before * shares.units + usize::from(unit)].push(slot as u32);
        }
    }
    let steps = sequence.len() / LANES;
    let mut out = Vec::new();
    let lanes = std::array::from_fn(|lane| {
        let units = &sequence[lane * steps..][..steps];
        let (mut state, mut parts) = (SLOTS as u32, Vec::with_capacity(steps));
        for step in (0..steps).rev() {
            let before = if step == 0 { 0 } else { usize::from(units[step - 1]) };
            let unit = usize::from(units[step]);
            let share = shares.rows[before][unit];
            let mut bits = 0;
            while state >> bits >= 2 * share {
                bits += 1;
            }
            parts.push((state & ((1 << bits) - 1), bits));
            let slot = slots[before * shares.units + unit][((state >> bits) - share) as usize];
            state = slot + SLOTS as u32;
        }
        let (from, mut kept, mut count) = (out.len(), 0_u64, 0);
        for (part, bits) in parts.into_iter().rev() {
            kept |= u64::from(part) << count;
            count += bits;
            while count >= 8 {
                out.push(kept as u8);
                kept >>= 8;
                count -= 8;
            }
        }
        out.push(kept as u8);
        (from, state - SLOTS as u32)
    });
    out.extend([0; 16]);
    (lanes, out)
}

/// Units of one lane are decoded before its bits are filled up: 5 times 11 bits fit a word.
const AT_ONCE: usize = 5;

fn decode_tans<const LANES: usize>(
    lanes: [(usize, u32); LANES],
    bytes: &[u8],
    entries: &[u32],
    rows: &mut [[u8; LANES]],
) {
    let mut places = lanes.map(|(from, _)| from * 8);
    let mut states = lanes.map(|(_, state)| state);
    let mut before = [0_usize; LANES];
    for rows in rows.chunks_mut(AT_ONCE) {
        for lane in 0..LANES {
            let (place, mut state) = (places[lane], states[lane]);
            let eight = bytes[place / 8..][..8].try_into().expect("eight");
            let kept = u64::from_le_bytes(eight) >> (place % 8);
            let (mut kept, mut unit, mut used) = (kept, before[lane], 0);
            for row in rows.iter_mut() {
                let entry = entries[unit << BITS | state as usize & (SLOTS - 1)];
                let bits = entry >> 8 & 0xff;
                state = (entry >> 16) + (kept as u32 & ((1 << bits) - 1));
                kept >>= bits;
                used += bits as usize;
                unit = usize::from(entry as u8);
                row[lane] = entry as u8;
            }
            (places[lane], states[lane], before[lane]) = (place + used, state, unit);
        }
    }
}

/// The same in vectors: bits are filled up after two units, as 25 of 32 are left at least.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn decode_tans_avx2(
    lanes: [(usize, u32); 32],
    bytes: &[u8],
    entries: &[u32],
    rows: &mut [[u8; 32]],
) {
    use std::arch::x86_64::*;
    let all = |number: u32| _mm256_set1_epi32(number as i32);
    let eight = |of: &dyn Fn(usize) -> u32, vector: usize| {
        let lanes: [u32; 8] = std::array::from_fn(|at| of(vector * 8 + at));
        // SAFETY: 32 bytes.
        unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
    };
    let mut place = [0, 1, 2, 3].map(|at| eight(&|lane| lanes[lane].0 as u32 * 8, at));
    let mut state = [0, 1, 2, 3].map(|at| eight(&|lane| lanes[lane].1, at));
    let mut before = [_mm256_setzero_si256(); 4];
    let (one, byte, seven) = (all(1), all(0xff), all(7));
    let shuffle = _mm256_setr_epi8(
        0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1,
    );
    for rows in rows.chunks_mut(2) {
        for vector in 0..4 {
            let at = _mm256_srli_epi32::<3>(place[vector]);
            // SAFETY: 16 bytes stand behind the last that a lane has.
            let four = unsafe { _mm256_i32gather_epi32::<1>(bytes.as_ptr().cast(), at) };
            let mut kept = _mm256_srlv_epi32(four, _mm256_and_si256(place[vector], seven));
            for row in rows.iter_mut() {
                let slot = _mm256_slli_epi32::<{ BITS as i32 }>(before[vector]);
                let slot = _mm256_or_si256(slot, state[vector]);
                // SAFETY: rows are as many as units, and states are below SLOTS.
                let entry = unsafe { _mm256_i32gather_epi32::<4>(entries.as_ptr().cast(), slot) };
                let bits = _mm256_and_si256(_mm256_srli_epi32::<8>(entry), byte);
                let mask = _mm256_sub_epi32(_mm256_sllv_epi32(one, bits), one);
                let more = _mm256_and_si256(kept, mask);
                state[vector] = _mm256_add_epi32(_mm256_srli_epi32::<16>(entry), more);
                kept = _mm256_srlv_epi32(kept, bits);
                place[vector] = _mm256_add_epi32(place[vector], bits);
                before[vector] = _mm256_and_si256(entry, byte);
                let bytes = _mm256_shuffle_epi8(before[vector], shuffle);
                let left = _mm256_extract_epi32::<0>(bytes).to_le_bytes();
                let right = _mm256_extract_epi32::<4>(bytes).to_le_bytes();
                row[vector * 8..vector * 8 + 4].copy_from_slice(&left);
                row[vector * 8 + 4..vector * 8 + 8].copy_from_slice(&right);
            }
        }
    }
}

/// Least ns a unit of ten times; the units must be those that were coded.
fn tell<const LANES: usize>(
    what: &str,
    sequence: &[u8],
    bytes: usize,
    mut decode: impl FnMut(&mut [[u8; LANES]]),
) {
    let steps = sequence.len() / LANES;
    let mut rows = vec![[0_u8; LANES]; steps];
    let mut best = f64::MAX;
    for _ in 0..10 {
        let start = Instant::now();
        decode(&mut rows);
        best = best.min(start.elapsed().as_secs_f64());
    }
    for lane in 0..LANES {
        let same = rows.iter().zip(&sequence[lane * steps..]).all(|(row, unit)| row[lane] == *unit);
        assert!(same, "{what}: lane {lane} is not what it was");
    }
    let units = sequence.len() as f64;
    println!("{what:<28} {:.4} bits {:.3} ns", 8.0 * bytes as f64 / units, best * 1e9 / units);
}

fn tell_rans<const LANES: usize>(sequence: &[u8], units: usize) {
    let shares = count_shares(sequence, units, LANES);
    let entries = rans_entries(&shares);
    let (states, mut words) = encode_rans::<LANES>(sequence, &shares);
    let bytes = 2 * words.len() + 4 * LANES;
    words.extend([0; 8]);
    let what = format!("rANS, {LANES} lanes, plain");
    tell::<LANES>(&what, sequence, bytes, |rows| decode_rans(states, &words, &entries, rows));
}

fn tell_tans<const LANES: usize>(sequence: &[u8], units: usize) {
    let shares = count_shares(sequence, units, LANES);
    let entries = tans_entries(&shares);
    let (lanes, bytes) = encode_tans::<LANES>(sequence, &shares);
    let what = format!("tANS, {LANES} lanes, plain");
    let size = bytes.len() + 6 * LANES;
    tell::<LANES>(&what, sequence, size, |rows| decode_tans(lanes, &bytes, &entries, rows));
}

fn main() {
    let path = std::env::args().nth(1).expect("a FASTQ, not packed");
    let text = std::fs::read(path).expect("a file");
    let lines = text.split(|byte| *byte == b'\n').skip(3).step_by(4);
    let mut sequence: Vec<u8> = lines.flatten().copied().take(MOST).collect();
    sequence.truncate(sequence.len() / 64 * 64);
    let mut rank = [u8::MAX; 256];
    let mut units = 0;
    for byte in 0..=255_u8 {
        if sequence.contains(&byte) {
            rank[usize::from(byte)] = units;
            units += 1;
        }
    }
    sequence.iter_mut().for_each(|byte| *byte = rank[usize::from(*byte)]);
    let units = usize::from(units);
    println!("{} qualities of {units} levels", sequence.len());
    tell_rans::<32>(&sequence, units);
    tell_rans::<64>(&sequence, units);
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        let shares = count_shares(&sequence, units, 32);
        let entries = rans_entries(&shares);
        let (states, mut words) = encode_rans::<32>(&sequence, &shares);
        let bytes = 2 * words.len() + 4 * 32;
        words.extend([0; 8]);
        tell::<32>("rANS, 32 lanes, AVX2", &sequence, bytes, |rows| {
            // SAFETY: this machine has it.
            unsafe { decode_rans_avx2(states, &words, &entries, rows) }
        });
        let entries = tans_entries(&shares);
        let (lanes, bytes) = encode_tans::<32>(&sequence, &shares);
        let size = bytes.len() + 6 * 32;
        tell::<32>("tANS, 32 lanes, AVX2", &sequence, size, |rows| {
            // SAFETY: this machine has it.
            unsafe { decode_tans_avx2(lanes, &bytes, &entries, rows) }
        });
    }
    tell_tans::<4>(&sequence, units);
    tell_tans::<8>(&sequence, units);
    tell_tans::<16>(&sequence, units);
    tell_tans::<64>(&sequence, units);
}
