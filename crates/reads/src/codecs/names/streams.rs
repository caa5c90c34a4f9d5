//! Streams of names: gathered while encoding, each made small in the way that suits it.

use memchr::memchr;

use super::TEXT;
use super::tokens::PLACES_MAX;
use crate::codecs::ColumnShape;
use crate::error::{Error, Result};
use crate::frames;
use crate::rans::{self, SequenceKind};
use crate::wire::{WireReader, append_prefixed_bytes, append_varint};

const COUNT: usize = (PLACES_MAX + 1) * 8;
/// How a stream was made small.
const PLAIN: u8 = 0;
const ZSTD: u8 = 1;
const RANS: u8 = 2;
/// Lines of one length, column by column: what is at one place in them is like.
const COLUMNS: u8 = 3;
/// Fewer lines are no column.
const LINES_LEAST: usize = 64;
/// Shorter ones pay for no tables.
const RANS_LEAST: usize = 1024;

#[derive(Debug)]
pub(super) struct StreamWriter {
    streams: Vec<Vec<u8>>,
}

impl Default for StreamWriter {
    fn default() -> StreamWriter {
        StreamWriter { streams: vec![Vec::new(); COUNT] }
    }
}

impl StreamWriter {
    pub(super) fn append_to_stream(&mut self, place: usize, what: usize, bytes: &[u8]) {
        self.streams[place * 8 + what].extend_from_slice(bytes);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        let mut out = Vec::new();
        for (id, stream) in self.streams.iter().enumerate().filter(|(_, s)| !s.is_empty()) {
            let mut best = compress_smallest(stream);
            if id % 8 == TEXT
                && let Some(columns) = encode_columns(stream)
                && columns.len() < best.1.len()
            {
                best = (COLUMNS, columns);
            }
            let (how, bytes) = best;
            append_varint(&mut out, id as u64);
            append_varint(&mut out, stream.len() as u64);
            out.push(how);
            append_prefixed_bytes(&mut out, &bytes);
        }
        out
    }
}

fn compress_smallest(stream: &[u8]) -> (u8, Vec<u8>) {
    let mut best = (PLAIN, stream.to_vec());
    let zstd = frames::compress(stream);
    if zstd.len() < best.1.len() {
        best = (ZSTD, zstd);
    }
    if stream.len() >= RANS_LEAST {
        let units = 1 + usize::from(stream.iter().copied().max().unwrap_or(0));
        let whole = [stream.len() as u32];
        let bytes = rans::encode_sequence(stream, &whole, units, SequenceKind::Bytes, None);
        if bytes.len() < best.1.len() {
            best = (RANS, bytes);
        }
    }
    best
}

/// The length of all lines, if they have one.
fn line_width(stream: &[u8]) -> Option<usize> {
    let width = memchr(b'\n', stream)?;
    let mut lines = stream.chunks_exact(width + 1);
    let is_even = lines.all(|line| memchr(b'\n', line) == Some(width));
    (width > 0 && is_even && lines.remainder().is_empty()).then_some(width)
}

fn encode_columns(stream: &[u8]) -> Option<Vec<u8>> {
    let width = line_width(stream)?;
    let lines = stream.chunks_exact(width + 1);
    if lines.len() < LINES_LEAST {
        return None;
    }
    let mut out = Vec::new();
    append_varint(&mut out, width as u64);
    for at in 0..width {
        let column: Vec<u8> = lines.clone().map(|line| line[at]).collect();
        let (how, bytes) = compress_smallest(&column);
        out.push(how);
        append_prefixed_bytes(&mut out, &bytes);
    }
    Some(out)
}

fn decode_columns(bytes: &[u8], raw_len: usize) -> Result<Vec<u8>> {
    let mut wire = WireReader::new(bytes);
    let width = wire.read_bounded_varint(raw_len)?;
    let mut stream = vec![b'\n'; raw_len];
    if !raw_len.is_multiple_of(width + 1) {
        return Err(Error::damaged("lines of one length end in the middle of one"));
    }
    for at in 0..width {
        let how = wire.read_byte()?;
        let column = decompress_smallest(how, wire.read_prefixed_bytes()?, raw_len / (width + 1))?;
        let places = stream.iter_mut().skip(at).step_by(width + 1);
        places.zip(column).for_each(|(place, byte)| *place = byte);
    }
    match wire.is_empty() {
        true => Ok(stream),
        false => Err(Error::damaged("more columns than the lines are long")),
    }
}

/// Undoes [`compress_smallest`]; `raw_len` bytes come out.
fn decompress_smallest(how: u8, bytes: &[u8], raw_len: usize) -> Result<Vec<u8>> {
    let raw = match how {
        PLAIN => bytes.to_vec(),
        ZSTD => frames::decompress(bytes, raw_len)?,
        RANS => rans::decode_sequence(bytes, &[raw_len as u32], raw_len)?.units.to_vec(),
        _ => return Err(Error::damaged("a stream that nothing makes")),
    };
    match raw.len() == raw_len {
        true => Ok(raw),
        false => Err(Error::damaged("a stream has another length")),
    }
}

/// Streams that are read in step.
#[derive(Debug)]
pub(super) struct StreamReader {
    streams: Vec<Stream>,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    bytes: Vec<u8>,
    at: usize,
}

impl StreamReader {
    /// All streams together hold at most eight bytes for each byte of the column, and one for
    /// each name; else this is damage.
    pub(super) fn new(bytes: &[u8], shape: &ColumnShape<'_>) -> Result<StreamReader> {
        let mut streams = vec![Stream::default(); COUNT];
        let mut room = 8 * shape.raw_len + 2 * shape.lengths.len();
        let mut wire = WireReader::new(bytes);
        while !wire.is_empty() {
            let id = wire.read_bounded_varint(COUNT - 1)?;
            let raw_len = wire.read_bounded_varint(room)?;
            room -= raw_len;
            let how = wire.read_byte()?;
            let bytes = wire.read_prefixed_bytes()?;
            let bytes = match how {
                COLUMNS => decode_columns(bytes, raw_len)?,
                how => decompress_smallest(how, bytes, raw_len)?,
            };
            if !streams[id].bytes.is_empty() {
                return Err(Error::damaged("a stream comes twice"));
            }
            streams[id] = Stream { bytes, at: 0 };
        }
        Ok(StreamReader { streams })
    }

    #[inline]
    pub(super) fn read_byte(&mut self, place: usize, what: usize) -> Result<u8> {
        let stream = self.streams.get_mut(place * 8 + what).ok_or_else(truncated_error)?;
        let byte = stream.bytes.get(stream.at).copied().ok_or_else(truncated_error)?;
        stream.at += 1;
        Ok(byte)
    }

    #[inline]
    pub(super) fn read_line(&mut self, place: usize, what: usize) -> Result<&[u8]> {
        let stream = self.streams.get_mut(place * 8 + what).ok_or_else(truncated_error)?;
        let rest = &stream.bytes[stream.at..];
        let end = memchr(b'\n', rest).ok_or_else(truncated_error)?;
        stream.at += end + 1;
        Ok(&rest[..end])
    }
}

fn truncated_error() -> Error {
    Error::damaged("a stream ends too early")
}
