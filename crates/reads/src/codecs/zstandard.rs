//! zstd (RFC 8878), one frame; level 9, which is where two-bit bases stop getting smaller fast.

use std::cell::RefCell;

use zstd::zstd_safe::DCtx;

use super::{Codec, ColumnShape};
use crate::error::{Error, Result};

pub(super) const CODEC: Codec =
    Codec { id: 1, name: "zstd", encode: encode_frame, decode: decode_frame };
const LEVEL: i32 = 9;

thread_local! {
    /// Names have dozens of small frames; a context for each costs as much as they do.
    static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

fn encode_frame(raw: &[u8], _: &ColumnShape<'_>) -> Option<Vec<u8>> {
    let bytes = compress(raw);
    (bytes.len() < raw.len()).then_some(bytes)
}

fn decode_frame(bytes: &[u8], shape: &ColumnShape<'_>) -> Result<Vec<u8>> {
    decompress(bytes, shape.raw_len)
}

/// One frame.
pub(crate) fn compress(raw: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(raw, LEVEL).expect("memory to memory, into a buffer of the bound's size")
}

/// One frame that can be read only by who has `first`, as if that stood before it.
pub(super) fn compress_with_prefix(raw: &[u8], first: &[u8]) -> Vec<u8> {
    let mut context = zstd::bulk::Compressor::new(LEVEL).expect("memory");
    if !first.is_empty() {
        context.context_mut().ref_prefix(first).expect("a context that does nothing yet");
    }
    context.compress(raw).expect("memory to memory, into a buffer of the bound's size")
}

/// At most `most` bytes come out, whatever the frame says of itself.
pub(crate) fn decompress(bytes: &[u8], most: usize) -> Result<Vec<u8>> {
    decompress_with_prefix(bytes, most, &[])
}

pub(super) fn decompress_with_prefix(bytes: &[u8], most: usize, first: &[u8]) -> Result<Vec<u8>> {
    let mut raw = Vec::with_capacity(most);
    let expanded = match first {
        [] => CONTEXT.with_borrow_mut(|context| context.decompress(&mut raw, bytes)),
        first => {
            let mut context = DCtx::create();
            context.ref_prefix(first).and_then(|_| context.decompress(&mut raw, bytes))
        }
    };
    let words = |code| Error::damaged(format!("zstd: {}", zstd::zstd_safe::get_error_name(code)));
    expanded.map(|_| raw).map_err(words)
}
