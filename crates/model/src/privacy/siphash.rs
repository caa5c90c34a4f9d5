//! SipHash-2-4 (Aumasson and Bernstein, 2012): a short keyed hash. Who lacks the key cannot tell
//! from a hash whether a guessed name is right.

/// The hash of `data` under `key`.
pub(super) fn siphash(key: &[u8; 16], data: &[u8]) -> u64 {
    let word = |bytes: &[u8]| {
        let mut buffer = [0; 8];
        buffer[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(buffer)
    };
    let (k0, k1) = (word(&key[..8]), word(&key[8..]));
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let chunks = data.chunks_exact(8);
    let tail = word(chunks.remainder()) | (data.len() as u64 & 0xff) << 56;
    for m in chunks.map(word).chain([tail]) {
        v[3] ^= m;
        rounds(&mut v, 2);
        v[0] ^= m;
    }
    v[2] ^= 0xff;
    rounds(&mut v, 4);
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn rounds(v: &mut [u64; 4], count: usize) {
    for _ in 0..count {
        v[0] = v[0].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[2] = v[2].rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    //! If this fails, anonymised names may be guessed.
    use super::*;

    #[test]
    fn the_vectors_of_the_paper() {
        let key: [u8; 16] = std::array::from_fn(|i| i as u8);
        let data: Vec<u8> = (0..15).collect();
        assert_eq!(siphash(&key, &data), 0xa129_ca61_49be_45e5);
        assert_eq!(siphash(&key, b""), 0x726f_db47_dd0e_0e31);
    }
}
