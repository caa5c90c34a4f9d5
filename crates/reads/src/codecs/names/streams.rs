//! Streams of names: gathered while encoding, each made small in the way that suits it.

use memchr::memchr;

use super::tokens::PLACES_MAX;
use crate::codecs::{Shape, zstandard};
use crate::error::{Error, Result};
use crate::rans;
use crate::wire::{Wire, put, put_bytes};

const COUNT: usize = (PLACES_MAX + 1) * 8;
/// How a stream was made small.
const PLAIN: u8 = 0;
const ZSTD: u8 = 1;
const RANS: u8 = 2;
/// Shorter ones pay for no tables.
const RANS_LEAST: usize = 1024;

#[derive(Debug)]
pub(super) struct Writer {
    streams: Vec<Vec<u8>>,
}

impl Default for Writer {
    fn default() -> Writer {
        Writer { streams: vec![Vec::new(); COUNT] }
    }
}

impl Writer {
    pub(super) fn put(&mut self, place: usize, what: usize, bytes: &[u8]) {
        self.streams[place * 8 + what].extend_from_slice(bytes);
    }

    pub(super) fn end(self) -> Vec<u8> {
        let mut out = Vec::new();
        for (id, stream) in self.streams.iter().enumerate().filter(|(_, s)| !s.is_empty()) {
            let (how, bytes) = smallest(stream);
            put(&mut out, id as u64);
            put(&mut out, stream.len() as u64);
            out.push(how);
            put_bytes(&mut out, &bytes);
        }
        out
    }
}

fn smallest(stream: &[u8]) -> (u8, Vec<u8>) {
    let mut best = (PLAIN, stream.to_vec());
    let zstd = zstandard::compress(stream);
    if zstd.len() < best.1.len() {
        best = (ZSTD, zstd);
    }
    if stream.len() >= RANS_LEAST {
        let units = 1 + usize::from(stream.iter().copied().max().unwrap_or(0));
        let whole = [stream.len() as u32];
        let bytes = rans::encode(stream, &whole, units, rans::Kind::Bytes);
        if bytes.len() < best.1.len() {
            best = (RANS, bytes);
        }
    }
    best
}

/// Streams that are read in step.
#[derive(Debug)]
pub(super) struct Reader {
    streams: Vec<Stream>,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    bytes: Vec<u8>,
    at: usize,
}

impl Reader {
    /// All streams together hold at most eight bytes for each byte of the column, and one for
    /// each name; else this is damage.
    pub(super) fn new(bytes: &[u8], shape: &Shape<'_>) -> Result<Reader> {
        let mut streams = vec![Stream::default(); COUNT];
        let mut room = 8 * shape.raw_len + 2 * shape.lengths.len();
        let mut wire = Wire::new(bytes);
        while !wire.is_empty() {
            let id = wire.at_most(COUNT - 1)?;
            let raw_len = wire.at_most(room)?;
            room -= raw_len;
            let how = wire.byte()?;
            let bytes = wire.bytes()?;
            let bytes = match how {
                PLAIN => bytes.to_vec(),
                ZSTD => zstandard::expand(bytes, raw_len)?,
                RANS => rans::decode(bytes, &[raw_len as u32], raw_len)?.0,
                _ => return Err(Error::damaged("a stream that nothing makes")),
            };
            if bytes.len() != raw_len || !streams[id].bytes.is_empty() {
                return Err(Error::damaged("a stream has another length, or comes twice"));
            }
            streams[id] = Stream { bytes, at: 0 };
        }
        Ok(Reader { streams })
    }

    #[inline]
    pub(super) fn byte(&mut self, place: usize, what: usize) -> Result<u8> {
        let stream = self.streams.get_mut(place * 8 + what).ok_or_else(ended)?;
        let byte = stream.bytes.get(stream.at).copied().ok_or_else(ended)?;
        stream.at += 1;
        Ok(byte)
    }

    #[inline]
    pub(super) fn line(&mut self, place: usize, what: usize) -> Result<&[u8]> {
        let stream = self.streams.get_mut(place * 8 + what).ok_or_else(ended)?;
        let rest = &stream.bytes[stream.at..];
        let end = memchr(b'\n', rest).ok_or_else(ended)?;
        stream.at += end + 1;
        Ok(&rest[..end])
    }
}

fn ended() -> Error {
    Error::damaged("a stream ends too early")
}
