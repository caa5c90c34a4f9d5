//! Encoding: count, choose contexts, and code backwards.

use super::cluster::{ContextClusters, cluster_contexts};
use super::tables::append_tables;
use super::{BINS_MAX, BITS, ContextModel, LANES, LEVEL_BITS_MAX, LOW, SCALE};

/// Units that pay for the finest contexts without asking.
const PLENTY: usize = 1 << 19;

/// What contexts a sequence may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SequenceKind {
    /// One, or one for each unit before.
    Bytes,
    /// As many as pay, of the unit before, history and position.
    Qualities,
    /// One for each unit before: tables are few, and near while they are read.
    Quick,
}

/// Encodes a sequence of units below `units`, which stands in reads of `spans` units each.
pub(crate) fn encode_sequence(
    sequence: &[u8],
    spans: &[u32],
    units: usize,
    kind: SequenceKind,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(sequence.len() / 2);
    if sequence.len() < LANES {
        ContextModel { units, order: 0, bins: 1, level_bits: 0, scale: 0 }.append_to(&mut out);
        out.extend_from_slice(sequence);
        return out;
    }
    let (clusters, of_each) = choose_contexts(sequence, spans, units, kind);
    clusters.contexts.append_to(&mut out);
    let (map, tables) = append_tables(&mut out, &clusters);
    encode_backwards(&mut out, sequence, &of_each, &map, &tables);
    out
}

/// The best contexts and tables, and the context of each unit.
fn choose_contexts(
    sequence: &[u8],
    spans: &[u32],
    units: usize,
    kind: SequenceKind,
) -> (ContextClusters, Vec<u16>) {
    let mean = sequence.len() / spans.len().max(1) + 1;
    let longest = spans.iter().copied().max().unwrap_or(1) as usize;
    // A few reads that are much longer than the others must not take all bins.
    let typical = longest.min(2 * mean).max(1);
    let scale = |bins: usize| ((1_usize << SCALE) * bins / typical) as u32;
    let with = |order, bins, level_bits| ContextModel {
        units,
        order,
        bins,
        level_bits,
        scale: scale(bins),
    };
    // From fine to coarse; what is not better than the one before ends it.
    let tried = match kind {
        SequenceKind::Bytes => vec![with(1, 1, 0), with(0, 1, 0)],
        SequenceKind::Qualities => [(BINS_MAX, LEVEL_BITS_MAX), (4, 2), (4, 0), (1, 0)]
            .map(|(bins, level_bits)| with(1, bins, level_bits))
            .to_vec(),
        SequenceKind::Quick => vec![with(1, 1, 0)],
    };
    let mut best: Option<(ContextClusters, Vec<u16>)> = None;
    for contexts in tried {
        let of_each = unit_contexts(sequence, spans, contexts);
        let mut counts = vec![0_u32; contexts.context_count() * units];
        for (context, unit) in of_each.iter().zip(sequence) {
            counts[usize::from(*context) * units + usize::from(*unit)] += 1;
        }
        let clusters = cluster_contexts(&counts, contexts);
        if best.as_ref().is_some_and(|best| best.0.bits <= clusters.bits) {
            break;
        }
        best = Some((clusters, of_each));
        // With so many units the finest has always been the best one.
        if kind == SequenceKind::Qualities && sequence.len() >= PLENTY {
            break;
        }
    }
    best.expect("something was tried")
}

/// The context of each unit that is in a lane.
fn unit_contexts(sequence: &[u8], spans: &[u32], contexts: ContextModel) -> Vec<u16> {
    let steps = sequence.len() / LANES;
    let mut of_each = vec![0; steps * LANES];
    let (mut at, mut next_lane) = (0, steps);
    for span in spans {
        let (mut position, mut before, mut history) = (0, contexts.absent_unit(), 0);
        while position < *span && at < of_each.len() {
            let run = ((*span - position) as usize).min(next_lane - at);
            let units = &sequence[at..at + run];
            for (context, unit) in of_each[at..at + run].iter_mut().zip(units) {
                *context = contexts.context_of(position, history, before) as u16;
                before = u32::from(*unit) & contexts.unit_mask();
                history = contexts.next_history(history, u32::from(*unit));
                position += 1;
            }
            at += run;
            if at == next_lane {
                (before, history) = (contexts.absent_unit(), 0);
                next_lane += steps;
            }
        }
    }
    of_each
}

fn encode_backwards(
    out: &mut Vec<u8>,
    sequence: &[u8],
    of_each: &[u16],
    map: &[u8],
    tables: &[Vec<u32>],
) {
    // Frequency and first slot of each unit in each table.
    let slots = tables.iter().flat_map(|table| {
        table.iter().scan(0, |next, share| {
            let first = *next;
            *next += share;
            Some((*share, first))
        })
    });
    let (slots, units): (Vec<(u32, u32)>, usize) = (slots.collect(), tables[0].len());
    let steps = sequence.len() / LANES;
    let mut states = [LOW; LANES];
    // From the back, at most one for each unit. Whether there is one is a coin's throw, so it is
    // written in any case and counted if it is one.
    let (mut words, mut count) = (vec![0_u16; steps * LANES + 1], 0);
    for step in (0..steps).rev() {
        for (lane, state) in states.iter_mut().enumerate().rev() {
            let at = lane * steps + step;
            let table = usize::from(map[usize::from(of_each[at])]);
            let (share, first) = slots[table * units + usize::from(sequence[at])];
            let full = u64::from(*state) >= u64::from(share) << (32 - BITS);
            words[count] = *state as u16;
            count += usize::from(full);
            *state >>= if full { 16 } else { 0 };
            *state = ((*state / share) << BITS) + *state % share + first;
        }
    }
    out.extend(states.iter().flat_map(|state| state.to_le_bytes()));
    out.extend_from_slice(&sequence[steps * LANES..]);
    out.extend(words[..count].iter().rev().flat_map(|word| word.to_le_bytes()));
}
