//! What a storage behind a network refuses, for programs and for people.

use std::io;

/// Answers of S3 (Amazon S3 API reference, error responses) and of Azure (Blob service error codes)
/// that no patience helps with.
const REFUSED: [&str; 8] = [
    "AuthenticationFailed",
    "AuthorizationFailure",
    "AuthorizationPermissionMismatch",
    "AccessDenied",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "RequestTimeTooSkewed",
];

/// What an error says of a listing that leads nowhere, which is told from others by it.
pub(super) const ENDLESS: &str = "the bucket's listing does not end";

/// What came of a request, in the client's words, which name no credential.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct RequestError {
    /// What went wrong, as far as programs tell it apart.
    pub kind: io::ErrorKind,
    /// Why.
    pub why: String,
}

impl RequestError {
    /// An object that is in another state than the one that was asked for.
    pub(super) fn other_version(path: &object_store::path::Path) -> RequestError {
        let why = format!("{path}: it is another object now");
        RequestError { kind: io::ErrorKind::StaleNetworkFileHandle, why }
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
    pub(super) fn from_join_error(error: &tokio::task::JoinError) -> RequestError {
        RequestError { kind: io::ErrorKind::Other, why: error.to_string() }
    }
}

/// What a server says is an XML document, of which code and message are for people: AWS sends back
/// what it was sent, too, a token among that.
fn extract_xml_message(why: String) -> String {
    let Some(start) = why.find("<?xml").or_else(|| why.find("<Error")) else { return why };
    let (before, document) = why.split_at(start);
    let part = |name: &str| {
        let (_, rest) = document.split_once(&format!("<{name}>"))?;
        rest.split_once("</").map(|(text, _)| text.trim())
    };
    let parts: Vec<&str> = ["Code", "Message"].into_iter().filter_map(part).collect();
    format!("{before}{}", parts.join(": "))
}

/// How the client begins to say what it did.
const STARTS: [&str; 6] = [
    "Generic S3 error: ",
    "Generic MicrosoftAzure error: ",
    "Error performing list request: ",
    "Error performing ",
    "Error after 0 retries in ",
    "Generic ",
];
/// How those below it begin, of whom each repeats that something failed.
const LAYERS: [&str; 4] =
    ["HTTP error: ", "error sending request: ", "client error (Connect): ", "tcp connect error: "];

/// Nothing says who asks.
pub const NO_KEYS: &str = "there are no credentials: none in the environment or in ~/.aws, and this \
                           machine has no role";

/// What happened and where, without how the client is made and what it was asked for.
fn shorten_message(mut why: String) -> String {
    for start in STARTS {
        if let Some(rest) = why.strip_prefix(start) {
            why = rest.to_owned();
        }
    }
    // `GET URL in 4.2s, after 3 retries, max_retries: 3, retry_timeout: 30s  - what happened`
    if let Some((request, happened)) = why.split_once(" - ")
        && let Some((request, _)) = request.split_once(" in ")
        && request.contains("://")
    {
        // What is asked for behind `?` is how the client lists.
        let request = request.split('?').next().unwrap_or(request);
        // The client's last resort for credentials, of whom people need not know where it asks.
        if request.contains("//169.254.") {
            return NO_KEYS.to_owned();
        }
        why = format!("{request}: {happened}");
    }
    for layer in LAYERS {
        why = why.replacen(layer, "", 1);
    }
    why
}

impl From<io::Error> for RequestError {
    fn from(error: io::Error) -> Self {
        Self { kind: error.kind(), why: error.to_string() }
    }
}

impl From<object_store::Error> for RequestError {
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
        let why = shorten_message(extract_xml_message(why));
        // Of a listing the client tells no kinds.
        let said = |codes: &[&str]| codes.iter().any(|code| why.contains(code));
        let kind = match kind {
            io::ErrorKind::Other if said(&["NoSuchBucket", "ContainerNotFound"]) => {
                io::ErrorKind::NotFound
            }
            io::ErrorKind::Other if said(&REFUSED) => io::ErrorKind::PermissionDenied,
            io::ErrorKind::Other if said(&[ENDLESS]) => io::ErrorKind::InvalidData,
            kind => kind,
        };
        Self { kind, why }
    }
}

#[cfg(test)]
mod tests {
    use super::{extract_xml_message, shorten_message};

    #[test]
    fn how_the_client_is_made_is_not_told() {
        let said = "Generic S3 error: Error performing list request: Error performing GET \
            http://127.0.0.1:9/b?list-type=2&prefix=p%2F in 492.94ms, after 3 retries, \
            max_retries: 3, retry_timeout: 30s  - HTTP error: error sending request: client error \
            (Connect): tcp connect error: Connection refused (os error 111)";
        let told = "GET http://127.0.0.1:9/b: Connection refused (os error 111)";
        assert_eq!(shorten_message(said.to_owned()), told);
        let once = "Generic S3 error: Error performing HEAD https://h/b/x in 1.3ms - Server returned \
            non-2xx status code: 403 Forbidden: ";
        let told = "HEAD https://h/b/x: Server returned non-2xx status code: 403 Forbidden: ";
        assert_eq!(shorten_message(once.to_owned()), told);
        let role = "Generic S3 error: Error performing PUT http://169.254.169.254/latest/api/token in \
            2ms, after 0 retries - Server returned non-2xx status code: 403 Forbidden: denied";
        assert_eq!(shorten_message(role.to_owned()), super::NO_KEYS);
        for other in ["p/a: it is another object now", "a in b - c", ""] {
            assert_eq!(shorten_message(other.to_owned()), other);
        }
    }

    #[test]
    fn of_what_a_server_says_no_more_is_kept_than_people_need() {
        let said = "status 400 Bad Request: <?xml version=\"1.0\"?>\n<Error><Code>ExpiredToken</Code>\
            <Message>The token has expired.</Message><Token-0>hush</Token-0></Error>";
        let words = "status 400 Bad Request: ExpiredToken: The token has expired.";
        assert_eq!(extract_xml_message(said.to_owned()), words);
        assert_eq!(extract_xml_message("no <one> is there".to_owned()), "no <one> is there");
        assert_eq!(
            extract_xml_message("x: <Error><Code>SlowDown</Code></Error>".to_owned()),
            "x: SlowDown"
        );
    }
}
