//! Encoding: count, choose contexts, and code backwards.

use super::tables::{cost, frequencies, put_tables};
use super::{BINS_MAX, BITS, Contexts, ENTRIES_MAX, LANES, LOW, SCALE};

/// Encodes a sequence of units below `units`, which stands in reads of `spans` units each.
/// `orders` are to be tried. None where it can't pay.
pub(crate) fn encode(
    sequence: &[u8],
    spans: &[u32],
    units: usize,
    orders: &[u8],
) -> Option<Vec<u8>> {
    let best = orders.iter().map(|order| plan(sequence, spans, units, *order));
    let (contexts, of_each, counts, _) = best.min_by(|a, b| a.3.total_cmp(&b.3))?;
    let tables: Vec<_> = counts.chunks(units).map(frequencies).collect();
    if tables.iter().flatten().count() << BITS > ENTRIES_MAX {
        return None;
    }
    let mut out = Vec::with_capacity(sequence.len() / 2);
    contexts.put(&mut out);
    if sequence.len() < LANES {
        out.extend_from_slice(sequence);
        return Some(out);
    }
    put_tables(&mut out, &tables);
    code(&mut out, sequence, &of_each, &tables, units);
    Some(out)
}

/// Contexts, the context of each unit, counts, and the bits that it all comes to.
fn plan(
    sequence: &[u8],
    spans: &[u32],
    units: usize,
    order: u8,
) -> (Contexts, Vec<u16>, Vec<u32>, f64) {
    let mean = sequence.len() / spans.len().max(1) + 1;
    let longest = spans.iter().copied().max().unwrap_or(1) as usize;
    // A few reads that are much longer than the others must not take all bins.
    let typical = longest.min(2 * mean).max(1);
    let bins = if spans.len() > 1 { BINS_MAX } else { 1 };
    let scale = (1_usize << SCALE) / typical;
    let finest = Contexts { units, order, bins, scale: (scale * bins) as u32 };
    let mut of_each = contexts_of(sequence, spans, finest);
    let mut counts = vec![0_u32; finest.count() * units];
    for (context, unit) in of_each.iter().zip(sequence) {
        counts[usize::from(*context) * units + usize::from(*unit)] += 1;
    }
    // Half as many bins, each two together, as long as that is cheaper.
    let mut best = (finest, cost(&counts, units), counts);
    let (mut now, mut counts) = (finest, best.2.clone());
    while now.bins > 1 {
        let row = now.width() * units;
        let pairs = counts.chunks(2 * row);
        counts = pairs
            .flat_map(|pair| (0..row).map(|at| pair[at] + pair[row + at]).collect::<Vec<_>>())
            .collect();
        now = Contexts { bins: now.bins / 2, scale: now.scale / 2, ..now };
        let bits = cost(&counts, units);
        if bits < best.1 {
            best = (now, bits, counts.clone());
        }
    }
    let (chosen, bits, mut counts) = best;
    if chosen != finest {
        // Halved factors round otherwise at some positions: count again as it will be decoded.
        of_each = contexts_of(sequence, spans, chosen);
        counts = vec![0; chosen.count() * units];
        for (context, unit) in of_each.iter().zip(sequence) {
            counts[usize::from(*context) * units + usize::from(*unit)] += 1;
        }
    }
    (chosen, of_each, counts, bits)
}

/// The context of each unit that is in a lane.
fn contexts_of(sequence: &[u8], spans: &[u32], contexts: Contexts) -> Vec<u16> {
    let steps = sequence.len() / LANES;
    let mut of_each = Vec::with_capacity(sequence.len());
    let (mut rest, mut next_lane) = (sequence, 0);
    for span in spans {
        let (read, after) = rest.split_at(*span as usize);
        let mut before = contexts.none();
        for (position, unit) in read.iter().enumerate() {
            if of_each.len() == next_lane {
                before = contexts.none();
                next_lane += steps;
            }
            of_each.push(contexts.of(position as u32, before) as u16);
            before = u32::from(*unit) & contexts.mask();
        }
        rest = after;
    }
    of_each.truncate(steps * LANES);
    of_each
}

fn code(
    out: &mut Vec<u8>,
    sequence: &[u8],
    of_each: &[u16],
    tables: &[Option<Vec<u32>>],
    units: usize,
) {
    // Frequency and first slot of each unit in each context.
    let mut slots = vec![(0_u32, 0_u32); tables.len() * units];
    for (slots, table) in slots.chunks_mut(units).zip(tables) {
        let mut first = 0;
        for (slot, share) in slots.iter_mut().zip(table.iter().flatten()) {
            *slot = (*share, first);
            first += share;
        }
    }
    let steps = sequence.len() / LANES;
    let mut states = [LOW; LANES];
    let mut words = Vec::with_capacity(sequence.len() / 4);
    for step in (0..steps).rev() {
        for (lane, state) in states.iter_mut().enumerate().rev() {
            let at = lane * steps + step;
            let (share, first) =
                slots[usize::from(of_each[at]) * units + usize::from(sequence[at])];
            if u64::from(*state) >= u64::from(share) << (32 - BITS) {
                words.push(*state as u16);
                *state >>= 16;
            }
            *state = ((*state / share) << BITS) + *state % share + first;
        }
    }
    out.extend(states.iter().flat_map(|state| state.to_le_bytes()));
    out.extend_from_slice(&sequence[steps * LANES..]);
    out.extend(words.iter().rev().flat_map(|word| word.to_le_bytes()));
}
