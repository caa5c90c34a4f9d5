//! gzip (RFC 1952), whatever wrote it: one member, many, or BGZF. A group begins at the start of a
//! piece; what decodes it are the DEFLATE block before that (RFC 1951) and the 32 KiB of text in
//! front of the block. rapidgzip finds those, with all threads, and goes on from them.

use std::io::{Read, Seek, SeekFrom};
use std::num::NonZeroU64;

use rapidgzip_core::{
    Checkpoint, CheckpointKind, DecodeError, Decoder, DeflateIndex, GzipErrorKind, IndexKind,
    IndexOptions, IndexedReader, IndexingError, StoredWindow, WindowStorage,
};

use super::{FileKind, define_kind};
use crate::error::{Error, Kind, Result};
use crate::exported_view::strip_packed_suffix;
use crate::frames::{compress, decompress};
use crate::original_files::GROUP;
use crate::original_files::blobs::IndexWriter;
use crate::original_files::index_table::TextGroup;
use crate::original_files::object_reader::{
    ObjectReader, find_error_in, objects_error_in, to_reads_error,
};
use crate::original_files::pieces::{PIECE, PieceHasher, check_pieces};
use crate::wire::{WireReader, append_prefixed_bytes};

pub(super) const KIND: FileKind = define_kind(
    (1, b"\x1f\x8b", &[".fastq.gz", ".fq.gz", ".fastq.bgz", ".fq.bgz"]),
    index_gzip,
    decode_gzip,
);

/// Text in front of a block that it may copy from.
const WINDOW: usize = 32 << 10;
/// Where the header of a member begins that a block is the first of, in bytes before the block; 0
/// for others, and the last number for a place that is a header's.
const BLOCK: u64 = 0;
const HEADER: u64 = u64::MAX;

fn index_gzip(
    bytes: &ObjectReader,
    threads: usize,
    blobs: &mut IndexWriter<'_>,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<(Vec<String>, Vec<TextGroup>)> {
    let decoder = Decoder::builder().decoder_threads(threads).build();
    let decoder = decoder.map_err(|error| Error::new(Kind::Request, error.to_string()))?;
    let mut whole = |bytes: &ObjectReader| {
        let mut pieces = PieceHasher::new(progress);
        let options = IndexOptions {
            checkpoint_spacing: NonZeroU64::new(GROUP).expect("more than none"),
            window_storage: WindowStorage::Zlib,
        };
        let read = decoder.decode_with_index(bytes, &mut pieces, options);
        read.map(|read| (read, pieces.into_hashes()))
    };
    let mut read = whole(bytes);
    // Tapes, dd and tar fill up with zeros: what is before them is read once more, to its end.
    if let Some((end, _)) = read.as_ref().err().and_then(|error| non_member_offset(error))
        && let Some(first) = bytes.without_padding(end)?
    {
        read = whole(&first);
    }
    let (read, (len, hashes)) = read.map_err(indexing_error)?;
    let mut groups = Vec::new();
    let mut start = 0;
    while start < len {
        let end = group_end(&read.index, start, len);
        let point = read.index.checkpoint_at_or_before(start);
        let point = point.ok_or_else(|| Error::new(Kind::Input, "no text begins at its start"))?;
        let window = read.index.windows().get(point.compressed_offset_in_bits);
        let window = window.map(StoredWindow::decompressed).transpose();
        let window = window.map_err(|error| Error::new(Kind::Input, error.to_string()))?;
        let mut blob = Vec::new();
        append_prefixed_bytes(&mut blob, &window.map_or_else(Vec::new, |window| compress(&window)));
        let of = (start as usize / PIECE)..(end as usize).div_ceil(PIECE);
        blob.extend_from_slice(&hashes[of].concat());
        groups.push(blobs.write_group(
            checkpoint_place(point),
            [(end - start) as u32, 0],
            &blob,
        )?);
        start = end;
    }
    let name = bytes.name().rsplit('/').next().unwrap_or_default();
    Ok((vec![strip_packed_suffix(name).to_owned()], groups))
}

/// Where a group ends: at the first piece behind a block that has its length, or, where blocks are
/// longer, in one.
fn group_end(index: &DeflateIndex, start: u64, len: u64) -> u64 {
    let up = |offset: u64| offset.next_multiple_of(PIECE as u64);
    let points = index.checkpoints();
    let next = points.partition_point(|point| {
        up(point.uncompressed_offset_in_bytes) < start.saturating_add(GROUP)
    });
    let next = points.get(next).map_or(len, |point| up(point.uncompressed_offset_in_bytes));
    if next - start > 2 * GROUP { (start + GROUP).min(len) } else { next.min(len) }
}

/// Bits before it, text before it, and how one goes on.
fn checkpoint_place(point: &Checkpoint) -> [u64; 3] {
    let how = match point.kind {
        CheckpointKind::GzipMemberHeader => HEADER,
        CheckpointKind::GzipMemberDeflate { header_offset_in_bytes } => {
            point.compressed_offset_in_bits / 8 - header_offset_in_bytes
        }
        _ => BLOCK,
    };
    [point.compressed_offset_in_bits, point.uncompressed_offset_in_bytes, how]
}

fn decode_gzip(
    bytes: &ObjectReader,
    group: &TextGroup,
    start: u64,
    blob: &[u8],
) -> Result<Vec<Vec<u8>>> {
    let mut wire = WireReader::new(blob);
    let window = match wire.read_prefixed_bytes()? {
        [] => StoredWindow::empty(),
        window => {
            let window = StoredWindow::from_raw(decompress(window, WINDOW)?);
            window.map_err(|error| Error::damaged(error.to_string()))?
        }
    };
    let [bits, before, how] = group.place;
    let kind = match how {
        BLOCK => CheckpointKind::DeflateBlock,
        HEADER => CheckpointKind::GzipMemberHeader,
        back => CheckpointKind::GzipMemberDeflate {
            header_offset_in_bytes: (bits / 8).wrapping_sub(back),
        },
    };
    let point = Checkpoint {
        compressed_offset_in_bits: bits,
        uncompressed_offset_in_bytes: before,
        kind,
        line_offset: None,
    };
    let mut index = DeflateIndex::new();
    index.set_kind(IndexKind::Gzip);
    index.push(point, window).map_err(|error| Error::damaged(error.to_string()))?;
    let part = |bytes: &ObjectReader| {
        let reader = IndexedReader::new(bytes.clone(), index.clone());
        let mut reader = reader.map_err(std::io::Error::other)?;
        let mut text = vec![0; group.lens[0] as usize];
        reader.seek(SeekFrom::Start(start))?;
        reader.read_exact(&mut text).map(|()| text)
    };
    let mut text = part(bytes);
    // As when it was read whole.
    if let Some((end, _)) = text.as_ref().err().and_then(|error| non_member_offset(error))
        && let Some(first) = bytes.without_padding(end)?
    {
        text = part(&first);
    }
    let text = text.map_err(|error| to_reads_error(Kind::Damaged, error))?;
    check_pieces(&text, start, wire.rest())?;
    Ok(vec![text])
}

/// Where something begins that is no member, or none that is whole.
fn non_member_offset(error: &(dyn std::error::Error + 'static)) -> Option<(u64, GzipErrorKind)> {
    match find_error_in(error)? {
        DecodeError::InvalidGzip { offset, reason } => {
            let other = matches!(reason, GzipErrorKind::TrailingGarbage | GzipErrorKind::Truncated);
            other.then(|| (*offset, reason.clone()))
        }
        _ => None,
    }
}

/// What is wrong with a file that was to be read whole.
fn indexing_error(error: IndexingError) -> Error {
    if let Some(ours) = objects_error_in(&error) {
        return ours;
    }
    let words = match non_member_offset(&error) {
        Some((at, GzipErrorKind::TrailingGarbage)) => {
            format!("behind all that is gzip, from byte {at} on, something else follows")
        }
        _ => format!("it is damaged or cut off: {error} (was it copied whole?)"),
    };
    Error::new(Kind::Input, words)
}
