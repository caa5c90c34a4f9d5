//! Bytes that no storage can compress, the same from the same seed.

/// A stream of numbers (SplitMix64).
#[derive(Clone, Copy, Debug)]
pub(super) struct Noise(u64);

impl Noise {
    pub(super) fn new(seed: u64, stream: u64) -> Noise {
        let mut noise = Noise(seed ^ stream.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        noise.next_word();
        noise
    }

    pub(super) fn next_word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        let (words, rest) = bytes.as_chunks_mut::<8>();
        for word in words {
            *word = self.next_word().to_le_bytes();
        }
        let last = self.next_word().to_le_bytes();
        rest.copy_from_slice(&last[..rest.len()]);
    }
}
