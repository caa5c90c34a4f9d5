//! SipHash-2-4 (Aumasson and Bernstein, 2012): a short keyed hash. Who lacks the key cannot tell
//! from a hash whether a guessed name is right.

use siphasher::sip::SipHasher24;

/// The hash of `data` under `key`.
pub(super) fn siphash(key: &[u8; 16], data: &[u8]) -> u64 {
    SipHasher24::new_with_key(key).hash(data)
}

#[cfg(test)]
mod tests {
    //! If this fails, anonymised names may be guessed, or are others than in older run files.
    use super::*;

    #[test]
    fn the_vectors_of_the_paper() {
        let key: [u8; 16] = std::array::from_fn(|i| i as u8);
        let data: Vec<u8> = (0..15).collect();
        assert_eq!(siphash(&key, &data), 0xa129_ca61_49be_45e5);
        assert_eq!(siphash(&key, b""), 0x726f_db47_dd0e_0e31);
    }
}
