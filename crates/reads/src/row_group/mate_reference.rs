//! What a second mate may lean on: names and bases of the first.

use std::sync::Arc;

use super::{Column, EncodedChunk, EncodedMate, optional_column};
use crate::codecs;
use crate::error::{Error, Result};
use crate::kept_bytes::KeptBytes;
use crate::mates::MateNameRule;

/// What a second mate may have of the first.
#[derive(Debug, Default)]
pub(crate) struct MateReference {
    pub(crate) names: Option<Arc<Vec<u8>>>,
    /// Its bases, as [`codecs::expand_packed_bits`] says.
    pub(crate) bases: Option<Arc<KeptBytes>>,
}

/// What a mate needs of the one before it.
pub(crate) fn required_of_first(rule: u8, mut codecs: impl Iterator<Item = u8>) -> Vec<Column> {
    let names = (rule != MateNameRule::Own as u8).then_some(Column::Names);
    let bases = codecs.any(|codec| codec == codecs::BASES_BEHIND).then_some(Column::Bases);
    names.into_iter().chain(bases).collect()
}

/// What a second mate `leans` on, of a mate of which nothing else was fetched.
pub(crate) fn lend_columns(
    mate: &EncodedMate,
    spots: usize,
    leans: &[Column],
) -> Result<MateReference> {
    let too_many = spots > mate.text_len / 6 + 1;
    if too_many || mate.chunks.iter().any(|chunk| chunk.raw_len > mate.text_len.max(16)) {
        return Err(Error::damaged("more reads than there is text"));
    }
    let names = optional_column(mate, Column::Names, &vec![0; spots])?;
    let bases = mate.chunks.iter().find(|chunk| chunk.column == Column::Bases);
    let bases = bases.filter(|_| lends_bases(mate, leans));
    let bits = bases
        .map(|chunk| codecs::expand_packed_bits(&chunk.bytes, chunk.raw_len, spots))
        .transpose()?;
    Ok(MateReference { names: names.map(Arc::new), bases: bits.map(Arc::new) })
}

/// Whether a second mate leans on the bases of this one, which are such that it can.
pub(super) fn lends_bases(mate: &EncodedMate, leans: &[Column]) -> bool {
    let lends =
        |chunk: &EncodedChunk| chunk.column == Column::Bases && chunk.codec == codecs::BASES;
    leans.contains(&Column::Bases) && mate.chunks.iter().any(lends)
}
