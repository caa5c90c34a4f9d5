//! What is packed: plain, gzip (also many members, as bgzip writes) or zstd, told by its first
//! bytes and not by its name. A thread of its own unpacks and adds it up.

use std::fs::File;
use std::io::{Cursor, ErrorKind, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

use crate::error::{Error, Kind, Result};
use crate::hash::{Digesting, Digests};

/// Bytes that are handed over at a time, and how many such pieces wait.
const PIECE: usize = 256 << 10;
const PIECES: usize = 8;

/// What other files begin with, and what to do about it.
const STRANGERS: &[(&[u8], &str)] = &[
    (b"BZh", "it is bzip2; `bunzip2 -c FILE | forebay reads pack -` packs it"),
    (b"\xfd7zXZ", "it is xz; `xz -dc FILE | forebay reads pack -` packs it"),
    (b"PK\x03\x04", "it is a zip archive; `unzip -p FILE | forebay reads pack -` packs it"),
    (b"CRAM", "it is CRAM; `samtools fastq -n FILE | forebay reads pack -` packs its reads"),
    (b"BAM\x01", "it is BAM; `samtools fastq -n FILE | forebay reads pack -` packs its reads"),
    (b"NCBI.sra", "it is an SRA archive; `fastq-dump -Z FILE | forebay reads pack -` packs it"),
];

/// A text on its way.
pub(crate) struct Input {
    /// What people call it.
    pub(crate) name: String,
    pieces: Receiver<Piece>,
}

enum Piece {
    Bytes(Vec<u8>),
    End(Digests),
    Failed(Error),
}

/// What came.
pub(crate) enum More {
    /// Bytes were appended.
    Bytes,
    /// That was all of it.
    End(Digests),
}

impl Input {
    /// Opens a file; `-` is standard input.
    pub(crate) fn open(path: &Path) -> Result<Input> {
        if path == Path::new("-") {
            return Ok(Input::new("standard input".into(), Box::new(std::io::stdin())));
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| Error::io(&name, error))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Error::new(Kind::Input, format!("{name} is a directory")));
        }
        Ok(Input::new(name, Box::new(file)))
    }

    /// Begins to read.
    pub(crate) fn new(name: String, source: Box<dyn Read + Send>) -> Input {
        let (give, pieces) = sync_channel(PIECES);
        let known = name.clone();
        std::thread::spawn(move || {
            let mut sum = Digesting::default();
            let end = unpack(source, |bytes| {
                sum.add(&bytes);
                give.send(Piece::Bytes(bytes)).is_ok()
            });
            // Whoever wanted this may be gone.
            let _ = give.send(match end {
                Ok(()) => Piece::End(sum.end()),
                Err(error) => Piece::Failed(error.at(known)),
            });
        });
        Input { name, pieces }
    }

    /// Appends what comes next.
    pub(crate) fn more(&self, text: &mut Vec<u8>) -> Result<More> {
        match self.pieces.recv() {
            Ok(Piece::Bytes(bytes)) => {
                text.extend_from_slice(&bytes);
                Ok(More::Bytes)
            }
            Ok(Piece::End(digests)) => Ok(More::End(digests)),
            Ok(Piece::Failed(error)) => Err(error),
            Err(_) => Err(Error::new(Kind::Io, format!("{}: its reader died", self.name))),
        }
    }
}

/// Gives all of the text to `to`, until that wants no more.
fn unpack(mut source: Box<dyn Read + Send>, mut to: impl FnMut(Vec<u8>) -> bool) -> Result<()> {
    let head = filled(&mut source, 8).map_err(|error| Error::io("reading", error))?;
    known(&head)?;
    let whole = Cursor::new(head.clone()).chain(source);
    let mut text: Box<dyn Read> = match &head[..] {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(whole)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(
            zstd::stream::read::Decoder::new(whole).map_err(|error| Error::io("zstd", error))?,
        ),
        _ => Box::new(whole),
    };
    let mut bytes = 0_u64;
    loop {
        let piece = filled(&mut text, PIECE).map_err(|error| broken(bytes, &head, error))?;
        if bytes == 0 {
            known(&piece)?;
        }
        bytes += piece.len() as u64;
        let last = piece.len() < PIECE;
        if !piece.is_empty() && !to(piece) || last {
            return Ok(());
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

fn broken(bytes: u64, head: &[u8], error: std::io::Error) -> Error {
    let packed = head.starts_with(&[0x1f, 0x8b]) || head.starts_with(&[0x28, 0xb5]);
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
fn filled(source: &mut impl Read, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(most);
    source.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
