//! zstd (RFC 8878), one frame; level 9, which is where two-bit bases stop getting smaller fast.

use super::{Codec, Shape};
use crate::error::{Error, Result};

pub(super) const CODEC: Codec = Codec { id: 1, name: "zstd", encode, decode };
const LEVEL: i32 = 9;

fn encode(raw: &[u8], _: &Shape<'_>) -> Option<Vec<u8>> {
    let bytes = compress(raw);
    (bytes.len() < raw.len()).then_some(bytes)
}

fn decode(bytes: &[u8], shape: &Shape<'_>) -> Result<Vec<u8>> {
    expand(bytes, shape.raw_len)
}

/// One frame.
pub(super) fn compress(raw: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(raw, LEVEL).expect("memory to memory, into a buffer of the bound's size")
}

/// At most `most` bytes come out, whatever the frame says of itself.
pub(super) fn expand(bytes: &[u8], most: usize) -> Result<Vec<u8>> {
    let raw = zstd::bulk::decompress(bytes, most);
    raw.map_err(|error| Error::damaged(format!("zstd: {error}")))
}
