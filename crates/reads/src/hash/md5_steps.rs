//! MD5 (RFC 1321) of two streams in step. Each of its steps needs the one before it, so a core that
//! adds one stream up waits most of the time; it adds up two in hardly more.

/// A stream before its first byte.
pub(super) const MD5_START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
/// Bytes that are added at a time.
pub(super) const BLOCK: usize = 64;

/// What each step adds: 2^32 times the sine of its number, from 1 on.
const SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];
/// Bits that each step turns by: four in turns, of each round.
const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

#[inline(always)]
fn step<const NTH: usize>([a, b, c, d]: [u32; 4], block: &[u8; BLOCK]) -> [u32; 4] {
    // What does not need `b`, which comes last, is added first.
    let (word, mixed, early) = match NTH / 16 {
        0 => (NTH, d ^ (b & (c ^ d)), 0),
        1 => ((5 * NTH + 1) % 16, b & d, c & !d),
        2 => ((3 * NTH + 5) % 16, b ^ c ^ d, 0),
        _ => ((7 * NTH) % 16, c ^ (b | !d), 0),
    };
    let word = block.as_chunks::<4>().0[word];
    let early =
        a.wrapping_add(SINES[NTH]).wrapping_add(u32::from_le_bytes(word)).wrapping_add(early);
    let turned = early.wrapping_add(mixed).rotate_left(TURNS[NTH / 16][NTH % 4]);
    [d, b.wrapping_add(turned), b, c]
}

macro_rules! steps_of_both {
    ($one:ident, $other:ident, $blocks:ident; $($nth:literal)*) => {
        $(
            $one = step::<$nth>($one, $blocks.0);
            $other = step::<$nth>($other, $blocks.1);
        )*
    };
}

/// Adds a block to each of two streams.
pub(super) fn add_blocks(
    states: (&mut [u32; 4], &mut [u32; 4]),
    blocks: (&[u8; BLOCK], &[u8; BLOCK]),
) {
    let (mut one, mut other) = (*states.0, *states.1);
    steps_of_both!(one, other, blocks;
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
        16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
        48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63);
    for (state, done) in [(states.0, one), (states.1, other)] {
        state.iter_mut().zip(done).for_each(|(word, done)| *word = word.wrapping_add(done));
    }
}
