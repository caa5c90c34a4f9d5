//! Rows of units, one of each lane, become lanes: eight by eight bytes at a time.

use super::LANES;

/// Puts what `rows` say of each lane at `first` of its part of `units`, which has `steps` each.
pub(super) fn transpose_lanes(rows: &[[u8; LANES]], units: &mut [u8], steps: usize, first: usize) {
    let (eights, rest) = rows.as_chunks::<8>();
    for (nth, eight) in eights.iter().enumerate() {
        for lanes in (0..LANES).step_by(8) {
            let turned =
                transpose_bytes(eight.each_ref().map(|row| {
                    u64::from_le_bytes(row[lanes..lanes + 8].try_into().expect("eight"))
                }));
            for (lane, bytes) in turned.iter().enumerate() {
                let at = (lanes + lane) * steps + first + 8 * nth;
                units[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
            }
        }
    }
    for (lane, units) in units.chunks_exact_mut(steps).enumerate() {
        let units = &mut units[first + 8 * eights.len()..];
        units.iter_mut().zip(rest).for_each(|(unit, row)| *unit = row[lane]);
    }
}

/// Byte `i` of row `j` becomes byte `j` of row `i`: squares of four, two and one change places.
fn transpose_bytes(mut rows: [u64; 8]) -> [u64; 8] {
    for (size, mask) in
        [(4, 0x0000_0000_ffff_ffff_u64), (2, 0x0000_ffff_0000_ffff), (1, 0x00ff_00ff_00ff_00ff)]
    {
        for row in (0..8).filter(|row| row & size == 0) {
            let changed = (rows[row] >> (8 * size) ^ rows[row + size]) & mask;
            rows[row + size] ^= changed;
            rows[row] ^= changed << (8 * size);
        }
    }
    rows
}
