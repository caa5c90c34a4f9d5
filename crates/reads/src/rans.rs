//! Static-context interleaved rANS: the entropy coder below qualities and fields of names.
//!
//! A sequence of *units* (symbols below 256) is cut into 32 *lanes* of equal length, which are
//! coded in lock step: one state of 32 bits each, one stream of 16-bit words for all. What stands
//! in for chance is a table for each *context*, counted once and sent along: the unit before, and
//! where in its read a unit stands. Nothing adapts, so 32 lanes need no word from each other, and
//! a vector of them decodes at once.
//!
//! The first units of a lane know no unit before them, as those of a read do not.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod decode;
mod encode;
mod tables;

pub(crate) use decode::decode;
#[cfg(test)]
pub(crate) use decode::{Way, decode_by};
pub(crate) use encode::encode;

use crate::error::{Error, Result};
use crate::wire::{Wire, put};

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
/// Entries of all tables of a sequence at most: 32 MiB.
const ENTRIES_MAX: usize = 8 << 20;

/// How a context is made: `min(position * scale >> SCALE, bins - 1) * width + before`, where
/// `before` is the unit before this one, or `units` at the start, and 0 always in order 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Contexts {
    /// How many different units there can be.
    units: usize,
    /// Whether the unit before counts.
    order: u8,
    bins: usize,
    scale: u32,
}

impl Contexts {
    fn width(self) -> usize {
        if self.order == 0 { 1 } else { self.units + 1 }
    }

    fn count(self) -> usize {
        self.width() * self.bins
    }

    /// All bits of a unit if it counts for the next one.
    fn mask(self) -> u32 {
        if self.order == 0 { 0 } else { u32::MAX }
    }

    /// What stands for the unit before where there is none.
    fn none(self) -> u32 {
        self.units as u32 & self.mask()
    }

    #[inline]
    fn of(self, position: u32, before: u32) -> usize {
        let bin = (position.wrapping_mul(self.scale) >> SCALE).min(self.bins as u32 - 1);
        bin as usize * self.width() + before as usize
    }

    fn put(self, out: &mut Vec<u8>) {
        out.extend([(self.units - 1) as u8, self.order, self.bins as u8]);
        put(out, u64::from(self.scale));
    }

    fn take(wire: &mut Wire<'_>) -> Result<Contexts> {
        let [units, order, bins] = wire.array()?;
        let (units, bins) = (usize::from(units) + 1, usize::from(bins));
        let scale = wire.at_most(u32::MAX as usize)? as u32;
        match order < 2 && (1..=BINS_MAX).contains(&bins) {
            true => Ok(Contexts { units, order, bins, scale }),
            false => Err(Error::damaged("contexts that cannot be")),
        }
    }
}
