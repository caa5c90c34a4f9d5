//! What is packed: a file, or some that follow each other, as packed as they may be. A thread for
//! each input unpacks it, and one adds all of them up.

pub(crate) mod members;
mod raw_input;
mod unpack;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::error::{Error, Kind, Result};
use crate::hash::{DigestFeed, FileDigests, start_digests};
pub use raw_input::{InputFormat, RawInput};
use unpack::unpack_to;

/// Pieces of text that wait.
const PIECES: usize = 8;

/// A text on its way.
pub(crate) struct TextInput {
    /// What people call it.
    pub(crate) name: String,
    /// Its lines are those of a file that people can look at.
    pub(crate) lined: bool,
    pieces: Receiver<InputPiece>,
}

/// The other end of a [`TextInput`]: whoever has the text gives it here.
pub(crate) struct InputFeed {
    give: SyncSender<InputPiece>,
    sum: DigestFeed,
}

enum InputPiece {
    File(String),
    Bytes(Arc<Vec<u8>>),
    End(FileDigests),
    Failed(Error),
}

/// What came.
pub(crate) enum InputEvent {
    /// Bytes were appended.
    Bytes,
    /// What comes now is of the file of this name.
    File(String),
    /// That was all of it.
    End(FileDigests),
}

/// The files of one mate, as people write them: `a.fq` or, where no file is called so, `a.fq,b.fq`.
#[must_use]
pub fn split_lanes(path: &Path) -> Vec<PathBuf> {
    let parts = path.as_os_str().as_bytes().split(|byte| *byte == b',');
    let parts = parts.map(|part| PathBuf::from(OsStr::from_bytes(part)));
    if path.symlink_metadata().is_ok() { vec![path.to_owned()] } else { parts.collect() }
}

/// How they are written again, as archives keep where a file was packed from.
#[must_use]
pub fn join_lanes(lanes: &[PathBuf]) -> String {
    lanes.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(",")
}

impl TextInput {
    /// Opens inputs, each of them files that follow each other; `-` is standard input.
    pub(crate) fn open_all(inputs: &[Vec<PathBuf>]) -> Result<Vec<TextInput>> {
        let open = |lanes: &Vec<PathBuf>| lanes.iter().map(|path| RawInput::open(path)).collect();
        Ok(TextInput::start_all(inputs.iter().map(open).collect::<Result<_>>()?))
    }

    /// Begins to read.
    pub(crate) fn start_all(inputs: Vec<Vec<RawInput>>) -> Vec<TextInput> {
        let name = |sources: &Vec<RawInput>| {
            sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>().join(",")
        };
        let fed = TextInput::with_feeds(inputs.iter().map(name).collect(), true);
        let started = inputs.into_iter().zip(fed).map(|(sources, (mut feed, input))| {
            std::thread::spawn(move || {
                let end = unpack_all(sources, |piece| feed.send_piece(piece));
                feed.finish_feed(end);
            });
            input
        });
        started.collect()
    }

    /// Inputs of what is given to their feeds.
    pub(crate) fn with_feeds(names: Vec<String>, lined: bool) -> Vec<(InputFeed, TextInput)> {
        let sums = start_digests(names.len());
        let fed = names.into_iter().zip(sums).map(|(name, sum)| {
            let (give, pieces) = sync_channel(PIECES);
            (InputFeed { give, sum }, TextInput { name, lined, pieces })
        });
        fed.collect()
    }

    /// Appends what comes next.
    pub(crate) fn read_more(&self, text: &mut Vec<u8>) -> Result<InputEvent> {
        match self.pieces.recv() {
            Ok(InputPiece::Bytes(bytes)) => {
                text.extend_from_slice(&bytes);
                Ok(InputEvent::Bytes)
            }
            Ok(InputPiece::File(name)) => Ok(InputEvent::File(name)),
            Ok(InputPiece::End(digests)) => Ok(InputEvent::End(digests)),
            Ok(InputPiece::Failed(error)) => Err(error),
            Err(_) => Err(Error::new(Kind::Io, format!("{}: its reader died", self.name))),
        }
    }
}

impl InputFeed {
    /// Gives some text: whether more is wanted.
    pub(crate) fn send_bytes(&mut self, bytes: Vec<u8>) -> bool {
        self.send_piece(InputPiece::Bytes(Arc::new(bytes)))
    }

    fn send_piece(&mut self, piece: InputPiece) -> bool {
        if let InputPiece::Bytes(bytes) = &piece {
            self.sum.send_bytes(Arc::clone(bytes));
        }
        self.give.send(piece).is_ok()
    }

    /// That was all, or it failed.
    pub(crate) fn finish_feed(self, end: Result<()>) {
        let died = || Error::new(Kind::Io, "the thread that adds inputs up died");
        let end = end.and_then(|()| self.sum.into_digests().ok_or_else(died));
        // Whoever wanted this may be gone.
        let _ = self.give.send(match end {
            Ok(digests) => InputPiece::End(digests),
            Err(error) => InputPiece::Failed(error),
        });
    }
}

/// Gives all texts to `to`, until that wants no more.
fn unpack_all(sources: Vec<RawInput>, mut to: impl FnMut(InputPiece) -> bool) -> Result<()> {
    let mut open: Option<String> = None;
    for RawInput { name, read } in sources {
        if let Some(before) = open {
            let words = format!("{before}: its last line has no end, and {name} follows");
            return Err(Error::new(Kind::Input, words));
        }
        let mut last = b'\n';
        let wanted = to(InputPiece::File(name.clone()))
            && unpack_to(read, |bytes| {
                last = bytes.last().copied().unwrap_or(last);
                to(InputPiece::Bytes(Arc::new(bytes)))
            })
            .map_err(|error| error.with_context(&name))?;
        if !wanted {
            return Ok(());
        }
        open = (last != b'\n').then_some(name);
    }
    Ok(())
}
