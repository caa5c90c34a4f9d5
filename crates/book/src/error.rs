//! What a book refuses or can't do: the kind says what the caller can do about it.

/// What a book's call can fail with.
pub type Result<T> = std::result::Result<T, Error>;

/// What the caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The database does not answer. What was asked may have been done: ask again with the same
    /// publication number.
    Unreachable,
    /// The database answers, and refuses this user, password, certificate or database.
    Refused,
    /// What was written in a URL, a name or a publication makes no sense.
    Invalid,
    /// The database takes no writes: a standby, or an administrator made it so.
    ReadOnly,
    /// The database has no room on its disk.
    Full,
    /// Too many connections, or others hold what was needed for too long: ask again later.
    Busy,
    /// The tables are of a newer Forebay, or are not there.
    OtherSchema,
    /// The node's lease is over: register anew.
    LeaseExpired,
    /// Somebody else holds a folder by now, or a later registration of the same node speaks for it.
    Fenced,
    /// Another node that is alive has this name.
    NameTaken,
    /// What was published does not fit what the book has.
    Inconsistent,
    /// What the database did is in no description: a flaw, in Forebay or there.
    Unexpected,
}

/// Cause, and what to do next.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What the caller can do.
    pub kind: ErrorKind,
    /// Cause and place, for people. It never has a password.
    pub message: String,
    /// What people can do next.
    pub next: String,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(
        kind: ErrorKind,
        message: impl Into<String>,
        next: impl Into<String>,
    ) -> Error {
        Error { kind, message: message.into(), next: next.into(), source: None }
    }

    pub(crate) fn with_source(
        mut self,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Error {
        self.source = Some(Box::new(source));
        self
    }

    pub(crate) fn invalid(message: impl Into<String>, next: impl Into<String>) -> Error {
        Error::new(ErrorKind::Invalid, message, next)
    }

    pub(crate) fn inconsistent(message: impl Into<String>) -> Error {
        let next = "please report it with the daemon's log; the book is unchanged";
        Error::new(ErrorKind::Inconsistent, message, next)
    }

    /// Whether asking again later, with nothing else changed, can help.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self.kind {
            ErrorKind::Unreachable | ErrorKind::ReadOnly | ErrorKind::Full | ErrorKind::Busy => {
                true
            }
            ErrorKind::Refused
            | ErrorKind::Invalid
            | ErrorKind::OtherSchema
            | ErrorKind::LeaseExpired
            | ErrorKind::Fenced
            | ErrorKind::NameTaken
            | ErrorKind::Inconsistent
            | ErrorKind::Unexpected => false,
        }
    }
}
