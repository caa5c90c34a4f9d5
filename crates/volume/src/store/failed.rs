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
    /// An object that is in another state than the one that was asked for.
    pub(super) fn another(path: &object_store::path::Path) -> Failed {
        let why = format!("{path}: it is another object now");
        Failed { kind: io::ErrorKind::StaleNetworkFileHandle, why }
    }

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

/// What a server says is an XML document, of which code and message are for people: AWS sends back
/// what it was sent, too, a token among that.
fn in_words(why: String) -> String {
    let Some(start) = why.find("<?xml").or_else(|| why.find("<Error")) else { return why };
    let (before, document) = why.split_at(start);
    let part = |name: &str| {
        let (_, rest) = document.split_once(&format!("<{name}>"))?;
        rest.split_once("</").map(|(text, _)| text.trim())
    };
    let parts: Vec<&str> = ["Code", "Message"].into_iter().filter_map(part).collect();
    format!("{before}{}", parts.join(": "))
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
        let why = in_words(why);
        // Of a listing the client tells no kinds.
        let said = |codes: &[&str]| codes.iter().any(|code| why.contains(code));
        let kind = match kind {
            io::ErrorKind::Other if said(&["NoSuchBucket"]) => io::ErrorKind::NotFound,
            io::ErrorKind::Other if said(&REFUSED) => io::ErrorKind::PermissionDenied,
            io::ErrorKind::Other if said(&[super::object::ENDLESS]) => io::ErrorKind::InvalidData,
            kind => kind,
        };
        Self { kind, why }
    }
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn of_what_a_server_says_no_more_is_kept_than_people_need() {
        let said = "status 400 Bad Request: <?xml version=\"1.0\"?>\n<Error><Code>ExpiredToken</Code>\
            <Message>The token has expired.</Message><Token-0>hush</Token-0></Error>";
        let words = "status 400 Bad Request: ExpiredToken: The token has expired.";
        assert_eq!(in_words(said.to_owned()), words);
        assert_eq!(in_words("no <one> is there".to_owned()), "no <one> is there");
        assert_eq!(in_words("x: <Error><Code>SlowDown</Code></Error>".to_owned()), "x: SlowDown");
    }
}
