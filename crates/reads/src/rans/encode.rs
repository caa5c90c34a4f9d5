//! Encoding: count, choose contexts, and code backwards.

use super::cluster::{ContextClusters, assign_contexts, cluster_contexts};
use super::sequence_model::SequenceModel;
use super::tables::append_tables;
use super::{
    BINS_MAX, BITS, ContextModel, LANES, LEVEL_BITS_MAX, LOW, SCALE, TABLES_MAX, UnitWidths,
};
use crate::wire::append_varint;

/// Units that pay for the finest contexts, and for nearly the finest, without asking.
const PLENTY: usize = 1 << 19;
const ENOUGH: usize = 1 << 16;

/// Bytes for each pair of different ones that pay for tables of pairs.
const EACH_PAIR: usize = 32;

/// Tables of a sequence that is read quickly, at most.
const TABLES_QUICK: usize = 32;

/// What contexts a sequence may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SequenceKind {
    /// One, or one for each unit before.
    Bytes,
    /// As many as pay, of the unit before, history and position.
    Qualities,
    /// Few places and levels, and few tables, which are near while they are read.
    Quick,
}

impl SequenceKind {
    fn tables_max(self) -> usize {
        if self == SequenceKind::Quick { TABLES_QUICK } else { TABLES_MAX }
    }
}

/// Units in reads: what is encoded.
#[derive(Clone, Copy, Debug)]
struct UnitSequence<'a> {
    units: &'a [u8],
    /// Places of each read.
    spans: &'a [u32],
    /// Places that each unit takes; none if it is one each.
    widths: Option<&'a UnitWidths>,
    /// All units are below this.
    below: usize,
    /// Of units of the same meaning.
    like: Option<&'a SequenceModel>,
}

impl UnitSequence<'_> {
    /// Places that a unit takes.
    #[inline]
    fn width(&self, unit: u8) -> u32 {
        self.widths.map_or(1, |widths| u32::from(widths[usize::from(unit)]))
    }
}

/// Encodes a sequence of units below `below`, which stands in reads of `spans` units each; with the
/// tables of one that is `like` it, if that had units of the same meaning.
pub(crate) fn encode_sequence(
    units: &[u8],
    spans: &[u32],
    below: usize,
    kind: SequenceKind,
    like: Option<&SequenceModel>,
) -> Vec<u8> {
    encode_units(UnitSequence { units, spans, widths: None, below, like }, kind)
}

/// The same with units that take as many places as `widths` say, in reads of `spans` places; none
/// goes beyond its read.
pub(crate) fn encode_strings(
    units: &[u8],
    spans: &[u32],
    widths: &UnitWidths,
    below: usize,
    kind: SequenceKind,
    like: Option<&SequenceModel>,
) -> Vec<u8> {
    encode_units(UnitSequence { units, spans, widths: Some(widths), below, like }, kind)
}

/// Bits that [`encode_strings`] would make of these units as qualities, more or less.
pub(crate) fn estimate_bits(units: &[u8], spans: &[u32], widths: &UnitWidths, below: usize) -> f64 {
    if units.len() < LANES {
        return 8.0 * units.len() as f64;
    }
    let sequence = UnitSequence { units, spans, widths: Some(widths), below, like: None };
    choose_contexts(sequence, SequenceKind::Qualities).0.bits
}

fn encode_units(sequence: UnitSequence<'_>, kind: SequenceKind) -> Vec<u8> {
    let units = sequence.units;
    let mut out = Vec::with_capacity(units.len() / 2);
    if units.len() < LANES {
        let contexts =
            ContextModel { units: sequence.below, order: 0, bins: 1, level_bits: 0, scale: 0 };
        contexts.append_to(&mut out);
        out.extend_from_slice(units);
        return out;
    }
    let (clusters, of_each) = choose_contexts(sequence, kind);
    clusters.contexts.append_to(&mut out);
    let (map, tables) = append_tables(&mut out, &clusters);
    if let Some(widths) = sequence.widths {
        let lanes = units.chunks_exact(units.len() / LANES).take(LANES - 1);
        for lane in lanes {
            let places: u64 = lane.iter().map(|unit| u64::from(widths[usize::from(*unit)])).sum();
            append_varint(&mut out, places);
        }
    }
    encode_backwards(&mut out, units, &of_each, &map, &tables);
    out
}

/// The best contexts and tables, and the context of each unit.
fn choose_contexts(sequence: UnitSequence<'_>, kind: SequenceKind) -> (ContextClusters, Vec<u16>) {
    let UnitSequence { units: sequence_units, spans, below: units, .. } = sequence;
    let places: usize = spans.iter().map(|span| *span as usize).sum();
    let mean = places / spans.len().max(1) + 1;
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
    if let Some(SequenceModel { contexts, tables }) = sequence.like
        && contexts.units == units
    {
        let contexts = with(contexts.order, contexts.bins, contexts.level_bits);
        let (of_each, counts) = count_in_contexts(sequence, contexts);
        return (assign_contexts(&counts, contexts, tables), of_each);
    }
    // From fine to coarse; what is not better than the one before ends it.
    let tried = match kind {
        SequenceKind::Bytes if tells_by_pairs(sequence_units) => vec![with(1, 1, 0), with(0, 1, 0)],
        SequenceKind::Bytes => vec![with(0, 1, 0)],
        SequenceKind::Qualities => {
            let tried: &[(usize, u32)] = match sequence_units.len() {
                PLENTY.. => &[(BINS_MAX, LEVEL_BITS_MAX)],
                ENOUGH.. => &[(BINS_MAX, LEVEL_BITS_MAX - 1)],
                _ => &[(4, 2), (4, 0), (1, 0)],
            };
            tried.iter().map(|(bins, level_bits)| with(1, *bins, *level_bits)).collect()
        }
        SequenceKind::Quick if sequence_units.len() >= ENOUGH => vec![with(1, 4, 2)],
        SequenceKind::Quick => vec![with(1, 4, 2), with(1, 1, 0)],
    };
    let mut best: Option<(ContextClusters, Vec<u16>)> = None;
    for contexts in tried {
        let (of_each, counts) = count_in_contexts(sequence, contexts);
        let clusters = cluster_contexts(&counts, contexts, kind.tables_max());
        if best.as_ref().is_some_and(|best| best.0.bits <= clusters.bits) {
            break;
        }
        best = Some((clusters, of_each));
    }
    best.expect("something was tried")
}

/// Whether bytes are so many that the one before could tell something about the next.
fn tells_by_pairs(bytes: &[u8]) -> bool {
    let mut seen = [false; 256];
    bytes.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let different = seen.into_iter().filter(|seen| *seen).count();
    bytes.len() >= EACH_PAIR * different * different
}

/// Lanes whose contexts are made side by side: one alone waits for its history at each unit.
const ABREAST: usize = 4;

/// Where a lane is in its reads.
#[derive(Clone, Copy, Debug, Default)]
struct LanePlace {
    before: u32,
    history: u32,
    position: u32,
    span: u32,
    /// Which read follows.
    next: usize,
}

/// The context of each unit that is in a lane, and for each context how often each unit is in it.
fn count_in_contexts(sequence: UnitSequence<'_>, contexts: ContextModel) -> (Vec<u16>, Vec<u32>) {
    let steps = sequence.units.len() / LANES;
    let spans: Vec<u32> = sequence.spans.iter().copied().filter(|span| *span > 0).collect();
    let mut counts = vec![0_u32; contexts.context_count() * contexts.units];
    let mut of_each = vec![0; steps * LANES];
    let starts = lane_places(sequence, &spans, contexts.absent_unit());
    let of_lanes = of_each.chunks_exact_mut(ABREAST * steps);
    let units = sequence.units.chunks_exact(ABREAST * steps);
    for ((of_each, units), places) in of_lanes.zip(units).zip(starts.as_chunks::<ABREAST>().0) {
        let mut places = *places;
        for step in 0..steps {
            for (lane, place) in places.iter_mut().enumerate() {
                let unit = units[lane * steps + step];
                let context = contexts.context_of(place.position, place.history, place.before);
                of_each[lane * steps + step] = context as u16;
                counts[context * contexts.units + usize::from(unit)] += 1;
                place.before = u32::from(unit) & contexts.unit_mask();
                place.history = contexts.next_history(place.history, u32::from(unit));
                place.position += sequence.width(unit);
                if place.position >= place.span {
                    let span = spans.get(place.next).copied().unwrap_or(u32::MAX);
                    let (before, next) = (contexts.absent_unit(), place.next + 1);
                    *place = LanePlace { before, history: 0, position: 0, span, next };
                }
            }
        }
    }
    (of_each, counts)
}

/// Where each lane begins.
fn lane_places(sequence: UnitSequence<'_>, spans: &[u32], before: u32) -> [LanePlace; LANES] {
    let steps = sequence.units.len() / LANES;
    let span = |nth: usize| spans.get(nth).copied().unwrap_or(u32::MAX);
    let mut place = LanePlace { before, span: span(0), next: 1, ..LanePlace::default() };
    let mut lanes = sequence.units.chunks_exact(steps);
    std::array::from_fn(|_| {
        let start = place;
        let units = lanes.next().unwrap_or_default();
        let mut left: u64 = units.iter().map(|unit| u64::from(sequence.width(*unit))).sum();
        while left >= u64::from(place.span - place.position) {
            left -= u64::from(place.span - place.position);
            place =
                LanePlace { span: span(place.next), next: place.next + 1, position: 0, ..place };
        }
        place.position += left as u32;
        start
    })
}

/// A unit in a table.
#[derive(Clone, Copy, Debug)]
struct UnitSlots {
    share: u32,
    first: u32,
    /// 2^43 / share, rounded up: products of it and of states below share * 2^21 are below 2^64, and
    /// 43 bits less they are quotients, exactly.
    reciprocal: u64,
}

const RECIPROCAL_BITS: u32 = 32 + BITS;

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
            let reciprocal = (1_u64 << RECIPROCAL_BITS).div_ceil(u64::from((*share).max(1)));
            Some(UnitSlots { share: *share, first, reciprocal })
        })
    });
    let (slots, units): (Vec<UnitSlots>, usize) = (slots.collect(), tables[0].len());
    let steps = sequence.len() / LANES;
    let mut states = [LOW; LANES];
    // From the back, at most one for each unit. Whether there is one is a coin's throw, so it is
    // written in any case and counted if it is one.
    let (mut words, mut count) = (vec![0_u16; steps * LANES + 1], 0);
    for step in (0..steps).rev() {
        for (lane, state) in states.iter_mut().enumerate().rev() {
            let at = lane * steps + step;
            let table = usize::from(map[usize::from(of_each[at])]);
            let UnitSlots { share, first, reciprocal } =
                slots[table * units + usize::from(sequence[at])];
            let full = u64::from(*state) >= u64::from(share) << (32 - BITS);
            words[count] = *state as u16;
            count += usize::from(full);
            *state >>= if full { 16 } else { 0 };
            let quotient = ((u64::from(*state) * reciprocal) >> RECIPROCAL_BITS) as u32;
            *state += quotient * ((1 << BITS) - share) + first;
        }
    }
    out.extend(states.iter().flat_map(|state| state.to_le_bytes()));
    out.extend_from_slice(&sequence[steps * LANES..]);
    out.extend(words[..count].iter().rev().flat_map(|word| word.to_le_bytes()));
}
