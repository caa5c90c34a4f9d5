//! Random order from a seed, so that a session can be repeated and resumed in the same order.

/// SplitMix64: small, good enough to order runs, and the same everywhere.
#[derive(Debug, Clone)]
pub struct SeededRng(u64);

impl SeededRng {
    /// A generator for `seed` and a label, e.g. one block of one pipeline.
    pub fn new(seed: u64, label: &str) -> Self {
        Self(seed ^ fnv64(label.as_bytes()))
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`; the bias of the remainder is far below what order needs.
    pub fn next_below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound
    }

    /// Fisher and Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.next_below(last as u64 + 1) as usize);
        }
    }
}

/// FNV-1a: names a build by its bytes; not for secrets.
pub fn fnv64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_order_and_a_label_another() {
        let order = |seed, label: &str| {
            let mut items: Vec<u32> = (0..20).collect();
            SeededRng::new(seed, label).shuffle(&mut items);
            items
        };
        assert_eq!(order(1, "a"), order(1, "a"));
        assert_ne!(order(1, "a"), order(1, "b"));
        assert_ne!(order(1, "a"), order(2, "a"));
        let mut sorted = order(1, "a");
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn both_orders_of_a_pair_are_equally_likely() {
        let swapped = (0..10_000)
            .filter(|block| {
                let mut pair = [0, 1];
                SeededRng::new(7, &format!("wgs/{block}")).shuffle(&mut pair);
                pair[0] == 1
            })
            .count();
        assert!((4_800..5_200).contains(&swapped), "{swapped}");
    }

    #[test]
    fn fnv_of_a_known_word() {
        assert_eq!(fnv64(b"a"), 0xaf63_dc4c_8601_ec8c);
    }
}
