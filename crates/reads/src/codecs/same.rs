//! One byte, again and again: qualities of SRA Lite.

use super::{Codec, ColumnShape};
use crate::error::{Error, Result};

/// Its number in archives.
pub(crate) const SAME: u8 = 2;
pub(super) const CODEC: Codec =
    Codec { id: SAME, name: "same", encode: encode_repeated, decode: decode_repeated };

fn encode_repeated(raw: &[u8], _: &ColumnShape<'_>) -> Option<Vec<u8>> {
    let first = *raw.first()?;
    raw.iter().all(|byte| *byte == first).then(|| vec![first])
}

fn decode_repeated(bytes: &[u8], shape: &ColumnShape<'_>) -> Result<Vec<u8>> {
    match bytes {
        [byte] => Ok(vec![*byte; shape.raw_len]),
        _ => Err(Error::damaged("more or less than one byte")),
    }
}
