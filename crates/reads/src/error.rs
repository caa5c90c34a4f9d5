//! What can go wrong with reads: what the caller can do about it, and a message that says where.

use std::fmt;

/// What a caller can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The input can't be packed as was asked: mend it, or ask otherwise.
    Input,
    /// Bytes of an archive are not those that were written: fetch that object again.
    Damaged,
    /// A newer Forebay wrote this, or something else did.
    Unknown,
    /// What was asked for is not in this archive.
    Request,
    /// Somebody replaced or removed the archive while it was open: open it again.
    Changed,
    /// The system refused, or the storage.
    Io,
}

/// An error with its place.
#[derive(Debug)]
pub struct Error {
    /// What to do about it.
    pub kind: Kind,
    /// Cause and place, for people.
    pub message: String,
    source: Option<std::io::Error>,
}

/// What most functions here return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// One without a cause that the system told.
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), source: None }
    }

    /// Bytes that nobody wrote so; the place is added by who knows it ([`Error::with_context`]).
    pub(crate) fn damaged(message: impl Into<String>) -> Error {
        Error::new(Kind::Damaged, message)
    }

    /// What the system said, and of which place.
    pub fn io(place: impl fmt::Display, source: std::io::Error) -> Error {
        Error { kind: Kind::Io, message: format!("{place}: {source}"), source: Some(source) }
    }

    /// The same, with the place before it.
    pub(crate) fn with_context(mut self, place: impl fmt::Display) -> Error {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// The same, with more words behind it.
    pub(crate) fn with_suffix(mut self, words: impl fmt::Display) -> Error {
        self.message = format!("{}{words}", self.message);
        self
    }

    /// What the system said, as far as programs tell it apart.
    #[must_use]
    pub fn io_kind(&self) -> Option<std::io::ErrorKind> {
        self.source.as_ref().map(std::io::Error::kind)
    }

    /// Whether the reader of a pipe went away.
    #[must_use]
    pub fn is_broken_pipe(&self) -> bool {
        self.source.as_ref().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}
