//! Numbers that look random and are the same for the same seed, on every machine.

/// SplitMix64: a counter, well mixed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeededRng(u64);

impl SeededRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// One of so many; 0 of none.
    pub(crate) fn next_index(&mut self, count: usize) -> usize {
        if count == 0 { 0 } else { (self.next_u64() % count as u64) as usize }
    }

    /// From 0 to 1, without 1.
    pub(crate) fn next_fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
