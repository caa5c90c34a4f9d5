//! One file to its text: plain, gzip (also many members, as bgzip writes), bzip2 or zstd, told by
//! its first bytes and not by its name.

use std::io::{Cursor, ErrorKind, Read, Result as IoResult};

use crate::error::{Error, Kind, Result};

/// Bytes that are handed over at a time.
const PIECE: usize = 256 << 10;

type Whole = Box<dyn Read>;
type Unpack = fn(Whole) -> IoResult<Whole>;

/// What packed files begin with, and what unpacks them.
const PACKED: &[(&[u8], Unpack)] = &[
    (b"\x1f\x8b", |whole| Ok(Box::new(flate2::read::MultiGzDecoder::new(whole)))),
    (b"BZh", |whole| Ok(Box::new(bzip2::read::MultiBzDecoder::new(whole)))),
    (b"\x28\xb5\x2f\xfd", |whole| Ok(Box::new(zstd::stream::read::Decoder::new(whole)?))),
];

/// What other files begin with, and what to do about it.
const STRANGERS: &[(&[u8], &str)] = &[
    (b"\xfd7zXZ", "it is xz; `xz -dc FILE | forebay reads pack -` packs it"),
    (b"PK\x03\x04", "it is a zip archive; `unzip -p FILE | forebay reads pack -` packs it"),
    (b"CRAM", "it is CRAM; `samtools view -u FILE | forebay reads pack -` packs its reads"),
    (b"BAM\x01", "it is BAM, which has the reads of all mates: pack it alone"),
    (b"NCBI.sra", "it is an archive of SRA; `forebay reads import FILE` packs it"),
];

/// Gives all of the text to `to`, until that wants no more: whether it wanted all.
pub(super) fn unpack(
    mut source: Box<dyn Read + Send>,
    mut to: impl FnMut(Vec<u8>) -> bool,
) -> Result<bool> {
    let head = filled(&mut source, 8).map_err(|error| Error::io("reading", error))?;
    known(&head)?;
    let whole: Whole = Box::new(Cursor::new(head.clone()).chain(source));
    let packed = PACKED.iter().find(|(magic, _)| head.starts_with(magic));
    let mut text = match packed {
        Some((_, open)) => open(whole).map_err(|error| Error::io("reading", error))?,
        None => whole,
    };
    let mut bytes = 0_u64;
    loop {
        let broken = |error| broken(bytes, packed.is_some(), error);
        let piece = filled(&mut text, PIECE).map_err(broken)?;
        if bytes == 0 {
            known(&piece)?;
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
fn known(head: &[u8]) -> Result<()> {
    match STRANGERS.iter().find(|(magic, _)| head.starts_with(magic)) {
        Some((_, words)) => Err(Error::new(Kind::Input, *words)),
        None => Ok(()),
    }
}

fn broken(bytes: u64, packed: bool, error: std::io::Error) -> Error {
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
pub(super) fn filled(source: &mut impl Read, most: usize) -> IoResult<Vec<u8>> {
    let mut bytes = Vec::with_capacity(most);
    source.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
