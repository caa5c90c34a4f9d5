//! Keys that no path can have (`a//b`, `a/../b`), of which the client would refuse the whole listing
//! that has one. They are taken out of it before the client reads it, and kept for whoever wants to
//! tell of them. And the condition with which an upload of parts ends, which the client has no word
//! for.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};
use object_store::path::Path;
use parking_lot::Mutex;

use super::listing_pages::PendingListings;

tokio::task_local! {
    /// What this task asks for is done only if there is no such object.
    static ABSENT: ();
}

/// Does what ends an upload, on the condition that there is no such object. The client signs what
/// it sends before it comes here, and no signature needs this header.
pub(super) async fn only_if_absent<T>(what: impl Future<Output = T>) -> T {
    ABSENT.scope((), what).await
}

/// Whole keys that were taken out.
pub(super) type RejectedKeys = Arc<Mutex<Vec<String>>>;
/// Odd keys that are kept; of more there is no use.
const MOST: usize = 1000;
/// What a listing has an entry of, and what its key is called there.
const ENTRIES: [(&str, &str); 4] = [
    ("Contents", "Key"),
    ("CommonPrefixes", "Prefix"),
    // Azure's.
    ("Blob", "Name"),
    ("BlobPrefix", "Name"),
];
/// What asks for a listing: S3's way, and Azure's.
const LISTINGS: [&str; 2] = ["list-type=2", "comp=list"];

/// Makes clients that see no odd key, and no listing without an end.
#[derive(Debug, Default)]
pub(super) struct FilteringConnector(pub(super) RejectedKeys);

#[derive(Debug)]
struct KeyFilter {
    inner: HttpClient,
    odd: RejectedKeys,
    pages: Mutex<PendingListings>,
}

impl HttpConnector for FilteringConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        let odd = Arc::clone(&self.0);
        Ok(HttpClient::new(KeyFilter { inner, odd, pages: Mutex::default() }))
    }
}

type Answered<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>;

impl HttpService for KeyFilter {
    fn call<'a, 'b>(&'a self, mut request: HttpRequest) -> Answered<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        let asks = request.uri().query().unwrap_or_default();
        let is_listing = asks.split('&').any(|pair| LISTINGS.contains(&pair));
        let ends_upload = request.method() == "POST" && asks.contains("uploadId=");
        let asks = if is_listing { asks.to_owned() } else { String::new() };
        if ends_upload
            && ABSENT.try_with(|()| ()).is_ok()
            && let Ok(any) = "*".parse()
        {
            request.headers_mut().insert("if-none-match", any);
        }
        Box::pin(async move {
            let answer = self.inner.execute(request).await?;
            if !is_listing || !answer.status().is_success() {
                return Ok(answer);
            }
            let (head, body) = answer.into_parts();
            let bytes = body.bytes().await?;
            let text = std::str::from_utf8(&bytes).unwrap_or_default();
            if let Err(why) = self.pages.lock().check_page(&asks, text) {
                return Err(HttpError::new(HttpErrorKind::Decode, io::Error::other(why)));
            }
            let sifted = remove_odd_keys(text);
            let Some((rest, keys)) = sifted else {
                return Ok(HttpResponse::from_parts(head, bytes.into()));
            };
            let mut odd = self.odd.lock();
            let room = MOST.saturating_sub(odd.len());
            odd.extend(keys.into_iter().take(room));
            Ok(HttpResponse::from_parts(head, rest.into()))
        })
    }
}

/// A listing without odd keys, and those; `None`: it has none.
fn remove_odd_keys(listing: &str) -> Option<(String, Vec<String>)> {
    let mut odd = Vec::new();
    let mut text = listing.to_owned();
    for (entry, name) in ENTRIES {
        let before = odd.len();
        let rest = remove_odd_entries(&text, entry, name, &mut odd);
        if odd.len() > before {
            text = rest;
        }
    }
    (!odd.is_empty()).then_some((text, odd))
}

fn remove_odd_entries(text: &str, entry: &str, name: &str, odd: &mut Vec<String>) -> String {
    let (begin, end) = (format!("<{entry}>"), format!("</{entry}>"));
    let mut parts = text.split(&begin);
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (inside, after) = part.split_once(&end).unwrap_or((part, ""));
        let key = inside.split_once(&format!("<{name}>"));
        let key = key.and_then(|(_, key)| key.split_once(&format!("</{name}>")));
        let key = key.map_or(String::new(), |(key, _)| decode_xml(key));
        if key.starts_with('/') || Path::parse(&key).is_err() {
            odd.push(key);
        } else {
            rest.extend([&begin, inside, &end]);
        }
        rest.push_str(after);
    }
    rest
}

/// Text of XML as it is meant.
fn decode_xml(text: &str) -> String {
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, after) = part.split_once(';').unwrap_or((part, ""));
        let number = name.strip_prefix("#x").map(|digits| u32::from_str_radix(digits, 16));
        let number = number.or(name.strip_prefix('#').map(|digits| digits.parse()));
        let letter = match name {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => number.and_then(Result::ok).and_then(char::from_u32),
        };
        out.extend(letter);
        out.push_str(after);
    }
    out
}

#[cfg(test)]
mod tests {
    //! If these failed, one object of somebody else would make a bucket unreadable.
    use object_store::client::HttpRequestBody;

    use super::*;

    const LISTING: &str = "<R><Name>lab</Name><Prefix>p/</Prefix>\
        <Contents><Key>p/a</Key><Size>1</Size></Contents>\
        <Contents><Key>p/../b &amp; c</Key><Size>2</Size></Contents>\
        <Contents><Size>3</Size><Key>p/line&#10;feed</Key></Contents><Contents>\
        <Key>p/x &amp; y</Key></Contents><CommonPrefixes><Prefix>p/d/</Prefix></CommonPrefixes>\
        <CommonPrefixes><Prefix>p//</Prefix></CommonPrefixes></R>";
    const REST: &str = "<R><Name>lab</Name><Prefix>p/</Prefix>\
        <Contents><Key>p/a</Key><Size>1</Size></Contents><Contents>\
        <Key>p/x &amp; y</Key></Contents><CommonPrefixes><Prefix>p/d/</Prefix></CommonPrefixes></R>";

    const AZURES: &str = "<R><Prefix>p/</Prefix><Blobs><Blob><Name>p/a</Name></Blob><Blob>\
        <Name>p//b</Name></Blob><BlobPrefix><Name>p/d/</Name></BlobPrefix></Blobs><NextMarker /></R>";

    #[test]
    fn the_other_clouds_listing_has_none_either() {
        let (rest, odd) = remove_odd_keys(AZURES).expect("there is one");
        assert_eq!(odd, ["p//b"]);
        assert_eq!(rest, AZURES.replace("<Blob><Name>p//b</Name></Blob>", ""));
    }

    #[derive(Debug)]
    struct Server;

    impl HttpService for Server {
        fn call<'a, 'b>(&'a self, _: HttpRequest) -> Answered<'b>
        where
            'a: 'b,
            Self: 'b,
        {
            Box::pin(async { Ok(HttpResponse::new(LISTING.to_owned().into())) })
        }
    }

    #[test]
    fn a_listing_has_no_odd_keys_and_an_object_is_as_it_was() {
        let inner = HttpClient::new(Server);
        let sieve = KeyFilter { inner, odd: RejectedKeys::default(), pages: Mutex::default() };
        let ask = |url: &str| {
            let mut request = HttpRequest::new(HttpRequestBody::empty());
            *request.uri_mut() = url.parse().expect("a URL");
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("made");
            let answer = async { sieve.call(request).await?.into_body().bytes().await };
            runtime.block_on(answer).expect("answered")
        };
        assert_eq!(ask("http://h/lab/listing.xml?list-type=21"), LISTING);
        assert!(sieve.odd.lock().is_empty());
        assert_eq!(ask("http://h/lab?delimiter=%2F&list-type=2&prefix=p%2F"), REST);
        assert_eq!(*sieve.odd.lock(), ["p/../b & c", "p/line\nfeed", "p//"]);
        assert_eq!(remove_odd_keys(REST), None, "nothing is odd in it");
    }
}
