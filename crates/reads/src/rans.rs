//! Static-context interleaved rANS: the entropy coder below qualities and fields of names.
//!
//! A sequence of *units* (symbols below 256) is cut into 32 *lanes* of equal length, which are
//! coded in lock step: one state of 32 bits each, one stream of 16-bit words for all. What stands
//! in for chance are tables, counted once and sent along. Which table a unit has says its
//! *context*: the unit before, how high the units before were (their *history*, a mean that
//! forgets), and where in its read a unit stands. Contexts are many and fine; those that are alike
//! share a table, so tables are few, cost little and stay near the core. Nothing adapts, so 32
//! lanes need no word from each other, and a vector of them decodes at once.
//!
//! The first units of a lane know no unit before them, as those of a read do not.
//!
//! A unit takes one place of its read, or, where it is a *string* of a dictionary, as many as the
//! string has letters. Where lanes begin in reads follows from their lengths in the first case, and is
//! sent along in the second.

mod cluster;
mod decode;
mod encode;
mod instruction_set;
mod lane_transpose;
mod map;
mod sequence_model;
mod tables;

pub(crate) use decode::{UnitPlace, decode_sequence, decode_strings, decode_wanted};
#[cfg(test)]
pub(crate) use decode::{UnitReads, decode_sequence_by};
pub(crate) use encode::{SequenceKind, encode_sequence, encode_strings, estimate_bits};
#[cfg(test)]
pub(crate) use instruction_set::InstructionSet;
pub(crate) use sequence_model::SequenceModel;

use crate::error::{Error, Result};
use crate::wire::{WireReader, append_varint};

/// States side by side.
const LANES: usize = 32;
/// Frequencies of a context add up to 1 << BITS.
const BITS: u32 = 11;
/// A state is never below this between two units.
const LOW: u32 = 1 << 16;
/// Positions are scaled by a factor over 1 << SCALE.
const SCALE: u32 = 20;
/// Bins of positions at most.
const BINS_MAX: usize = 8;
/// Levels of history at most: 1 << 4.
const LEVEL_BITS_MAX: u32 = 4;
/// A history is below 1 << HISTORY.
const HISTORY: u32 = 16;
/// Places of its read that a unit takes at most: 1 << WIDTH_BITS.
const WIDTH_BITS: u32 = 2;
pub(crate) const WIDTH_MAX: usize = 1 << WIDTH_BITS;
/// Tables of a sequence at most: 1 MiB, which is what many cores have near them.
const TABLES_MAX: usize = 128;

/// The places that each unit takes in its read, 1 to [`WIDTH_MAX`].
pub(crate) type UnitWidths = [u8; 256];

/// Reads of a group that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadRange {
    pub(crate) first: usize,
    /// The one behind the last.
    pub(crate) end: usize,
}

/// How a context is made: `(bin * levels + level) * width + before`, where
/// - `bin` is `min(position * scale >> SCALE, bins - 1)`,
/// - `position` is the place of the unit's first letter in its read,
/// - `level` has the highest bits of a history, which begins with 0 and, after each unit,
///   loses a quarter and gains `unit * weight`,
/// - `before` is the unit before this one, or `units` at the start, and 0 always in order 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ContextModel {
    /// How many different units there can be.
    units: usize,
    /// Whether the unit before counts.
    order: u8,
    bins: usize,
    /// Levels are 1 << level_bits.
    level_bits: u32,
    scale: u32,
}

impl ContextModel {
    fn row_width(self) -> usize {
        if self.order == 0 { 1 } else { self.units + 1 }
    }

    fn context_count(self) -> usize {
        (self.row_width() * self.bins) << self.level_bits
    }

    /// What a unit adds to a history: four of the highest stay below 1 << HISTORY.
    fn unit_weight(self) -> u32 {
        (1 << (HISTORY - 2)) / self.units as u32
    }

    /// All bits of a unit if it counts for the next one.
    fn unit_mask(self) -> u32 {
        if self.order == 0 { 0 } else { u32::MAX }
    }

    /// What stands for the unit before where there is none.
    fn absent_unit(self) -> u32 {
        self.units as u32 & self.unit_mask()
    }

    /// The history behind a unit.
    #[inline]
    fn next_history(self, history: u32, unit: u32) -> u32 {
        history - (history >> 2) + unit * self.unit_weight()
    }

    #[inline]
    fn context_of(self, position: u32, history: u32, before: u32) -> usize {
        let bin = (position.wrapping_mul(self.scale) >> SCALE).min(self.bins as u32 - 1);
        let level = history >> (HISTORY - self.level_bits);
        ((bin << self.level_bits) + level) as usize * self.row_width() + before as usize
    }

    /// All contexts in the order in which their map is written: those of neighbouring places in a
    /// read side by side, as they are most alike.
    fn in_map_order(self) -> impl Iterator<Item = usize> {
        let (width, levels) = (self.row_width(), 1 << self.level_bits);
        (0..width).flat_map(move |before| {
            (0..levels).flat_map(move |level| {
                (0..self.bins).map(move |bin| (bin * levels + level) * width + before)
            })
        })
    }

    fn append_to(self, out: &mut Vec<u8>) {
        out.extend([(self.units - 1) as u8, self.order, self.bins as u8, self.level_bits as u8]);
        append_varint(out, u64::from(self.scale));
    }

    fn read_from(wire: &mut WireReader<'_>) -> Result<ContextModel> {
        let [units, order, bins, level_bits] = wire.read_array()?;
        let (units, bins) = (usize::from(units) + 1, usize::from(bins));
        let level_bits = u32::from(level_bits);
        let scale = wire.read_bounded_varint(u32::MAX as usize)? as u32;
        match order < 2 && (1..=BINS_MAX).contains(&bins) && level_bits <= LEVEL_BITS_MAX {
            true => Ok(ContextModel { units, order, bins, level_bits, scale }),
            false => Err(Error::damaged("contexts that cannot be")),
        }
    }
}
