//! The shapes of flows: what a flow asks of lanes for each second that it takes alone. Flows that
//! differ only in how long they take have one shape.

use std::collections::BTreeMap;

/// Amounts are alike when they differ by less than a millionth: the low bits of a quotient are
/// noise, and each shape costs time.
const FINE_BITS: u64 = 20;
/// With more shapes than this, amounts are alike that differ by less than 1.6 %.
const FINE: usize = 128;
const COARSE_BITS: u64 = 6;

/// A place in the list of shapes.
pub(crate) type ShapeId = u32;

/// All shapes that were met.
#[derive(Clone, Debug)]
pub(crate) struct FlowShapes {
    first: Vec<u32>,
    asks: Vec<(u32, f64)>,
    by_key: BTreeMap<Vec<u64>, ShapeId>,
    key: Vec<u64>,
    /// With more shapes than this, those that are nearly alike are taken for one.
    fine: usize,
}

impl FlowShapes {
    /// The shape that asks for nothing is number 0.
    pub(crate) fn new() -> Self {
        let by_key = BTreeMap::from([(Vec::new(), 0)]);
        Self { first: vec![0, 0], asks: Vec::new(), by_key, key: Vec::new(), fine: FINE }
    }

    /// The same, but shapes are never taken for one another.
    pub(crate) fn without_merging() -> Self {
        Self { fine: usize::MAX, ..Self::new() }
    }

    pub(crate) fn count(&self) -> usize {
        self.first.len() - 1
    }

    /// Lanes, and what is asked of each in a second.
    pub(crate) fn lane_demands(&self, shape: ShapeId) -> &[(u32, f64)] {
        let shape = shape as usize;
        &self.asks[self.first[shape] as usize..self.first[shape + 1] as usize]
    }

    /// The shape of a flow that takes so long alone and asks so much of each lane; lanes without
    /// a limit are left out.
    pub(crate) fn intern_demands(&mut self, alone: f64, asks: &[f64], limited: &[bool]) -> ShapeId {
        if alone <= 0.0 {
            return 0;
        }
        let asks = || {
            let all = asks.iter().zip(limited).enumerate();
            let limited = all.filter(|(_, (amount, limited))| **limited && **amount > 0.0);
            limited.map(|(lane, (amount, _))| (lane as u32, amount / alone))
        };
        self.key.clear();
        for (lane, amount) in asks() {
            let bits = if self.first.len() > self.fine { COARSE_BITS } else { FINE_BITS };
            // Rounded to so many bits; what is left of the exponent and the fraction is the key.
            let alike = (amount.to_bits() + (1 << (51 - bits))) >> (52 - bits);
            self.key.push(u64::from(lane) << 40 | alike << 6 | bits);
        }
        if let Some(known) = self.by_key.get(&self.key) {
            return *known;
        }
        let shape = self.count() as ShapeId;
        self.asks.extend(asks());
        self.first.push(self.asks.len() as u32);
        self.by_key.insert(self.key.clone(), shape);
        shape
    }
}
