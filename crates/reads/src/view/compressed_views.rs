//! Views that are compressed: FASTQ as BGZF, which every reader of `.gz` takes, and reads as
//! unaligned BAM. Groups become blocks by themselves, so threads compress as they decode.

use std::io::Write;

use flate2::{Compress, Compression, FlushCompress, Status};

use super::bam_writer::{self, BamHeader};
use super::{ReadSelection, no_group_records_error};
use crate::archive::{Archive, RequestedColumns};
use crate::bgzf::{END as BGZF_END, TEXT as BGZF_TEXT};
use crate::error::{Error, Result};
use crate::row_group::is_blank_text;
use crate::stripe_index::LocatedGroup;

/// Bytes of a block at most; and what stands around what is compressed.
const BLOCK: usize = 1 << 16;
const HEAD: usize = 18;
const TAIL: usize = 8;

impl Archive {
    /// Writes a file that the archive shows, compressed as `bgzip` does; `level` is 0 to 9.
    ///
    /// # Errors
    /// As [`Archive::write_view`].
    pub fn write_gzip(
        &self,
        file: usize,
        level: u32,
        threads: usize,
        out: &mut impl Write,
    ) -> Result<()> {
        let view = ReadSelection::File(file);
        self.check_view(view)?;
        let asked = RequestedColumns::all_columns(self.mates_of_view(view));
        let work = |group: LocatedGroup| {
            Ok(compress_bgzf(&self.render_group(&group, view, asked)?, level))
        };
        self.for_each_group(asked, threads, work, |blocks| write_bytes(out, &blocks?))?;
        write_bytes(out, &BGZF_END)
    }

    /// Writes all reads as unaligned BAM, mates one behind the other. How many of them it can't
    /// hold as they are: letters that are no base, lower case, a second name, odd line ends.
    ///
    /// # Errors
    /// As [`Archive::write_view`]; [`crate::Kind::Request`] where there is no BAM of a read: mates
    /// with different names, names of more than 254 bytes, qualities beyond `~`, text without
    /// records.
    pub fn write_bam(
        &self,
        header: &BamHeader,
        level: u32,
        threads: usize,
        out: &mut impl Write,
    ) -> Result<u64> {
        let mates = self.manifest().shape.mate_count();
        let asked = RequestedColumns::all_columns(self.mates_of_view(ReadSelection::Both));
        let work = |group: LocatedGroup| {
            let text = self.render_group(&group, ReadSelection::Both, asked)?;
            if group.spots == 0 && is_blank_text(&text) {
                return Ok((Vec::new(), 0));
            }
            let (lines, changed) = bam_writer::encode_lines(&text, mates, header)?
                .ok_or_else(|| no_group_records_error(&group))?;
            Ok((compress_bgzf(&lines, level), changed))
        };
        write_bytes(out, &compress_bgzf(&header.to_bytes(), level))?;
        let mut sum = 0;
        self.for_each_group(asked, threads, work, |blocks| {
            let (blocks, changed) = blocks?;
            sum += changed;
            write_bytes(out, &blocks)
        })?;
        write_bytes(out, &BGZF_END)?;
        Ok(sum)
    }
}

fn write_bytes(out: &mut impl Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|error| Error::io("writing", error))
}

/// Blocks of a text.
fn compress_bgzf(text: &[u8], level: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 2 + BLOCK);
    for piece in text.chunks(BGZF_TEXT) {
        let packed = [level, 0].into_iter().find_map(|level| deflate_block(piece, level));
        let packed = packed.expect("stored, a block has room for it");
        out.extend_from_slice(&BGZF_END[..HEAD - 2]);
        out.extend_from_slice(&((HEAD + packed.len() + TAIL - 1) as u16).to_le_bytes());
        out.extend_from_slice(&packed);
        out.extend_from_slice(&crc32fast::hash(piece).to_le_bytes());
        out.extend_from_slice(&(piece.len() as u32).to_le_bytes());
    }
    out
}

/// None if that does not fit into a block.
fn deflate_block(text: &[u8], level: u32) -> Option<Vec<u8>> {
    let mut packed = Vec::with_capacity(BLOCK - HEAD - TAIL);
    let mut packer = Compress::new(Compression::new(level.min(9)), false);
    let end = packer.compress_vec(text, &mut packed, FlushCompress::Finish);
    (end.ok()? == Status::StreamEnd && packed.len() <= BLOCK - HEAD - TAIL).then_some(packed)
}

#[cfg(test)]
mod tests {
    //! A block that is too long, or has a wrong length, ends all reading there.
    use std::io::Read;

    use super::*;

    #[test]
    fn blocks_are_read_whatever_they_hold() {
        let mut state = 7_u64;
        let mut noise = |_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        };
        let noise: Vec<u8> = (0..3 * BGZF_TEXT + 5).map(&mut noise).collect();
        let even = vec![b'A'; BGZF_TEXT];
        for text in [&noise[..], &noise[..1], &even, b""] {
            for level in [0, 1, 6, 9, 77] {
                let blocks = [&compress_bgzf(text, level)[..], &BGZF_END].concat();
                let mut again = Vec::new();
                let mut gzip = flate2::read::MultiGzDecoder::new(&blocks[..]);
                gzip.read_to_end(&mut again).expect("gzip");
                assert!(again == text, "{} bytes, level {level}", text.len());
            }
        }
    }
}
