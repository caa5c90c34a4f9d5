//! A text as BGZF, the gzip of `bgzip`, in blocks that are not compressed: each holds as many
//! bytes, so where a block lies follows from its number, and any part can be made by itself.
//! (SAM specification, section 4.1; RFC 1951, section 3.2.4; RFC 1952.)

use crate::error::Result;

/// Text of a block, as `bgzip` cuts it.
pub(crate) const TEXT: usize = 0xff00;
/// Before the text of a block: the header of a gzip member, and that of a stored block.
const HEAD: usize = 18 + 5;
/// Behind it: CRC-32 and length.
const TAIL: usize = 8;
const BLOCK: usize = HEAD + TEXT + TAIL;
/// An empty block, by which readers know that nothing is cut off.
pub(crate) const END: [u8; 28] = [
    0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, b'B', b'C', 2, 0, 0x1b, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    0, 0,
];

/// Bytes of a text of `text` bytes.
pub(crate) fn encoded_len(text: u64) -> u64 {
    let blocks = text.div_ceil(TEXT as u64);
    text.saturating_add(blocks * (HEAD + TAIL) as u64).saturating_add(END.len() as u64)
}

/// Fills `out` with what stands from `offset` on, and says how many bytes there were. `read` reads
/// the text, which has `text` bytes.
pub(crate) fn read_encoded(
    text: u64,
    offset: u64,
    out: &mut [u8],
    read: impl Fn(u64, &mut [u8]) -> Result<()>,
) -> Result<usize> {
    let blocks = text.div_ceil(TEXT as u64);
    let mut done = 0;
    while done < out.len() {
        let at = offset.saturating_add(done as u64);
        let (number, within) = (at / BLOCK as u64, (at % BLOCK as u64) as usize);
        let out = &mut out[done..];
        if number < blocks {
            let start = number * TEXT as u64;
            let len = (text - start).min(TEXT as u64) as usize;
            // The last block may be shorter: what stands behind it is the end.
            if within < HEAD + len + TAIL {
                done += fill_block(start, len, within, out, &read)?;
                continue;
            }
        }
        let end = at.saturating_sub(self::encoded_len(text) - END.len() as u64) as usize;
        let rest = END.get(end..).unwrap_or_default();
        let took = rest.len().min(out.len());
        out[..took].copy_from_slice(&rest[..took]);
        return Ok(done + took);
    }
    Ok(done)
}

/// A block, or what of it from `within` on has room.
fn fill_block(
    start: u64,
    len: usize,
    within: usize,
    out: &mut [u8],
    read: impl Fn(u64, &mut [u8]) -> Result<()>,
) -> Result<usize> {
    let end = (within + out.len()).min(HEAD + len + TAIL);
    let out = &mut out[..end - within];
    let mut parts = BlockWindow { out, at: within };
    parts.copy_overlap(0, &block_header(len));
    if end > HEAD + len {
        // The checksum is of all of the block.
        let mut text = vec![0; len];
        read(start, &mut text)?;
        parts.copy_overlap(HEAD, &text);
        parts.copy_overlap(HEAD + len, &crc32fast::hash(&text).to_le_bytes());
        parts.copy_overlap(HEAD + len + 4, &(len as u32).to_le_bytes());
    } else if end > HEAD {
        let skipped = HEAD.saturating_sub(within);
        let first = within.max(HEAD) - HEAD;
        read(start + first as u64, &mut parts.out[skipped..])?;
    }
    Ok(end - within)
}

fn block_header(len: usize) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..18].copy_from_slice(&END[..18]);
    head[16..18].copy_from_slice(&((HEAD + len + TAIL - 1) as u16).to_le_bytes());
    // The last block of its member, stored.
    head[18] = 1;
    head[19..21].copy_from_slice(&(len as u16).to_le_bytes());
    head[21..23].copy_from_slice(&(!(len as u16)).to_le_bytes());
    head
}

/// Room for bytes of a block from `at` on.
struct BlockWindow<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl BlockWindow<'_> {
    /// Puts what stands at `place` of the block, as far as there is room for it.
    fn copy_overlap(&mut self, place: usize, bytes: &[u8]) {
        let from = place.max(self.at);
        let to = (place + bytes.len()).min(self.at + self.out.len());
        if from < to {
            self.out[from - self.at..to - self.at]
                .copy_from_slice(&bytes[from - place..to - place]);
        }
    }
}

#[cfg(test)]
mod tests {
    //! A byte in a wrong place makes all of the file unreadable.
    use std::io::Read;

    use super::*;

    fn whole(text: &[u8]) -> Vec<u8> {
        part(text, 0, encoded_len(text.len() as u64) as usize + 9)
    }

    fn part(text: &[u8], offset: u64, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        let source = |at: u64, out: &mut [u8]| {
            out.copy_from_slice(&text[at as usize..at as usize + out.len()]);
            Ok(())
        };
        let got = read_encoded(text.len() as u64, offset, &mut out, source).expect("read");
        out.truncate(got);
        out
    }

    #[test]
    fn gzip_reads_it_whatever_its_length() {
        for len in [0, 1, TEXT - 1, TEXT, TEXT + 1, 3 * TEXT, 3 * TEXT + 1234] {
            let text: Vec<u8> = (0..len).map(|at| (at * at % 251) as u8).collect();
            let packed = whole(&text);
            assert_eq!(packed.len() as u64, super::encoded_len(len as u64));
            let mut again = Vec::new();
            let mut reader = flate2::read::MultiGzDecoder::new(&packed[..]);
            reader.read_to_end(&mut again).expect("gzip");
            assert!(again == text, "{len}");
            assert!(packed.ends_with(&END));
        }
    }

    #[test]
    fn any_part_is_that_part_of_the_whole() {
        let text: Vec<u8> = (0..2 * TEXT + 77).map(|at| (at * at % 251) as u8).collect();
        let packed = whole(&text);
        let edges = [0, 17, 18, 22, 23, 24, BLOCK - 9, BLOCK - 8, BLOCK - 4, BLOCK - 1, BLOCK];
        let edges = edges.into_iter().flat_map(|edge| [edge, edge + BLOCK, edge + 2 * BLOCK]);
        let mut edges: Vec<usize> = edges.filter(|edge| *edge <= packed.len()).collect();
        edges.extend((packed.len() - 120)..=packed.len());
        for from in &edges {
            for len in [0, 1, 4, 30, 4096, BLOCK + 3, packed.len()] {
                let expected = &packed[*from..packed.len().min(from + len)];
                assert!(part(&text, *from as u64, len) == expected, "{from} {len}");
            }
        }
        assert!(part(&text, u64::MAX, 10).is_empty());
    }
}
