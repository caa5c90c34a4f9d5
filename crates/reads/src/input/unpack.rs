//! One file to its text: plain, gzip (also many members, as bgzip writes), bzip2 or zstd, told by
//! its first bytes and not by its name.

use std::io::{BufReader, Cursor, ErrorKind, Read, Result as IoResult};

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use zstd::stream::read::Decoder;

use super::members::{MemberDecoder, MemberReader};
use crate::error::{Error, Kind, Result};

/// Bytes that are handed over at a time.
const PIECE: usize = 256 << 10;

/// Bytes of a packed file that are read at a time.
const BUFFER: usize = 64 << 10;

type UnpackedReader = Box<dyn Read>;
type PackedReader = BufReader<UnpackedReader>;
type UnpackFunction = fn(PackedReader) -> UnpackedReader;

/// What packed files begin with, and what unpacks them.
const PACKED: &[(&[u8], UnpackFunction)] = &[
    (b"\x1f\x8b", unpack_members::<GzDecoder<PackedReader>>),
    (b"BZh", unpack_members::<BzDecoder<PackedReader>>),
    (b"\x28\xb5\x2f\xfd", unpack_members::<Decoder<'static, PackedReader>>),
];
/// Frames of zstd that hold none of the text, as pzstd puts one in front, begin with one of 16
/// numbers (RFC 8878, section 3.1.2): this, and the byte before it.
const SKIPPED: (std::ops::RangeInclusive<u8>, &[u8]) = (0x50..=0x5f, b"\x2a\x4d\x18");

/// What other files begin with, and what to do about it.
const STRANGERS: &[(&[u8], &str)] = &[
    (b"\xfd7zXZ", "it is xz; `xz -dc FILE | forebay reads pack -` packs it"),
    (b"PK\x03\x04", "it is a zip archive; `unzip -p FILE | forebay reads pack -` packs it"),
    (b"\x04\x22\x4d\x18", "it is lz4; `lz4 -dc FILE | forebay reads pack -` packs it"),
    (b"LZIP\x01", "it is lzip; `lzip -dc FILE | forebay reads pack -` packs it"),
    (b"\x1f\x9d", "it is compress; `gzip -dc FILE | forebay reads pack -` packs it"),
    (b"7z\xbc\xaf\x27\x1c", "it is 7z; `7z x -so FILE | forebay reads pack -` packs it"),
    (b"CRAM", "it is CRAM; `samtools view -u FILE | forebay reads pack -` packs its reads"),
    (b"BAM\x01", "it is BAM, which has the reads of all mates: pack it alone"),
    (b"NCBI.sra", "it is an archive of SRA; `forebay reads import FILE` packs it"),
];

const TWICE: &str = "it is packed twice; `zcat FILE | forebay reads pack -`, or what else unpacks \
    it once, packs it";

fn unpack_members<M: MemberDecoder<PackedReader> + 'static>(whole: PackedReader) -> UnpackedReader {
    Box::new(MemberReader::<_, M>::new(whole))
}

/// What unpacks a file that begins so.
fn find_unpacker(head: &[u8]) -> Option<UnpackFunction> {
    let (numbers, behind) = SKIPPED;
    let skipped = head
        .split_first()
        .is_some_and(|(first, rest)| numbers.contains(first) && rest.starts_with(behind));
    if skipped {
        return Some(unpack_members::<Decoder<'static, PackedReader>>);
    }
    PACKED.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, open)| *open)
}

/// Gives all of the text to `to`, until that wants no more: whether it wanted all.
pub(super) fn unpack_to(
    mut source: Box<dyn Read + Send>,
    mut to: impl FnMut(Vec<u8>) -> bool,
) -> Result<bool> {
    let head = read_up_to(&mut source, 8).map_err(|error| Error::io("reading", error))?;
    refuse_known_format(&head)?;
    let whole: UnpackedReader = Box::new(Cursor::new(head.clone()).chain(source));
    let open = find_unpacker(&head);
    let mut text = match open {
        Some(open) => open(BufReader::with_capacity(BUFFER, whole)),
        None => whole,
    };
    let mut bytes = 0_u64;
    loop {
        let broken = |error| unpack_error(bytes, open.is_some(), error);
        let piece = read_up_to(&mut text, PIECE).map_err(broken)?;
        if bytes == 0 {
            refuse_known_format(&piece)?;
            if open.is_some() && find_unpacker(&piece).is_some() {
                return Err(Error::new(Kind::Input, TWICE));
            }
        }
        bytes += piece.len() as u64;
        let last = piece.len() < PIECE;
        if !piece.is_empty() && !to(piece) {
            return Ok(false);
        }
        if last {
            return Ok(true);
        }
    }
}

/// Refuses what is known to be something else.
fn refuse_known_format(head: &[u8]) -> Result<()> {
    match STRANGERS.iter().find(|(magic, _)| head.starts_with(magic)) {
        Some((_, words)) => Err(Error::new(Kind::Input, *words)),
        None => Ok(()),
    }
}

fn unpack_error(bytes: u64, packed: bool, error: std::io::Error) -> Error {
    if !packed || error.raw_os_error().is_some() {
        return Error::io(format!("after {bytes} bytes of text"), error);
    }
    let words = match error.kind() {
        ErrorKind::UnexpectedEof => "it is cut off".to_owned(),
        _ => format!("it is damaged: {error}"),
    };
    Error::new(Kind::Input, format!("{words} (after {bytes} bytes of text; was it copied whole?)"))
}

/// As many bytes as there are, up to `most`.
pub(super) fn read_up_to(source: &mut impl Read, most: usize) -> IoResult<Vec<u8>> {
    let mut bytes = Vec::with_capacity(most);
    source.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
