//! What is asked for of groups: mates, and columns. A column that nobody asked for is not fetched,
//! and something that is alike in all reads stands in for it.

use crate::codecs;
use crate::error::{Error, Result};
use crate::mates::MateNameRule;
use crate::row_group::{Column, EncodedChunk, EncodedMate};
use crate::stripe_index::{LocatedChunk, LocatedGroup};

/// What stands in for qualities: 30, as in SRA Lite for reads that passed.
pub(super) const QUALITY: u8 = b'?';

/// Mates and columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestedColumns {
    pub(crate) mates: [bool; 2],
    pub(crate) names: bool,
    pub(crate) qualities: bool,
}

impl RequestedColumns {
    /// All of these mates.
    pub(crate) fn all_columns(mates: [bool; 2]) -> RequestedColumns {
        RequestedColumns { mates, names: true, qualities: true }
    }

    fn has_column(self, column: Column) -> bool {
        match column {
            Column::Names => self.names,
            Column::Qualities => self.qualities,
            _ => true,
        }
    }

    /// Whether the columns of a mate were asked for; of a first mate a second one may need some all
    /// the same.
    fn wants_chunk(self, mate: usize, chunk: &LocatedChunk) -> bool {
        self.mates[mate] && self.has_column(chunk.column)
    }

    /// What a second mate that is wanted leans on, and the chunks that are needed, each with its
    /// mate.
    pub(super) fn required_chunks(
        self,
        group: &LocatedGroup,
    ) -> (Vec<Column>, Vec<(usize, &LocatedChunk)>) {
        let second = group.mates.get(1).filter(|_| self.mates[1]);
        let mut leans = second
            .map(|second| {
                crate::row_group::required_of_first(
                    second.rule,
                    second.chunks.iter().map(|chunk| chunk.codec),
                )
            })
            .unwrap_or_default();
        leans.retain(|column| self.has_column(*column));
        let mut asked = Vec::new();
        for (nth, at) in group.mates.iter().enumerate() {
            let lends = |chunk: &LocatedChunk| nth == 0 && leans.contains(&chunk.column);
            let needed = |chunk: &&LocatedChunk| self.wants_chunk(nth, chunk) || lends(chunk);
            asked.extend(at.chunks.iter().filter(needed).map(|chunk| (nth, chunk)));
        }
        (leans, asked)
    }

    /// Puts what stands in for columns into a mate that was fetched without them.
    pub(super) fn fill_missing_columns(
        self,
        mate: &mut EncodedMate,
        group: &LocatedGroup,
        nth: usize,
    ) -> Result<()> {
        let len_of = |nth: usize, column| {
            let mut chunks = group.mates[nth].chunks.iter();
            chunks.find(|chunk| chunk.column == column).map(|chunk| chunk.raw_len)
        };
        let mut put = |column, raw_len, byte| {
            mate.chunks.push(EncodedChunk {
                column,
                codec: codecs::SAME,
                raw_len,
                bytes: vec![byte],
            });
        };
        if let Some(raw_len) = len_of(nth, Column::Qualities).filter(|_| !self.qualities) {
            put(Column::Qualities, raw_len, QUALITY);
        }
        // Text that has no columns has its names.
        if self.names || len_of(nth, Column::Text).is_some() {
            return Ok(());
        }
        let wrong = || Error::damaged("names are longer than the text");
        let names = len_of(nth, Column::Names).or_else(|| len_of(0, Column::Names));
        let letters = names.and_then(|names| names.checked_sub(group.spots)).ok_or_else(wrong)?;
        put(Column::Names, group.spots, b'\n');
        let copies = if mate.style & crate::columns::NAME_TWICE == 0 { 1 } else { 2 };
        mate.text_len = mate.text_len.checked_sub(letters * copies).ok_or_else(wrong)?;
        mate.rule = MateNameRule::Own as u8;
        Ok(())
    }
}
