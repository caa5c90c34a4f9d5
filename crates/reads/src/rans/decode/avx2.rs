//! Eight lanes at a time (AVX2). The arithmetic is that of `decode::decode_step`, bit by bit; the
//! last words are left to it, since a vector reads eight words whether it needs them or not.

#![allow(unsafe_code, reason = "vectors are loaded from and gathered at raw addresses")]

use std::arch::x86_64::*;

use super::super::tables::{BIAS, SHARE, WIDTH};
use super::super::{BITS, HISTORY, LANES, SCALE};
use super::{DecoderLanes, Model};

const VECTORS: usize = LANES / 8;

/// For each set of lanes that need a word: which of the next words each gets.
static DEAL: [[u32; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut next) = (0, 0);
        while lane < 8 {
            if mask >> lane & 1 == 1 {
                table[mask][lane] = next;
                next += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// As many steps as there are words for; one row of units each. Says how many.
pub(super) fn decode_steps(
    model: &Model<'_>,
    lanes: &mut DecoderLanes,
    word: &mut usize,
    rows: &mut [[u8; LANES]],
) -> usize {
    // SAFETY: `InstructionSet::Avx2` is chosen on machines that have AVX2 only. Every index that is
    // gathered at is in bounds: contexts are below `contexts.context_count()`, and `table` has three
    // bytes more, since units in entries are below `units`, histories of such units below
    // 1 << HISTORY, and bins cut off; a table has 1 << BITS entries; a lane goes to the next read
    // only when it has used up one, and its last is never used up.
    unsafe {
        match model.strings {
            true => decode_vectors::<true>(model, lanes, word, rows),
            false => decode_vectors::<false>(model, lanes, word, rows),
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_lanes(lanes: &[u32; LANES]) -> [__m256i; VECTORS] {
    // SAFETY: eight values of four bytes each lie at each address; unaligned loads are asked for.
    std::array::from_fn(|at| unsafe { _mm256_loadu_si256(lanes.as_ptr().add(at * 8).cast()) })
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_lanes(lanes: &mut [u32; LANES], vectors: [__m256i; VECTORS]) {
    for (eight, vector) in lanes.as_chunks_mut::<8>().0.iter_mut().zip(vectors) {
        // SAFETY: room for 32 bytes.
        unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), vector) }
    }
}

#[target_feature(enable = "avx2,popcnt")]
unsafe fn decode_vectors<const STRINGS: bool>(
    model: &Model<'_>,
    lanes: &mut DecoderLanes,
    word: &mut usize,
    rows: &mut [[u8; LANES]],
) -> usize {
    let contexts = model.contexts;
    let (table, entries) = (model.tables.table.as_ptr(), model.tables.entries.as_ptr());
    let spans = model.spans.as_ptr();
    let all = |number: u32| _mm256_set1_epi32(number as i32);
    let (scale, width) = (all(contexts.scale), all(contexts.row_width() as u32));
    let (last_bin, none, mask) =
        (all(contexts.bins as u32 - 1), all(contexts.absent_unit()), all(contexts.unit_mask()));
    let weight = all(contexts.unit_weight());
    let levels = _mm_cvtsi32_si128(contexts.level_bits as i32);
    let level = _mm_cvtsi32_si128((HISTORY - contexts.level_bits) as i32);
    let (slots, byte) = (all((1 << BITS) - 1), all(0xff));
    // The scale times 1 to 4.
    let scales = _mm256_mullo_epi32(scale, _mm256_setr_epi32(1, 2, 3, 4, 1, 2, 3, 4));
    let (one, zero) = (all(1), _mm256_setzero_si256());
    let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);

    let (mut state, mut before) = (load_lanes(&lanes.state), load_lanes(&lanes.before));
    let (mut position, mut span) = (load_lanes(&lanes.position), load_lanes(&lanes.span));
    let (mut read, mut history) = (load_lanes(&lanes.read), load_lanes(&lanes.history));
    // Times the scale, which is added at each step instead of multiplied.
    let mut scaled = position.map(|position| _mm256_mullo_epi32(position, scale));
    let mut done = 0;
    for row in rows {
        if model.words.len() - *word < LANES {
            break;
        }
        // One thing after the other for all vectors, so that the loads of one, which take long, are
        // under way while those of the others begin.
        let first: [__m256i; VECTORS] = std::array::from_fn(|v| {
            let bin = _mm256_srli_epi32::<{ SCALE as i32 }>(scaled[v]);
            let bin = _mm256_sll_epi32(_mm256_min_epu32(bin, last_bin), levels);
            let row = _mm256_add_epi32(bin, _mm256_srl_epi32(history[v], level));
            // Factors of all products by `madd` have 15 bits.
            let context = _mm256_add_epi32(_mm256_madd_epi16(row, width), before[v]);
            // SAFETY: see `decode_steps`.
            let four = unsafe { _mm256_i32gather_epi32::<1>(table.cast(), context) };
            // The lowest byte of the four, times the entries of a table.
            _mm256_srli_epi32::<{ 24 - BITS as i32 }>(_mm256_slli_epi32::<24>(four))
        });
        let entry: [__m256i; VECTORS] = std::array::from_fn(|v| {
            let at = _mm256_add_epi32(first[v], _mm256_and_si256(state[v], slots));
            // SAFETY: see `decode_steps`.
            unsafe { _mm256_i32gather_epi32::<4>(entries.cast(), at) }
        });
        let units = entry.map(|entry| _mm256_and_si256(entry, byte));
        for v in 0..VECTORS {
            let share = _mm256_srli_epi32::<{ SHARE as i32 }>(entry[v]);
            let share = _mm256_add_epi32(_mm256_and_si256(share, slots), one);
            let high = _mm256_srli_epi32::<{ BITS as i32 }>(state[v]);
            let bias = _mm256_srli_epi32::<{ BIAS as i32 }>(entry[v]);
            let bias = if STRINGS { _mm256_and_si256(bias, slots) } else { bias };
            let next = _mm256_add_epi32(_mm256_mullo_epi32(share, high), bias);
            let low = _mm256_cmpeq_epi32(_mm256_srli_epi32::<16>(next), zero);
            let needs = _mm256_movemask_ps(_mm256_castsi256_ps(low)) as u32;
            // SAFETY: 32 words were left before this row, of which a vector takes 8 at most.
            let words = unsafe { _mm_loadu_si128(model.words.as_ptr().add(*word).cast()) };
            // SAFETY: a row of the table is 32 bytes.
            let deal = unsafe { _mm256_loadu_si256(DEAL[needs as usize].as_ptr().cast()) };
            let words = _mm256_permutevar8x32_epi32(_mm256_cvtepu16_epi32(words), deal);
            let filled = _mm256_or_si256(_mm256_slli_epi32::<16>(next), words);
            state[v] = _mm256_blendv_epi8(next, filled, low);
            *word += needs.count_ones() as usize;

            before[v] = _mm256_and_si256(units[v], mask);
            let kept = _mm256_sub_epi32(history[v], _mm256_srli_epi32::<2>(history[v]));
            history[v] = _mm256_add_epi32(kept, _mm256_madd_epi16(units[v], weight));
            position[v] = _mm256_add_epi32(position[v], one);
            if STRINGS {
                let width = _mm256_srli_epi32::<{ WIDTH as i32 }>(entry[v]);
                position[v] = _mm256_add_epi32(position[v], width);
                let more = _mm256_permutevar_ps(_mm256_castsi256_ps(scales), width);
                scaled[v] = _mm256_add_epi32(scaled[v], _mm256_castps_si256(more));
            } else {
                scaled[v] = _mm256_add_epi32(scaled[v], scale);
            }
            let goes_on = _mm256_cmpgt_epi32(span[v], position[v]);
            if _mm256_movemask_epi8(goes_on) != -1 {
                let end = _mm256_xor_si256(goes_on, _mm256_set1_epi32(-1));
                position[v] = _mm256_andnot_si256(end, position[v]);
                scaled[v] = _mm256_andnot_si256(end, scaled[v]);
                history[v] = _mm256_andnot_si256(end, history[v]);
                before[v] = _mm256_blendv_epi8(before[v], none, end);
                read[v] = _mm256_sub_epi32(read[v], end);
                // SAFETY: see `decode_steps`.
                span[v] = unsafe { _mm256_i32gather_epi32::<4>(spans.cast(), read[v]) };
            }
        }
        let low = _mm256_packus_epi32(units[0], units[1]);
        let high = _mm256_packus_epi32(units[2], units[3]);
        let packed = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
        // SAFETY: a row is 32 bytes.
        unsafe { _mm256_storeu_si256(row.as_mut_ptr().cast(), packed) };
        done += 1;
    }
    store_lanes(&mut lanes.state, state);
    store_lanes(&mut lanes.before, before);
    store_lanes(&mut lanes.history, history);
    store_lanes(&mut lanes.position, position);
    store_lanes(&mut lanes.span, span);
    store_lanes(&mut lanes.read, read);
    done
}
