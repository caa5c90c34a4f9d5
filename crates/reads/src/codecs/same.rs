//! One byte, again and again: qualities of SRA Lite.

use super::{Codec, ColumnShape, OpenColumn};
use crate::error::{Error, Result};

/// Its number in archives.
pub(crate) const SAME: u8 = 2;
pub(super) const CODEC: Codec =
    Codec { id: SAME, since: 1, name: "same", encode: encode_repeated, open: open_repeated };

fn encode_repeated(raw: &[u8], _: &ColumnShape<'_>) -> Option<Vec<u8>> {
    let first = *raw.first()?;
    raw.iter().all(|byte| *byte == first).then(|| vec![first])
}

fn open_repeated(bytes: &[u8], _: &ColumnShape<'_>) -> Result<OpenColumn> {
    match bytes {
        [byte] => Ok(OpenColumn::Same(*byte)),
        _ => Err(Error::damaged("more or less than one byte")),
    }
}
