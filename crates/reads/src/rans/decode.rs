//! Decoding: the same steps by plain arithmetic or by vectors, to the same bytes.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::instruction_set::InstructionSet;
use super::lane_transpose::transpose_lanes;
use super::tables::{BIAS, DecodeTables, SHARE, WIDTH, read_tables};
use super::{BITS, ContextModel, LANES, LOW, ReadRange, UnitWidths};
use crate::error::{Error, Result};
use crate::kept_bytes::KeptBytes;
use crate::wire::WireReader;

/// Steps that are decoded before their units are brought into order.
const BLOCK: usize = 64;

/// Where each lane is.
#[derive(Debug)]
struct DecoderLanes {
    state: [u32; LANES],
    /// The unit before, as contexts count it.
    before: [u32; LANES],
    history: [u32; LANES],
    position: [u32; LANES],
    /// Places of the read.
    span: [u32; LANES],
    /// Which read.
    read: [u32; LANES],
}

/// What decoding needs besides.
#[derive(Debug)]
struct Model<'a> {
    contexts: ContextModel,
    tables: DecodeTables,
    /// Places of each read that has any, and a last one that no lane gets to the end of.
    spans: Vec<u32>,
    /// Units take more than one place, some of them.
    strings: bool,
    words: &'a [[u8; 2]],
}

/// More than any read has, and a number that vectors compare.
const ENDLESS: u32 = i32::MAX as u32;

/// Units that were decoded: all, or at least those of the reads that were wanted.
#[derive(Debug)]
pub(crate) struct DecodedUnits {
    /// As many as there are; those that nobody wanted may be anything.
    pub(crate) units: KeptBytes,
    /// All that are wanted are below this.
    pub(crate) below: usize,
    /// A unit at or before the first one that is wanted, and its place, counted over all reads;
    /// what lies between is decoded, too.
    pub(crate) near: UnitPlace,
}

/// Where a unit stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnitPlace {
    pub(crate) unit: usize,
    pub(crate) place: usize,
}

/// Decodes what [`super::encode_sequence`] made of `count` units in reads of `spans` units each;
/// `spans` add up to `count`.
pub(crate) fn decode_sequence(bytes: &[u8], spans: &[u32], count: usize) -> Result<DecodedUnits> {
    decode_wanted(bytes, spans, count, None)
}

/// The same, at least for the reads that are `wanted`.
pub(crate) fn decode_wanted(
    bytes: &[u8],
    spans: &[u32],
    count: usize,
    wanted: Option<ReadRange>,
) -> Result<DecodedUnits> {
    decode_sequence_by(fastest_way(), bytes, UnitReads { spans, count, widths: None, wanted })
}

/// Decodes what [`super::encode_strings`] made of `count` units, which take as many places each as
/// `widths` say, in reads of `spans` places.
pub(crate) fn decode_strings(
    bytes: &[u8],
    spans: &[u32],
    count: usize,
    widths: &UnitWidths,
    wanted: Option<ReadRange>,
) -> Result<DecodedUnits> {
    let reads = UnitReads { spans, count, widths: Some(widths), wanted };
    decode_sequence_by(fastest_way(), bytes, reads)
}

/// What is known of units before they are decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitReads<'a> {
    pub(crate) spans: &'a [u32],
    pub(crate) count: usize,
    pub(crate) widths: Option<&'a UnitWidths>,
    pub(crate) wanted: Option<ReadRange>,
}

/// The lane that has all that is wanted, and how many of its places until then.
#[derive(Clone, Copy, Debug)]
struct LaneGoal {
    lane: usize,
    places: usize,
}

/// Where to stop, if one lane has all that is wanted, and the start of the lane where that begins.
fn find_lane(
    reads: UnitReads<'_>,
    first_places: &[usize; LANES],
    steps: usize,
) -> (Option<LaneGoal>, UnitPlace) {
    let Some(ReadRange { first, end }) = reads.wanted else { return Default::default() };
    let places = |reads: Option<&[u32]>| -> usize {
        reads.unwrap_or_default().iter().map(|span| *span as usize).sum()
    };
    let from = places(reads.spans.get(..first));
    let until = from + places(reads.spans.get(first..end));
    let lane = first_places.partition_point(|place| *place <= from).saturating_sub(1);
    let near = UnitPlace { unit: lane * steps, place: first_places[lane] };
    let next = first_places.get(lane + 1).copied().unwrap_or(usize::MAX);
    let places = until - first_places[lane];
    ((until <= next).then_some(LaneGoal { lane, places }), near)
}

fn fastest_way() -> InstructionSet {
    *InstructionSet::all_supported().last().unwrap_or(&InstructionSet::Scalar)
}

pub(crate) fn decode_sequence_by(
    way: InstructionSet,
    bytes: &[u8],
    reads: UnitReads<'_>,
) -> Result<DecodedUnits> {
    let UnitReads { spans, count, widths, .. } = reads;
    let mut wire = WireReader::new(bytes);
    let contexts = ContextModel::read_from(&mut wire)?;
    let check_units =
        |tail: &[u8]| match tail.iter().all(|unit| usize::from(*unit) < contexts.units) {
            true => Ok(()),
            false => Err(Error::damaged("a unit that cannot be")),
        };
    if count < LANES {
        let units = wire.read_slice(count)?;
        check_units(units)?;
        wire.expect_end()?;
        let units = KeptBytes::from(units.to_vec());
        return Ok(DecodedUnits { units, below: contexts.units, near: UnitPlace::default() });
    }
    let tables = read_tables(&mut wire, contexts, widths)?;
    let steps = count / LANES;
    let mut spans: Vec<u32> = spans.iter().copied().filter(|span| *span > 0).collect();
    let places: usize = spans.iter().map(|span| *span as usize).sum();
    let first_places = match widths {
        None if places == count => std::array::from_fn(|lane| lane * steps),
        Some(_) if count <= places => read_lane_starts(&mut wire, places)?,
        _ => return Err(Error::damaged("reads and units differ")),
    };
    let (goal, near) = find_lane(reads, &first_places, steps);
    spans.push(ENDLESS);
    let mut lanes = DecoderLanes::at_start(&spans, first_places, contexts.absent_unit());
    for state in &mut lanes.state {
        *state = u32::from_le_bytes(wire.read_array()?);
    }
    let tail = wire.read_slice(count % LANES)?;
    check_units(tail)?;
    let (words, odd) = wire.rest().as_chunks::<2>();
    let model = Model { contexts, tables, spans, strings: widths.is_some(), words };
    let mut units = KeptBytes::with_len(count);
    let (in_lanes, last) = units.split_at_mut(steps * LANES);
    last.copy_from_slice(tail);
    let until = goal.map(|goal| (goal, widths));
    let read = decode_blocks(way, &model, &mut lanes, in_lanes, until)?;
    let wrong = |read| read != words.len() || !odd.is_empty() || lanes.state != [LOW; LANES];
    if read.is_some_and(wrong) {
        return Err(Error::damaged("words are left, or states are wrong"));
    }
    Ok(DecodedUnits { units, below: contexts.units, near })
}

/// The places, counted over all reads, at which lanes begin.
fn read_lane_starts(wire: &mut WireReader<'_>, places: usize) -> Result<[usize; LANES]> {
    let mut starts = [0; LANES];
    for lane in 1..LANES {
        let left = places - 1 - starts[lane - 1];
        starts[lane] = starts[lane - 1] + wire.read_bounded_varint(left)?;
    }
    Ok(starts)
}

impl DecoderLanes {
    /// Each lane at its first place, all of which are within reads.
    fn at_start(spans: &[u32], first_places: [usize; LANES], none: u32) -> DecoderLanes {
        let zero = [0; LANES];
        let (state, before) = (zero, [none; LANES]);
        let mut lanes =
            DecoderLanes { state, before, history: zero, position: zero, span: zero, read: zero };
        let (mut read, mut first) = (0, 0);
        for (lane, at) in first_places.into_iter().enumerate() {
            while first + spans[read] as usize <= at {
                first += spans[read] as usize;
                read += 1;
            }
            lanes.read[lane] = read as u32;
            lanes.span[lane] = spans[read];
            lanes.position[lane] = (at - first) as u32;
        }
        lanes
    }
}

/// All steps, to units in order: how many words were read. None if it stopped before, since a lane
/// was where it should be.
fn decode_blocks(
    way: InstructionSet,
    model: &Model<'_>,
    lanes: &mut DecoderLanes,
    units: &mut [u8],
    mut until: Option<(LaneGoal, Option<&UnitWidths>)>,
) -> Result<Option<usize>> {
    let steps = units.len() / LANES;
    let mut block = [[0_u8; LANES]; BLOCK];
    let mut word = 0;
    for first in (0..steps).step_by(BLOCK) {
        let rows = &mut block[..BLOCK.min(steps - first)];
        let done = match way {
            InstructionSet::Scalar => 0,
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => avx2::decode_steps(model, lanes, &mut word, rows),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => avx512::decode_steps(model, lanes, &mut word, rows),
        };
        for row in &mut rows[done..] {
            decode_step(model, lanes, &mut word, row)?;
        }
        transpose_lanes(rows, units, steps, first);
        if let Some((goal, widths)) = &mut until {
            let of_lane = rows.iter().map(|row| usize::from(row[goal.lane]));
            let places: usize =
                of_lane.map(|unit| widths.map_or(1, |widths| usize::from(widths[unit]))).sum();
            goal.places = goal.places.saturating_sub(places);
            if goal.places == 0 {
                return Ok(None);
            }
        }
    }
    Ok(Some(word))
}

fn decode_step(
    model: &Model<'_>,
    lanes: &mut DecoderLanes,
    word: &mut usize,
    row: &mut [u8; LANES],
) -> Result<()> {
    let Model { contexts, tables, spans, words, .. } = model;
    for (lane, unit) in row.iter_mut().enumerate() {
        let mut state = lanes.state[lane];
        let context =
            contexts.context_of(lanes.position[lane], lanes.history[lane], lanes.before[lane]);
        let slot = state & ((1 << BITS) - 1);
        let table = usize::from(tables.table[context]) << BITS;
        let entry = tables.entries[table + slot as usize];
        let part = |from: u32| entry >> from & ((1 << BITS) - 1);
        state = (part(SHARE) + 1).wrapping_mul(state >> BITS).wrapping_add(part(BIAS));
        if state < LOW {
            let next = words.get(*word).ok_or_else(|| Error::damaged("words are missing"))?;
            state = state << 16 | u32::from(u16::from_le_bytes(*next));
            *word += 1;
        }
        lanes.state[lane] = state;
        *unit = entry as u8;
        lanes.before[lane] = (entry & 0xff) & contexts.unit_mask();
        lanes.history[lane] = contexts.next_history(lanes.history[lane], entry & 0xff);
        lanes.position[lane] += 1 + (entry >> WIDTH);
        if lanes.position[lane] >= lanes.span[lane] {
            lanes.read[lane] += 1;
            lanes.span[lane] = spans[lanes.read[lane] as usize];
            lanes.position[lane] = 0;
            lanes.before[lane] = contexts.absent_unit();
            lanes.history[lane] = 0;
        }
    }
    Ok(())
}
