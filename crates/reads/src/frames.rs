//! Frames of zstd (RFC 8878), in contexts that each thread keeps.

#![allow(unsafe_code, reason = "a context that is kept looks at bytes for the length of one call")]

use std::cell::RefCell;

use zstd::bulk::Compressor;
use zstd::zstd_safe::{
    CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, get_error_name,
};

use crate::error::{Error, Result};
use crate::kept_bytes::KeptBytes;

/// Where two-bit bases stop getting smaller fast.
const LEVEL: i32 = 9;

/// What a frame that is read bit by bit looks back on at most: 32 MiB, more than bases of a group.
const WINDOW_LOG_MAX: u32 = 25;

thread_local! {
    /// Names have dozens of small frames; a context for each costs as much as they do.
    static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
    static COMPRESSOR: RefCell<Compressor<'static>> =
        RefCell::new(Compressor::new(LEVEL).expect("memory"));
    /// One for bases alone: what it has to find them again is some MiB that would be made anew.
    static BASES: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
}

/// One frame.
pub(crate) fn compress(raw: &[u8]) -> Vec<u8> {
    compress_at(raw, LEVEL)
}

/// The same, as hard as zstd's `level` tries.
pub(crate) fn compress_at(raw: &[u8], level: i32) -> Vec<u8> {
    COMPRESSOR.with_borrow_mut(|compressor| {
        compressor.set_compression_level(level).expect("a level that there is");
        compressor.compress(raw).expect("memory to memory, into a buffer of the bound's size")
    })
}

/// One frame that can be read only by who has `first`, as if that stood before it.
pub(crate) fn compress_with_prefix(raw: &[u8], first: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(zstd::zstd_safe::compress_bound(raw.len()));
    BASES.with_borrow_mut(|context| {
        // SAFETY: zstd looks at a prefix for the one frame that follows, and lets go of it with the
        // session, which is over before `first` can go: nothing between here and there returns.
        let prefix = unsafe { std::slice::from_raw_parts(first.as_ptr(), first.len()) };
        let made = context
            .reset(ResetDirective::SessionAndParameters)
            .and_then(|_| context.set_parameter(CParameter::CompressionLevel(LEVEL)))
            .and_then(|_| if prefix.is_empty() { Ok(0) } else { context.ref_prefix(prefix) })
            .and_then(|_| context.compress2(&mut frame, raw));
        let over = context.reset(ResetDirective::SessionAndParameters);
        made.and(over).expect("memory to memory, into a buffer of the bound's size");
    });
    frame
}

/// At most `most` bytes come out, whatever the frame says of itself.
pub(crate) fn decompress(bytes: &[u8], most: usize) -> Result<Vec<u8>> {
    let mut raw = Vec::with_capacity(most);
    let found = CONTEXT.with_borrow_mut(|context| context.decompress(&mut raw, bytes));
    found.map_err(zstd_error)?;
    Ok(raw)
}

/// The same behind `first`, into a buffer that is kept.
pub(crate) fn decompress_with_prefix(bytes: &[u8], most: usize, first: &[u8]) -> Result<KeptBytes> {
    let mut raw = KeptBytes::with_len(most);
    let len = if first.is_empty() {
        CONTEXT.with_borrow_mut(|context| context.decompress(&mut raw[..], bytes))
    } else {
        // A context that is kept would have to outlive what it refers to.
        let mut context = DCtx::create();
        context.ref_prefix(first).and_then(|_| context.decompress(&mut raw[..], bytes))
    };
    raw.set_len(len.map_err(zstd_error)?);
    Ok(raw)
}

/// The first `len` bytes of a frame behind `first`, and of what follows no more than a block.
pub(crate) fn decompress_front(bytes: &[u8], len: usize, first: &[u8]) -> Result<KeptBytes> {
    let mut raw = KeptBytes::with_len(len);
    let mut context = DCtx::create();
    context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX)).map_err(zstd_error)?;
    if !first.is_empty() {
        context.ref_prefix(first).map_err(zstd_error)?;
    }
    let mut input = InBuffer::around(bytes);
    let mut done = 0;
    while done < len {
        let (mut output, before) = (OutBuffer::around(&mut raw[done..]), input.pos);
        context.decompress_stream(&mut output, &mut input).map_err(zstd_error)?;
        let more = output.pos();
        if more == 0 && input.pos == before {
            return Err(Error::damaged(format!("{done} bytes of a frame, of {len} at least")));
        }
        done += more;
    }
    Ok(raw)
}

fn zstd_error(code: usize) -> Error {
    Error::damaged(format!("zstd: {}", get_error_name(code)))
}
