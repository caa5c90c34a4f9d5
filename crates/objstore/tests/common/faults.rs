//! What can go wrong between a program and a bucket.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::HeaderMap;
use hyper::{Method, Request, Response, StatusCode};
use s3s::service::S3Service;

/// One way in which requests go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection is gone before anything happened.
    ResetBefore,
    /// The connection is gone, and it has happened.
    ResetAfter,
    /// Status 500.
    Internal,
    /// Status 503: too many requests.
    SlowDown,
    /// The answer comes after the client has given up.
    Late,
    /// The answer ends in the middle.
    Truncated,
    /// A byte of an object is another.
    Corrupt,
    /// It happens twice.
    Twice,
    /// A listing is as it was before.
    StaleList,
}

/// All of them.
#[allow(dead_code, reason = "not every test has faults")]
pub(crate) const FAULTS: [Fault; 9] = [
    Fault::ResetBefore,
    Fault::ResetAfter,
    Fault::Internal,
    Fault::SlowDown,
    Fault::Late,
    Fault::Truncated,
    Fault::Corrupt,
    Fault::Twice,
    Fault::StaleList,
];

/// What it does with all requests of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "not every test has outages")]
pub(crate) enum Refusal {
    /// Connections end without an answer.
    Away,
    /// Status and code, whatever is asked.
    All(u16, &'static str),
    /// The same for those that write.
    Writes(u16, &'static str),
    /// That an object is written only where none is, which is done without a word.
    Conditions,
}

impl Refusal {
    /// AWS sends back what it was sent where that helps to find out why: with `ExpiredToken` the
    /// token, with `SignatureDoesNotMatch` all headers.
    pub(crate) fn answer(
        self,
        request: &Request<Incoming>,
    ) -> Option<Result<Response<Body>, Failure>> {
        let writes = !matches!(*request.method(), Method::GET | Method::HEAD);
        let (status, code) = match self {
            Refusal::Away => return Some(Err(std::io::ErrorKind::ConnectionReset.into())),
            Refusal::Conditions => return None,
            Refusal::Writes(..) if !writes => return None,
            Refusal::All(status, code) | Refusal::Writes(status, code) => (status, code),
        };
        let of = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        let (token, signed) = (of("x-amz-security-token"), of("authorization"));
        let body = Bytes::from(format!(
            "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>In words: {code}</Message>\
             <Token-0>{}</Token-0><CanonicalRequest>{}</CanonicalRequest></Error>",
            token.unwrap_or_default(),
            signed.unwrap_or_default()
        ));
        let status = StatusCode::from_u16(status).expect("a status");
        Some(Ok(Whole { status, headers: HeaderMap::new(), body }.into_response(None)))
    }
}

/// One request in so many goes wrong.
const ONE_IN: u64 = 10;
/// Longer than a client with faults waits.
const LATE: Duration = Duration::from_secs(3);

/// Which requests go wrong, by a seed.
#[derive(Debug)]
pub(crate) struct Faults {
    fault: Fault,
    state: Mutex<u64>,
    lists: Mutex<HashMap<String, Whole>>,
}

type Failure = std::io::Error;
type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

/// An answer, all of it.
#[derive(Debug, Clone)]
struct Whole {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Faults {
    pub(crate) fn new(fault: Fault, seed: u64) -> Faults {
        Faults { fault, state: Mutex::new(seed), lists: Mutex::default() }
    }

    /// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
    fn draw(&self, below: u64) -> u64 {
        let mut state = self.state.lock().expect("no panic");
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

/// Answers a request, or does not.
pub(crate) async fn answer(
    service: &S3Service,
    faults: Option<&Faults>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Failure> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(Failure::other)?.to_bytes();
    let call = async || -> Result<Whole, Failure> {
        let again = Request::from_parts(parts.clone(), s3s::Body::from(body.clone()));
        let answer =
            service.call(again).await.map_err(|error| Failure::other(format!("{error:?}")))?;
        let (parts, body) = answer.into_parts();
        let body =
            body.collect().await.map_err(|error| Failure::other(format!("{error:?}")))?.to_bytes();
        Ok(Whole { status: parts.status, headers: parts.headers, body })
    };
    let is_list = parts.uri.query().is_some_and(|query| query.contains("list-type"));
    let fault = faults.filter(|faults| faults.draw(ONE_IN) == 0).map(|faults| faults.fault);
    let refuse = |status: StatusCode, code: &str| {
        let body = Bytes::from(format!("<Error><Code>{code}</Code></Error>"));
        Ok(Whole { status, headers: HeaderMap::new(), body }.into_response(None))
    };
    match fault {
        Some(Fault::ResetBefore) => Err(Failure::other("reset before")),
        Some(Fault::ResetAfter) => {
            call().await?;
            Err(Failure::other("reset after"))
        }
        Some(Fault::Internal) => refuse(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
        Some(Fault::SlowDown) => refuse(StatusCode::SERVICE_UNAVAILABLE, "SlowDown"),
        Some(Fault::Late) => {
            let whole = call().await?;
            tokio::time::sleep(LATE).await;
            Ok(whole.into_response(None))
        }
        Some(Fault::Truncated) if parts.method == Method::GET => {
            let whole = call().await?;
            let half = whole.body.len() / 2;
            Ok(whole.into_response(Some(half)))
        }
        Some(Fault::Corrupt) if parts.method == Method::GET && !is_list => {
            let mut whole = call().await?;
            if whole.status.is_success() && !whole.body.is_empty() {
                let mut other = whole.body.to_vec();
                let at = other.len() / 3;
                other[at] ^= 0x20;
                whole.body = other.into();
            }
            Ok(whole.into_response(None))
        }
        Some(Fault::Twice) => {
            call().await?;
            Ok(call().await?.into_response(None))
        }
        _ if is_list => {
            let uri = parts.uri.to_string();
            let before = faults.and_then(|f| f.lists.lock().expect("no panic").get(&uri).cloned());
            if let (Some(Fault::StaleList), Some(before)) = (fault, before) {
                return Ok(before.into_response(None));
            }
            let whole = call().await?;
            if let Some(faults) = faults {
                faults.lists.lock().expect("no panic").insert(uri, whole.clone());
            }
            Ok(whole.into_response(None))
        }
        _ => Ok(call().await?.into_response(None)),
    }
}

impl Whole {
    /// `up_to`: the body ends there, whatever the headers say.
    fn into_response(self, up_to: Option<usize>) -> Response<Body> {
        let body = match up_to {
            Some(end) => self.body.slice(..end),
            None => self.body,
        };
        // A stream tells no length, so the one in the headers stays as it is.
        let frames = stream::iter([Ok::<_, Infallible>(Frame::data(body))]);
        let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}
