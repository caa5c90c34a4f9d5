//! Requests for parts of an archive's objects, made again and again while that can help.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

use bytes::Bytes;
use forebay_reads::{Error, Kind, ObjectRange, Result};

use super::Listing;
use forebay_objstore::{BucketClient, RequestError, VersionPin};
use forebay_objstore::{RetryWindow, retry_patiently};

/// Requests at a time, a second one for what is overdue among them.
const CONNECTIONS: usize = 8;
/// Bytes of one request at most: at 50 ms and 100 MB/s a connection half of the time is spent
/// waiting, which the others make good.
pub(super) const LONGEST: u64 = 4 << 20;

#[derive(Debug)]
pub(super) struct Client {
    url: String,
    objects: BucketClient,
    known: BTreeMap<String, (u64, Arc<VersionPin>)>,
}

impl Client {
    pub(super) fn start(listing: Listing) -> std::result::Result<Client, RequestError> {
        let Listing { url, settings, objects: listed, .. } = listing;
        let known = listed.into_iter();
        let known = known
            .map(|(name, it)| (name, (it.size, Arc::new(VersionPin::for_version(it.version)))));
        let objects = BucketClient::open(&url, settings)?.with_request_limit(CONNECTIONS, LONGEST);
        Ok(Client { url, objects, known: known.collect() })
    }

    /// How long an object is that was listed.
    pub(super) fn object_size(&self, name: &str) -> Result<u64> {
        let missing = || Error::new(Kind::Damaged, format!("{}/{name} is missing", self.url));
        self.known.get(name).map(|(size, _)| *size).ok_or_else(missing)
    }

    /// Asks for some bytes; `then` is told what came, and must not wait.
    pub(super) fn begin_request(
        &self,
        name: &str,
        range: Range<u64>,
        then: impl FnOnce(std::result::Result<Bytes, RequestError>) + Send + 'static,
    ) -> std::result::Result<(), RequestError> {
        match self.known.get(name) {
            Some((_, pin)) => self.objects.begin_fetch(name, range, pin, then),
            None => self.objects.begin_fetch(name, range, &Arc::default(), then),
        }
    }

    /// Parts of objects, all of them at a time. A bucket that does not answer is asked again for
    /// minutes.
    pub(super) fn fetch_parts(&self, parts: &[ObjectRange<'_>]) -> Result<Vec<Bytes>> {
        let mut came: Vec<Option<Bytes>> = vec![None; parts.len()];
        let gone = AtomicBool::new(false);
        let asked = retry_patiently(&gone, &RetryWindow::default(), || {
            self.request_missing_parts(parts, &mut came)
        });
        asked.map_err(|failed| self.to_reads_error(failed))?;
        Ok(came.into_iter().flatten().collect())
    }

    /// Asks once for what has not come.
    fn request_missing_parts(
        &self,
        parts: &[ObjectRange<'_>],
        came: &mut [Option<Bytes>],
    ) -> std::result::Result<(), RequestError> {
        let (tell, told) = channel();
        for (nth, part) in parts.iter().enumerate().filter(|(nth, _)| came[*nth].is_none()) {
            let (tell, end) = (tell.clone(), part.offset + part.len as u64);
            self.begin_request(part.name, part.offset..end, move |bytes| {
                drop(tell.send((nth, bytes)))
            })?;
        }
        drop(tell);
        let mut failed: Option<RequestError> = None;
        for (nth, bytes) in told {
            match bytes {
                Ok(bytes) => came[nth] = Some(bytes),
                // What has no end by itself counts.
                Err(new) if failed.is_none() || new.is_lasting() => failed = Some(new),
                Err(_) => {}
            }
        }
        failed.map_or(Ok(()), Err)
    }

    fn to_reads_error(&self, failed: RequestError) -> Error {
        let RequestError { kind, why } = failed;
        match kind {
            io::ErrorKind::NotFound | io::ErrorKind::StaleNetworkFileHandle => {
                let words = format!("{} was replaced or removed while it was read", self.url);
                Error::new(Kind::Changed, format!("{words}: {why}"))
            }
            _ => Error::io(&self.url, io::Error::new(kind, why)),
        }
    }
}
