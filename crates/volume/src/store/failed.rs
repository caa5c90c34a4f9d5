//! What a storage behind a network refuses, for programs and for people.

use std::fmt;
use std::io;

/// Answers of S3 that no patience helps with (Amazon S3 API reference, error responses).
const REFUSED: [&str; 5] = [
    "AccessDenied",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "RequestTimeTooSkewed",
];

/// What came of a request, in the client's words, which name no credential.
#[derive(Debug)]
pub struct Failed {
    /// What went wrong, as far as programs tell it apart.
    pub kind: io::ErrorKind,
    /// Why.
    pub why: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Failed {}

impl Failed {
    /// Whether asking again later, with nothing else changed, can't help.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        use io::ErrorKind::{
            AlreadyExists, InvalidInput, NotFound, PermissionDenied, StaleNetworkFileHandle,
        };
        matches!(
            self.kind,
            AlreadyExists | InvalidInput | NotFound | PermissionDenied | StaleNetworkFileHandle
        )
    }

    /// A thread that carried a request is no more.
    pub(super) fn lost(error: &tokio::task::JoinError) -> Failed {
        Failed { kind: io::ErrorKind::Other, why: error.to_string() }
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self { kind: error.kind(), why: error.to_string() }
    }
}

impl From<object_store::Error> for Failed {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error;
        let kind = match &error {
            Error::NotFound { .. } => io::ErrorKind::NotFound,
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
                io::ErrorKind::PermissionDenied
            }
            Error::AlreadyExists { .. } => io::ErrorKind::AlreadyExists,
            Error::Precondition { .. } => io::ErrorKind::StaleNetworkFileHandle,
            Error::InvalidPath { .. } | Error::UnknownConfigurationKey { .. } => {
                io::ErrorKind::InvalidInput
            }
            _ => io::ErrorKind::Other,
        };
        let mut why = error.to_string();
        let mut below: Option<&dyn std::error::Error> = std::error::Error::source(&error);
        while let Some(cause) = below {
            let words = cause.to_string();
            if !why.contains(&words) {
                why = format!("{why}: {words}");
            }
            below = cause.source();
        }
        // Of a listing the client tells no kinds.
        let said = |codes: &[&str]| codes.iter().any(|code| why.contains(code));
        let kind = match kind {
            io::ErrorKind::Other if said(&["NoSuchBucket"]) => io::ErrorKind::NotFound,
            io::ErrorKind::Other if said(&REFUSED) => io::ErrorKind::PermissionDenied,
            kind => kind,
        };
        Self { kind, why }
    }
}
