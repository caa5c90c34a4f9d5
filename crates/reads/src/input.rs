//! What is packed: a file, or some that follow each other, as packed as they may be. A thread of
//! its own unpacks and adds up.

mod unpack;

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};

use crate::error::{Error, Kind, Result};
use crate::hash::{Digesting, Digests};
use unpack::unpack;

/// Pieces of text that wait.
const PIECES: usize = 8;

/// A text on its way.
pub(crate) struct Input {
    /// What people call it.
    pub(crate) name: String,
    pieces: Receiver<Piece>,
}

enum Piece {
    File(String),
    Bytes(Vec<u8>),
    End(Digests),
    Failed(Error),
}

/// What came.
pub(crate) enum More {
    /// Bytes were appended.
    Bytes,
    /// What comes now is of the file of this name.
    File(String),
    /// That was all of it.
    End(Digests),
}

/// A file that is open, and its name.
type Source = (String, Box<dyn Read + Send>);

/// The files of one mate: `a.fq` or, where no file is called so, `a.fq,b.fq`.
pub(crate) fn files(path: &Path) -> Vec<PathBuf> {
    let parts = path.as_os_str().as_bytes().split(|byte| *byte == b',');
    let parts = parts.map(|part| PathBuf::from(OsStr::from_bytes(part)));
    if path.exists() { vec![path.to_owned()] } else { parts.collect() }
}

impl Input {
    /// Opens a file, or some with commas between; `-` is standard input.
    pub(crate) fn open(path: &Path) -> Result<Input> {
        let sources = files(path).into_iter().map(|path| {
            if path == Path::new("-") {
                let stdin: Box<dyn Read + Send> = Box::new(std::io::stdin());
                return Ok(("standard input".to_owned(), stdin));
            }
            let name = path.display().to_string();
            let file = File::open(&path).map_err(|error| Error::io(&name, error))?;
            if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
                return Err(Error::new(Kind::Input, format!("{name} is a directory")));
            }
            Ok((name, Box::new(file) as Box<dyn Read + Send>))
        });
        Ok(Input::new(sources.collect::<Result<Vec<Source>>>()?))
    }

    /// Begins to read.
    fn new(sources: Vec<Source>) -> Input {
        let (give, pieces) = sync_channel(PIECES);
        let names: Vec<&str> = sources.iter().map(|(name, _)| name.as_str()).collect();
        let name = names.join(",");
        std::thread::spawn(move || {
            let mut sum = Digesting::default();
            let end = all(sources, |piece| {
                if let Piece::Bytes(bytes) = &piece {
                    sum.add(bytes);
                }
                give.send(piece).is_ok()
            });
            // Whoever wanted this may be gone.
            let _ = give.send(match end {
                Ok(()) => Piece::End(sum.end()),
                Err(error) => Piece::Failed(error),
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
            Ok(Piece::File(name)) => Ok(More::File(name)),
            Ok(Piece::End(digests)) => Ok(More::End(digests)),
            Ok(Piece::Failed(error)) => Err(error),
            Err(_) => Err(Error::new(Kind::Io, format!("{}: its reader died", self.name))),
        }
    }
}

/// Gives all texts to `to`, until that wants no more.
fn all(sources: Vec<Source>, mut to: impl FnMut(Piece) -> bool) -> Result<()> {
    let mut open: Option<String> = None;
    for (name, source) in sources {
        if let Some(before) = open {
            let words = format!("{before}: its last line has no end, and {name} follows");
            return Err(Error::new(Kind::Input, words));
        }
        let mut last = b'\n';
        let wanted = to(Piece::File(name.clone()))
            && unpack(source, |bytes| {
                last = bytes.last().copied().unwrap_or(last);
                to(Piece::Bytes(bytes))
            })
            .map_err(|error| error.at(&name))?;
        if !wanted {
            return Ok(());
        }
        open = (last != b'\n').then_some(name);
    }
    Ok(())
}
