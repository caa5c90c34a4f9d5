//! Sixteen lanes at a time (AVX-512), as [`super::avx2`] does with eight: the same arithmetic.

#![allow(unsafe_code, reason = "vectors are loaded from and gathered at raw addresses")]

use std::arch::x86_64::*;

use super::super::tables::{BIAS, SHARE, WIDTH};
use super::super::{BITS, HISTORY, LANES, LOW, SCALE};
use super::{DecoderLanes, Model};

const VECTORS: usize = LANES / 16;

/// As many steps as there are words for; one row of units each. Says how many.
pub(super) fn decode_steps(
    model: &Model<'_>,
    lanes: &mut DecoderLanes,
    word: &mut usize,
    rows: &mut [[u8; LANES]],
) -> usize {
    // SAFETY: `InstructionSet::Avx512` is chosen on machines that have it only. Every index that is
    // gathered at is in bounds, for the reasons that `avx2::decode_steps` gives.
    unsafe {
        match model.strings {
            true => decode_vectors::<true>(model, lanes, word, rows),
            false => decode_vectors::<false>(model, lanes, word, rows),
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_lanes(lanes: &[u32; LANES]) -> [__m512i; VECTORS] {
    // SAFETY: sixteen values of four bytes each lie at each address; loads are unaligned.
    std::array::from_fn(|at| unsafe { _mm512_loadu_si512(lanes.as_ptr().add(at * 16).cast()) })
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_lanes(lanes: &mut [u32; LANES], vectors: [__m512i; VECTORS]) {
    for (sixteen, vector) in lanes.as_chunks_mut::<16>().0.iter_mut().zip(vectors) {
        // SAFETY: room for 64 bytes.
        unsafe { _mm512_storeu_si512(sixteen.as_mut_ptr().cast(), vector) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,popcnt")]
unsafe fn decode_vectors<const STRINGS: bool>(
    model: &Model<'_>,
    lanes: &mut DecoderLanes,
    word: &mut usize,
    rows: &mut [[u8; LANES]],
) -> usize {
    let contexts = model.contexts;
    let (table, entries) = (model.tables.table.as_ptr(), model.tables.entries.as_ptr());
    let spans = model.spans.as_ptr();
    let all = |number: u32| _mm512_set1_epi32(number as i32);
    let (scale, width) = (all(contexts.scale), all(contexts.row_width() as u32));
    let (last_bin, none, mask) =
        (all(contexts.bins as u32 - 1), all(contexts.absent_unit()), all(contexts.unit_mask()));
    let weight = all(contexts.unit_weight());
    let levels = _mm_cvtsi32_si128(contexts.level_bits as i32);
    let level = _mm_cvtsi32_si128((HISTORY - contexts.level_bits) as i32);
    let (slots, byte) = (all((1 << BITS) - 1), all(0xff));
    // The scale times 1 to 4.
    let scales = _mm512_broadcast_i32x4(_mm_setr_epi32(1, 2, 3, 4));
    let scales = _mm512_mullo_epi32(scale, scales);
    let (one, low) = (all(1), all(LOW));

    let (mut state, mut before) = (load_lanes(&lanes.state), load_lanes(&lanes.before));
    let (mut position, mut span) = (load_lanes(&lanes.position), load_lanes(&lanes.span));
    let (mut read, mut history) = (load_lanes(&lanes.read), load_lanes(&lanes.history));
    // Times the scale, which is added at each step instead of multiplied.
    let mut scaled = position.map(|position| _mm512_mullo_epi32(position, scale));
    let mut done = 0;
    for row in rows {
        if model.words.len() - *word < LANES {
            break;
        }
        for v in 0..VECTORS {
            let bin = _mm512_min_epu32(_mm512_srli_epi32::<SCALE>(scaled[v]), last_bin);
            let bin = _mm512_sll_epi32(bin, levels);
            let line = _mm512_add_epi32(bin, _mm512_srl_epi32(history[v], level));
            // Factors of all products by `madd` have 15 bits.
            let context = _mm512_add_epi32(_mm512_madd_epi16(line, width), before[v]);
            // SAFETY: see `decode_steps`.
            let four = unsafe { _mm512_i32gather_epi32::<1>(context, table.cast()) };
            // The lowest byte of the four, times the entries of a table.
            let first = _mm512_srli_epi32::<{ 24 - BITS }>(_mm512_slli_epi32::<24>(four));
            let at = _mm512_add_epi32(first, _mm512_and_si512(state[v], slots));
            // SAFETY: see `decode_steps`.
            let entry = unsafe { _mm512_i32gather_epi32::<4>(at, entries.cast()) };
            let units = _mm512_and_si512(entry, byte);
            let share = _mm512_and_si512(_mm512_srli_epi32::<SHARE>(entry), slots);
            let share = _mm512_add_epi32(share, one);
            let high = _mm512_srli_epi32::<BITS>(state[v]);
            let bias = _mm512_srli_epi32::<BIAS>(entry);
            let bias = if STRINGS { _mm512_and_si512(bias, slots) } else { bias };
            let next = _mm512_add_epi32(_mm512_mullo_epi32(share, high), bias);
            let needs = _mm512_cmplt_epu32_mask(next, low);
            // SAFETY: 32 words were left before this row, of which a vector takes 16 at most.
            let words = unsafe { _mm256_loadu_si256(model.words.as_ptr().add(*word).cast()) };
            let words = _mm512_maskz_expand_epi32(needs, _mm512_cvtepu16_epi32(words));
            state[v] = _mm512_mask_or_epi32(next, needs, _mm512_slli_epi32::<16>(next), words);
            *word += needs.count_ones() as usize;
            // SAFETY: a row is 32 bytes, of which each vector has 16.
            unsafe {
                let to = row.as_mut_ptr().add(16 * v);
                _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(units));
            }

            before[v] = _mm512_and_si512(units, mask);
            let kept = _mm512_sub_epi32(history[v], _mm512_srli_epi32::<2>(history[v]));
            history[v] = _mm512_add_epi32(kept, _mm512_madd_epi16(units, weight));
            position[v] = _mm512_add_epi32(position[v], one);
            if STRINGS {
                let width = _mm512_srli_epi32::<WIDTH>(entry);
                position[v] = _mm512_add_epi32(position[v], width);
                let more = _mm512_permutevar_ps(_mm512_castsi512_ps(scales), width);
                scaled[v] = _mm512_add_epi32(scaled[v], _mm512_castps_si512(more));
            } else {
                scaled[v] = _mm512_add_epi32(scaled[v], scale);
            }
            let end = _mm512_cmpge_epi32_mask(position[v], span[v]);
            if end != 0 {
                position[v] = _mm512_maskz_mov_epi32(!end, position[v]);
                scaled[v] = _mm512_maskz_mov_epi32(!end, scaled[v]);
                history[v] = _mm512_maskz_mov_epi32(!end, history[v]);
                before[v] = _mm512_mask_mov_epi32(before[v], end, none);
                read[v] = _mm512_mask_add_epi32(read[v], end, read[v], one);
                // SAFETY: see `decode_steps`.
                span[v] = unsafe { _mm512_i32gather_epi32::<4>(read[v], spans.cast()) };
            }
        }
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
