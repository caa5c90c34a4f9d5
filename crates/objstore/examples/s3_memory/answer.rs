//! What S3 answers, as far as its users here ask (Amazon S3 API reference).

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderValue, LAST_MODIFIED,
    RANGE,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};

use crate::objects::{Held, Meta, Object, Store, Upload, length};

pub(crate) type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// Nobody here asks when something was written.
const TIME: (&str, &str) = ("Thu, 01 Jan 2026 00:00:00 GMT", "2026-01-01T00:00:00.000Z");
const MOST: usize = 1000;

pub(crate) fn answer(store: &Store, head: &Parts, body: Vec<Bytes>) -> Answer {
    let path = decoded(head.uri.path());
    let query = head.uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let query: BTreeMap<String, String> = query
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (name.to_owned(), decoded(&value.replace('+', " "))))
        .collect();
    let is_bucket = !path.trim_matches('/').contains('/');
    let received = length(&body);
    let mut held = store.held();
    let (kind, answer) = match (&head.method, is_bucket) {
        (&Method::GET, true) if query.contains_key("location") => {
            ("GET", xml("<LocationConstraint/>"))
        }
        (&Method::GET, true) => ("LIST", list(&held, path.trim_end_matches('/'), &query)),
        (&Method::HEAD | &Method::PUT, true) => ("HEAD", status(StatusCode::OK)),
        (&Method::GET, _) => ("GET", get(&held, &path, head)),
        (&Method::HEAD, _) => ("HEAD", self::head(&held, &path)),
        (&Method::DELETE, _) => {
            match query.get("uploadId") {
                Some(id) => drop(held.uploads.remove(id)),
                None => drop(held.objects.remove(&path)),
            }
            ("DELETE", status(StatusCode::NO_CONTENT))
        }
        (&Method::POST, _) => ("POST", multipart(&mut held, &path, &query, head)),
        (&Method::PUT, _) if head.headers.contains_key("x-amz-copy-source") => {
            ("COPY", copy(&mut held, &path, head))
        }
        (&Method::PUT, _) => ("PUT", put(&mut held, &path, &query, head, body)),
        _ => ("other", status(StatusCode::NOT_IMPLEMENTED)),
    };
    let sent = answer.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let sent = sent.filter(|_| head.method != Method::HEAD).and_then(|length| length.parse().ok());
    store.count(kind, received, sent.unwrap_or(0));
    answer
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn status(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::new()).boxed_unsync());
    *answer.status_mut() = status;
    answer
}

pub(crate) fn refused(code: StatusCode, name: &str) -> Answer {
    let mut answer = xml(&format!("<Error><Code>{name}</Code><Message>{name}</Message></Error>"));
    *answer.status_mut() = code;
    answer
}

fn missing() -> Answer {
    refused(StatusCode::NOT_FOUND, "NoSuchKey")
}

fn xml(text: &str) -> Answer {
    let text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}");
    let length = text.len();
    let mut answer = Response::new(Full::new(Bytes::from(text)).boxed_unsync());
    answer.headers_mut().insert(CONTENT_LENGTH, length.into());
    answer.headers_mut().insert(CONTENT_TYPE, "application/xml".parse().expect("a type"));
    answer
}

fn tell(answer: &mut Answer, object: &Object) {
    let headers = answer.headers_mut();
    headers.insert(ETAG, object.etag.parse().expect("plain"));
    headers.insert(LAST_MODIFIED, TIME.0.parse().expect("plain"));
    // Or a reader of SRA's archives asks for no parts.
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    for (name, value) in &object.meta {
        headers.insert(name, value.clone());
    }
}

fn meta(head: &Parts) -> Meta {
    let is_kept = |name: &str| name.starts_with("x-amz-meta-") || name == "content-type";
    let kept = head.headers.iter().filter(|(name, _)| is_kept(name.as_str()));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn says<'h>(head: &'h Parts, name: &str) -> Option<&'h str> {
    head.headers.get(name).and_then(|value| value.to_str().ok())
}

fn head(held: &Held, path: &str) -> Answer {
    let Some(object) = held.objects.get(path) else { return status(StatusCode::NOT_FOUND) };
    let mut answer = status(StatusCode::OK);
    answer.headers_mut().insert(CONTENT_LENGTH, object.size.into());
    tell(&mut answer, object);
    answer
}

fn get(held: &Held, path: &str, head: &Parts) -> Answer {
    let Some(object) = held.objects.get(path) else { return missing() };
    if says(head, "if-match").is_some_and(|wanted| wanted != object.etag) {
        return refused(StatusCode::PRECONDITION_FAILED, "PreconditionFailed");
    }
    let wanted = says(head, RANGE.as_str()).and_then(|range| range.strip_prefix("bytes="));
    let range = match wanted.and_then(|range| range.split_once('-')) {
        None => 0..object.size,
        Some(("", last)) => object.size.saturating_sub(last.parse().unwrap_or(0))..object.size,
        Some((first, last)) => {
            let end = last.parse::<u64>().map_or(object.size, |last| object.size.min(last + 1));
            first.parse().unwrap_or(0)..end
        }
    };
    if wanted.is_some() && range.is_empty() {
        return refused(StatusCode::RANGE_NOT_SATISFIABLE, "InvalidRange");
    }
    let pieces = object.part(range.clone());
    let frames = stream::iter(pieces.into_iter().map(|piece| Ok(Frame::data(piece))));
    let mut answer = Response::new(StreamBody::new(frames).boxed_unsync());
    answer.headers_mut().insert(CONTENT_LENGTH, (range.end - range.start).into());
    if wanted.is_some() {
        *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
        let said = format!("bytes {}-{}/{}", range.start, range.end - 1, object.size);
        answer.headers_mut().insert(CONTENT_RANGE, said.parse().expect("plain"));
    }
    tell(&mut answer, object);
    answer
}

fn written(etag: &str) -> Answer {
    let mut answer = status(StatusCode::OK);
    answer.headers_mut().insert(ETAG, etag.parse().expect("plain"));
    answer
}

fn put(
    held: &mut Held,
    path: &str,
    query: &BTreeMap<String, String>,
    head: &Parts,
    body: Vec<Bytes>,
) -> Answer {
    if let (Some(id), Some(Ok(part))) =
        (query.get("uploadId"), query.get("partNumber").map(|number| number.parse()))
    {
        let (etag, body) = (held.state(), held.once(body));
        let Some(upload) = held.uploads.get_mut(id) else { return missing() };
        upload.parts.insert(part, body);
        return written(&etag);
    }
    let now = held.objects.get(path).map(|object| object.etag.as_str());
    let is_taken = says(head, "if-none-match").is_some() && now.is_some();
    if is_taken || says(head, "if-match").is_some_and(|wanted| now != Some(wanted)) {
        return refused(StatusCode::PRECONDITION_FAILED, "PreconditionFailed");
    }
    let body = held.once(body);
    written(&held.put(path, body, meta(head)))
}

fn copy(held: &mut Held, path: &str, head: &Parts) -> Answer {
    let from = decoded(says(head, "x-amz-copy-source").unwrap_or_default());
    let from = format!("/{}", from.trim_start_matches('/'));
    let Some(object) = held.objects.get(&from).cloned() else { return missing() };
    let replaces = says(head, "x-amz-metadata-directive") == Some("REPLACE");
    let meta = if replaces { meta(head) } else { object.meta };
    let etag = held.put(path, object.pieces, meta);
    let (etag, time) = (etag.replace('"', "&quot;"), TIME.1);
    xml(&format!(
        "<CopyObjectResult><LastModified>{time}</LastModified><ETag>{etag}</ETag></CopyObjectResult>"
    ))
}

fn multipart(
    held: &mut Held,
    path: &str,
    query: &BTreeMap<String, String>,
    head: &Parts,
) -> Answer {
    let Some(id) = query.get("uploadId") else {
        let id = held.state().replace('"', "");
        held.uploads.insert(id.clone(), Upload { meta: meta(head), ..Upload::default() });
        return xml(&format!(
            "<InitiateMultipartUploadResult><UploadId>{id}</UploadId>\
             </InitiateMultipartUploadResult>"
        ));
    };
    let Some(upload) = held.uploads.remove(id) else { return missing() };
    let etag = held.put(path, upload.parts.into_values().flatten().collect(), upload.meta);
    let etag = etag.replace('"', "&quot;");
    xml(&format!(
        "<CompleteMultipartUploadResult><ETag>{etag}</ETag></CompleteMultipartUploadResult>"
    ))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Both versions of it.
fn list(held: &Held, bucket: &str, query: &BTreeMap<String, String>) -> Answer {
    let word = |name: &str| query.get(name).map(String::as_str).unwrap_or_default();
    let (prefix, delimiter) = (word("prefix"), word("delimiter"));
    let after = ["continuation-token", "start-after", "marker"].map(word);
    let after = after.into_iter().find(|word| !word.is_empty()).unwrap_or_default();
    let most = word("max-keys").parse().unwrap_or(MOST).min(MOST);
    let (whole, start) = (format!("{bucket}/{prefix}"), bucket.len() + 1);
    let (mut found, mut folders, mut last, mut more) = (Vec::new(), BTreeSet::new(), "", false);
    let below = held.objects.range(whole.clone()..).take_while(|(key, _)| key.starts_with(&whole));
    for (key, object) in below {
        let key = &key[start..];
        let cut = key[prefix.len()..].find(delimiter).filter(|_| !delimiter.is_empty());
        let shown = cut.map_or(key, |at| &key[..prefix.len() + at + delimiter.len()]);
        if shown <= after || folders.contains(shown) {
            continue;
        }
        if found.len() + folders.len() == most {
            more = true;
            break;
        }
        last = shown;
        match cut {
            Some(_) => drop(folders.insert(shown)),
            None => found.push(format!(
                "<Contents><Key>{}</Key><LastModified>{}</LastModified><ETag>{}</ETag>\
                 <Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>",
                escaped(key),
                TIME.1,
                escaped(&object.etag),
                object.size
            )),
        }
    }
    let folders = folders.into_iter().map(escaped);
    let folders: String = folders
        .map(|name| format!("<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>"))
        .collect();
    let next = match more {
        true => {
            let last = escaped(last);
            format!(
                "<NextMarker>{last}</NextMarker><NextContinuationToken>{last}\
                 </NextContinuationToken>"
            )
        }
        false => String::new(),
    };
    xml(&format!(
        "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>{}</Name>\
         <Prefix>{}</Prefix><KeyCount>{}</KeyCount><MaxKeys>{most}</MaxKeys>\
         <IsTruncated>{more}</IsTruncated>{next}{}{folders}</ListBucketResult>",
        escaped(bucket.trim_start_matches('/')),
        escaped(prefix),
        found.len(),
        found.concat()
    ))
}
