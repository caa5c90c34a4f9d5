//! When machines are taken away, and when others are in their place: from a seed, node by node.
//!
//! What it is not: it knows no task; the simulation begins again what was lost.

use crate::choice::SpotMachines;

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NodeChange {
    pub(crate) at: f64,
    pub(crate) node: u32,
    /// It is taken away; otherwise another one is in its place.
    pub(crate) away: bool,
}

/// All that will happen.
#[derive(Clone, Debug)]
pub(crate) struct Interruptions {
    spot: Option<SpotMachines>,
    state: u64,
    /// What happens next to each node.
    nodes: Vec<NodeChange>,
}

impl Interruptions {
    pub(crate) fn new(spot: Option<SpotMachines>, nodes: u32, seed: u64) -> Self {
        let spot = spot.filter(|spot| spot.per_hour > 0.0);
        let mut all = Self { spot, state: seed, nodes: Vec::new() };
        for node in 0..if spot.is_some() { nodes } else { 0 } {
            let at = all.draw_gap();
            all.nodes.push(NodeChange { at, node, away: true });
        }
        all
    }

    /// When something happens next; infinity: never.
    pub(crate) fn next_change_time(&self) -> f64 {
        self.nodes.iter().map(|change| change.at).fold(f64::INFINITY, f64::min)
    }

    /// What happens by then, if anything does.
    pub(crate) fn take_due_change(&mut self, now: f64) -> Option<NodeChange> {
        let place = self.nodes.iter().position(|change| change.at <= now)?;
        let change = self.nodes[place];
        let wait = match self.spot {
            Some(spot) if change.away => spot.replaced.get(),
            _ => self.draw_gap(),
        };
        self.nodes[place] = NodeChange { at: change.at + wait, away: !change.away, ..change };
        Some(change)
    }

    /// Seconds until the next interruption of a node, as long as chance has it.
    fn draw_gap(&mut self) -> f64 {
        let Some(spot) = self.spot else { return f64::INFINITY };
        // SplitMix64: any seed will do, and neighbours do not look alike.
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        let share = ((bits >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        -portable_ln(share) * 3600.0 / spot.per_hour
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
    //! If these fail, machines are taken away more or less often than the choice says.
    use super::*;
    use forebay_model::Seconds;

    #[test]
    fn logarithms_are_right() {
        for x in [1e-9, 0.1, 0.5, 0.9999, 1.0] {
            assert!((portable_ln(x) - f64::ln(x)).abs() < 1e-12, "{x}: {}", portable_ln(x));
        }
    }

    #[test]
    fn interruptions_come_as_often_as_said() {
        let spot = SpotMachines { per_hour: 0.5, replaced: Seconds(60.0) };
        let mut all = Interruptions::new(Some(spot), 10, 7);
        let mut count = 0;
        while all.next_change_time() < 3.6e6 {
            let now = all.next_change_time();
            count += u32::from(all.take_due_change(now).is_some_and(|change| change.away));
        }
        assert!((4700..5300).contains(&count), "{count} of about 5000 in 10 x 1000 h");
    }
}
