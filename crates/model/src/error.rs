//! One error for the crate: what kind it is (so that a caller can act) and a message for people.

use std::fmt;

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, coarsely; each kind says what the caller can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The file does not exist: give another name.
    Missing,
    /// The file is not a run file: give another file.
    NotARun,
    /// A newer Forebay wrote the file: use that one to read it.
    NewerSchema,
    /// The file is cut short or corrupt: salvage what is left.
    Damaged,
    /// Another process writes to the file: wait for it to end.
    Busy,
    /// No space, or a file size limit, where the file lives: write it elsewhere.
    Full,
    /// The operating system refused (permissions, read-only, I/O error).
    Io,
    /// A bug or an impossible value: please report it.
    Internal,
}

/// An error that names the file it concerns and what to do next.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error without a cause below it.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What the caller can do about it.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The message for people, without the cause.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}
