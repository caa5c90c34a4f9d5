//! Chance: a node is taken away after a while that a seed draws, another is in its place after a fixed
//! time, and so on. What it is not: it holds nothing that is to come, but draws what comes next.

use super::NodeChange;
use crate::choice::SpotMachines;

/// Where the moments come from.
#[derive(Clone, Debug)]
pub(super) struct InterruptionChance {
    spot: SpotMachines,
    state: u64,
}

impl InterruptionChance {
    /// `spot` is taken away more often than never.
    pub(super) fn new(spot: SpotMachines, seed: u64) -> Self {
        Self { spot, state: seed }
    }

    /// What happens first to a node.
    pub(super) fn first_change(&mut self, node: u32) -> NodeChange {
        NodeChange { at: self.draw_gap(), node, away: true }
    }

    /// What happens to the same node after that.
    pub(super) fn change_after(&mut self, change: &NodeChange) -> NodeChange {
        let wait = if change.away { self.spot.replaced.get() } else { self.draw_gap() };
        NodeChange { at: change.at + wait, away: !change.away, ..*change }
    }

    /// Seconds until the next interruption of a node, as long as chance has it.
    fn draw_gap(&mut self) -> f64 {
        // SplitMix64: any seed will do, and neighbours do not look alike.
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        let share = ((bits >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        -portable_ln(share) * 3600.0 / self.spot.per_hour
    }
}

/// The natural logarithm from sums and products only: those of libraries differ in the last bit
/// from machine to machine.
fn portable_ln(x: f64) -> f64 {
    let exponent = ((x.to_bits() >> 52) & 0x7FF) as i64 - 1023;
    let fraction = f64::from_bits((x.to_bits() & ((1 << 52) - 1)) | (1023 << 52));
    // ln f = 2 (z + z^3 / 3 + z^5 / 5 + ...) with z = (f - 1) / (f + 1), at most a third.
    let z = (fraction - 1.0) / (fraction + 1.0);
    let (mut sum, mut power) = (0.0, z);
    for odd in 0..20 {
        sum += power / f64::from(2 * odd + 1);
        power *= z * z;
    }
    2.0 * sum + exponent as f64 * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    //! If this fails, machines are taken away more or less often than the choice says.
    use super::*;

    #[test]
    fn logarithms_are_right() {
        for x in [1e-9, 0.1, 0.5, 0.9999, 1.0] {
            assert!((portable_ln(x) - f64::ln(x)).abs() < 1e-12, "{x}: {}", portable_ln(x));
        }
    }
}
