//! What the columns of an archive come to, from its index alone.

use crate::archive::Archive;
use crate::codecs;
use crate::error::Result;
use crate::row_group::Column;

/// One column in one codec, over all groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnTotal {
    /// Which column.
    pub column: Column,
    /// The name of the codec.
    pub codec: &'static str,
    /// How many chunks.
    pub chunks: u64,
    /// Bytes before.
    pub raw_bytes: u64,
    /// Bytes in the archive.
    pub bytes: u64,
}

impl Archive {
    /// Adds up all chunks, in the order of columns.
    ///
    /// # Errors
    /// The index is damaged or can't be read.
    pub fn column_totals(&self) -> Result<Vec<ColumnTotal>> {
        let mut totals: Vec<ColumnTotal> = Vec::new();
        for stripe in 0..self.manifest().stripes.len() {
            let mates = self.read_stripe_groups(stripe)?.into_iter().flat_map(|group| group.mates);
            for chunk in mates.flat_map(|mate| mate.chunks) {
                let (column, codec) = (chunk.column, codecs::codec_name(chunk.codec));
                let known = totals.iter().position(|t| t.column == column && t.codec == codec);
                let at = known.unwrap_or_else(|| {
                    totals.push(ColumnTotal { column, codec, chunks: 0, raw_bytes: 0, bytes: 0 });
                    totals.len() - 1
                });
                totals[at].chunks += 1;
                totals[at].raw_bytes += chunk.raw_len as u64;
                totals[at].bytes += chunk.len as u64;
            }
        }
        totals.sort_by_key(|total| total.column as u8);
        Ok(totals)
    }
}
