//! zstd (RFC 8878), one frame; level 9, which is where two-bit bases stop getting smaller fast.

use std::cell::RefCell;

use zstd::zstd_safe::{DCtx, WriteBuf};

use super::{Codec, ColumnShape, OpenColumn};
use crate::error::{Error, Result};
use crate::kept_bytes::KeptBytes;

pub(super) const CODEC: Codec =
    Codec { id: 1, name: "zstd", encode: encode_frame, open: open_frame };
const LEVEL: i32 = 9;

thread_local! {
    /// Names have dozens of small frames; a context for each costs as much as they do.
    static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

fn encode_frame(raw: &[u8], _: &ColumnShape<'_>) -> Option<Vec<u8>> {
    let bytes = compress(raw);
    (bytes.len() < raw.len()).then_some(bytes)
}

fn open_frame(bytes: &[u8], shape: &ColumnShape<'_>) -> Result<OpenColumn> {
    decompress(bytes, shape.raw_len).map(OpenColumn::whole)
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
    let mut raw = Vec::with_capacity(most);
    expand_to(&mut raw, bytes, &[])?;
    Ok(raw)
}

/// The same behind `first`, into a buffer that is kept.
pub(super) fn decompress_with_prefix(bytes: &[u8], most: usize, first: &[u8]) -> Result<KeptBytes> {
    let mut raw = KeptBytes::with_len(most);
    let len = expand_to(&mut raw[..], bytes, first)?;
    raw.set_len(len);
    Ok(raw)
}

fn expand_to<B: WriteBuf + ?Sized>(to: &mut B, bytes: &[u8], first: &[u8]) -> Result<usize> {
    let words = |code| Error::damaged(format!("zstd: {}", zstd::zstd_safe::get_error_name(code)));
    if first.is_empty() {
        return CONTEXT.with_borrow_mut(|context| context.decompress(to, bytes)).map_err(words);
    }
    let mut context = DCtx::create();
    context.ref_prefix(first).and_then(|_| context.decompress(to, bytes)).map_err(words)
}
