//! zstd (RFC 8878), one frame.

use super::{Codec, ColumnShape, OpenColumn};
use crate::error::Result;
use crate::frames::{compress, decompress};

pub(super) const CODEC: Codec =
    Codec { id: 1, since: 1, name: "zstd", encode: encode_frame, open: open_frame };

fn encode_frame(raw: &[u8], _: &ColumnShape<'_>) -> Option<Vec<u8>> {
    let bytes = compress(raw);
    (bytes.len() < raw.len()).then_some(bytes)
}

fn open_frame(bytes: &[u8], shape: &ColumnShape<'_>) -> Result<OpenColumn> {
    decompress(bytes, shape.raw_len).map(OpenColumn::whole)
}
