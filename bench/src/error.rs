//! What can go wrong in a measurement, and which exit status it becomes.

use std::fmt;
use std::path::Path;

/// The result of everything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What the caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Change the arguments or install something.
    Usage,
    /// The machine refused; look at the message.
    System,
    /// A workload did not do what it claims: the figure must not be used.
    Wrong,
    /// Ctrl-C or SIGTERM; what was measured so far is saved.
    Interrupted,
    /// Everything was measured and a target was missed.
    Missed,
}

/// A cause, and what was being done.
#[derive(Debug)]
pub struct Error {
    /// What the caller can do.
    pub kind: Kind,
    /// Cause and place.
    pub message: String,
}

impl Error {
    /// An error of `kind` that says `message`.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// A workload's own check failed.
    pub fn check_failed(message: impl Into<String>) -> Self {
        Self::new(Kind::Wrong, message)
    }

    /// The documented exit status.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::System | Kind::Wrong => 1,
            Kind::Usage => 2,
            Kind::Missed => 3,
            Kind::Interrupted => 130,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(source: std::io::Error) -> Self {
        Self::new(Kind::System, source.to_string())
    }
}

impl From<rustix::io::Errno> for Error {
    fn from(source: rustix::io::Errno) -> Self {
        std::io::Error::from(source).into()
    }
}

/// Says what was being done, and to which file, when an error came.
pub trait ErrorContext<T> {
    /// Puts `what` and `path` before the cause.
    fn with_context(self, what: &str, path: &Path) -> Result<T>;
}

impl<T, E: Into<Error>> ErrorContext<T> for std::result::Result<T, E> {
    fn with_context(self, what: &str, path: &Path) -> Result<T> {
        self.map_err(|source| {
            let source = source.into();
            let message = format!("{what} {}: {}", path.display(), source.message);
            Error { kind: source.kind, message }
        })
    }
}
