//! What both sides of a connection agree on.

use std::fmt;

use hyper::StatusCode;

/// What is spoken (ALPN, RFC 7301). A side that speaks another version ends the connection while it
/// is made, and says so.
pub(crate) const PROTOCOL: &[u8] = b"forebay-peer/1";
/// Bytes of a question.
pub(crate) const QUESTION_MOST: usize = 1 << 20;
/// Bytes of the words in which something is refused.
pub(crate) const WORDS_MOST: usize = 1024;

/// Why a peer does not answer a question with what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What the asker can do.
    pub kind: RefusalKind,
    /// For people.
    pub why: String,
}

/// What the asker can do about a refusal. The peer is well in all of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The question makes no sense: another version asks, or somebody plays.
    BadQuestion,
    /// It has none of this, and never will: it serves another volume, or knows no such verb.
    NotServed,
    /// It does not have this now.
    NotHere,
    /// It has no room or no hands for it now.
    Busy,
    /// It asked somebody else, who failed.
    Failed,
}

impl Refusal {
    /// A refusal in words.
    pub fn new(kind: RefusalKind, why: impl Into<String>) -> Refusal {
        Refusal { kind, why: why.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl RefusalKind {
    /// As it travels (RFC 9110, section 15).
    pub(crate) fn status(self) -> StatusCode {
        match self {
            RefusalKind::BadQuestion => StatusCode::BAD_REQUEST,
            RefusalKind::NotServed => StatusCode::NOT_FOUND,
            RefusalKind::NotHere => StatusCode::GONE,
            RefusalKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
            RefusalKind::Failed => StatusCode::BAD_GATEWAY,
        }
    }

    /// What an answer with this status is; `None`: no peer of this version gives it.
    pub(crate) fn from_status(status: StatusCode) -> Option<RefusalKind> {
        Some(match status {
            StatusCode::BAD_REQUEST => RefusalKind::BadQuestion,
            StatusCode::NOT_FOUND => RefusalKind::NotServed,
            StatusCode::GONE => RefusalKind::NotHere,
            StatusCode::SERVICE_UNAVAILABLE => RefusalKind::Busy,
            StatusCode::BAD_GATEWAY => RefusalKind::Failed,
            _ => return None,
        })
    }
}
