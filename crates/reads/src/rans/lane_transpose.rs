//! Rows of units, one of each lane, become lanes: eight by eight bytes at a time.

use super::LANES;

/// Puts what `rows` say of each lane at `first` of its part of `units`, which has `steps` each.
pub(super) fn transpose_lanes(rows: &[[u8; LANES]], units: &mut [u8], steps: usize, first: usize) {
    let (eights, rest) = rows.as_chunks::<8>();
    // Eight lanes to their end, then the next: few lines of the cache are written at a time.
    for eighth in 0..LANES / 8 {
        for (nth, eight) in eights.iter().enumerate() {
            let mut turned = [0; 8];
            for (to, row) in turned.iter_mut().zip(eight) {
                *to = u64::from_le_bytes(row.as_chunks::<8>().0[eighth]);
            }
            transpose_bytes(&mut turned);
            for (lane, bytes) in turned.iter().enumerate() {
                let at = (8 * eighth + lane) * steps + first + 8 * nth;
                units[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
            }
        }
    }
    if rest.is_empty() {
        return;
    }
    for (lane, units) in units.chunks_exact_mut(steps).enumerate() {
        let units = &mut units[first + 8 * eights.len()..];
        units.iter_mut().zip(rest).for_each(|(unit, row)| *unit = row[lane]);
    }
}

/// Byte `i` of row `j` becomes byte `j` of row `i`: squares of four, two and one change places.
#[inline(always)]
fn transpose_bytes(rows: &mut [u64; 8]) {
    const SQUARES: [(usize, u64); 3] =
        [(4, 0x0000_0000_ffff_ffff), (2, 0x0000_ffff_0000_ffff), (1, 0x00ff_00ff_00ff_00ff)];
    for (size, mask) in SQUARES {
        for pair in 0..4 {
            // The rows of which this bit is 0, in order.
            let row = (pair / size) * 2 * size + pair % size;
            let changed = (rows[row] >> (8 * size) ^ rows[row + size]) & mask;
            rows[row + size] ^= changed;
            rows[row] ^= changed << (8 * size);
        }
    }
}
