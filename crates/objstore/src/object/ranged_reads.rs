//! Reading objects: one part, or many at once in their order.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectStore};

use super::{BucketClient, ObjectVersion, RequestError, RequestHedge};

/// Bytes of one request of a long read: at 20 ms a request and 100 MB/s a stream a fifth of the
/// time is spent waiting, which the requests beside it make good (AWS advises 8 to 16 MB).
const PART: u64 = 8 << 20;
/// Requests of one long read at a time.
const AT_ONCE: usize = 8;

/// A part of an object that can be asked for, on any thread.
#[derive(Debug, Clone)]
pub(super) struct RangeRequest {
    store: Arc<dyn ObjectStore>,
    hedge: Arc<RequestHedge>,
    path: Path,
    range: Range<u64>,
    version: Option<String>,
}

impl RangeRequest {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Asks; the bytes are on their way.
    async fn send_request(&self) -> Result<GetResult, RequestError> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(self.range.clone())),
            if_match: self.version.clone(),
            ..GetOptions::default()
        };
        let got = self.store.get_opts(&self.path, options).await?;
        // Not all that speaks S3 looks at the condition.
        let came = got.meta.e_tag.clone().map(|e_tag| ObjectVersion::from_e_tag(e_tag).0);
        if self.version.is_some() && self.version != came {
            return Err(RequestError::other_version(&self.path));
        }
        Ok(got)
    }

    /// Asks once.
    pub(super) async fn request_once(
        &self,
    ) -> Result<(Bytes, Option<ObjectVersion>), RequestError> {
        let mut got = self.send_request().await?;
        let version = got.meta.e_tag.take().map(ObjectVersion::from_e_tag);
        let bytes = got.bytes().await?;
        match bytes.len() as u64 == self.range.end - self.range.start {
            true => Ok((bytes, version)),
            false => Err(self.length_error(bytes.len() as u64)),
        }
    }

    fn length_error(&self, came: u64) -> RequestError {
        let why = format!("{}: {came} bytes came of {:?}", self.path, self.range);
        RequestError { kind: io::ErrorKind::InvalidData, why }
    }

    /// Asks once, and hands the bytes over as they come.
    async fn stream_once(
        &self,
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        let mut coming = self.send_request().await?.into_stream();
        let (length, mut came) = (self.range.end - self.range.start, 0);
        while let Some(bytes) = coming.try_next().await? {
            came += bytes.len() as u64;
            if came > length {
                break;
            }
            take(bytes)?;
        }
        if came == length { Ok(()) } else { Err(self.length_error(came)) }
    }

    /// Asks once for what there is up to the end of the range. `begin` is told how long the object
    /// is, before the first byte.
    async fn stream_up_to_end(
        &self,
        begin: &mut dyn FnMut(u64),
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        let got = self.send_request().await?;
        let length = self.range.end.min(got.meta.size).saturating_sub(self.range.start);
        begin(got.meta.size);
        let (mut coming, mut came) = (got.into_stream(), 0);
        while let Some(bytes) = coming.try_next().await? {
            came += bytes.len() as u64;
            if came > length {
                break;
            }
            take(bytes)?;
        }
        if came == length { Ok(()) } else { Err(self.length_error(came)) }
    }

    /// Asks, and once more where an answer takes far longer than others do. Tells which state of
    /// the object the bytes are of, if the bucket does.
    pub(super) async fn fetch_hedged(self) -> Result<(Bytes, Option<ObjectVersion>), RequestError> {
        if self.range.is_empty() {
            return Ok((Bytes::new(), None));
        }
        let hedge = Arc::clone(&self.hedge);
        let length = self.range.end - self.range.start;
        hedge.first_answer(length, || self.request_once()).await
    }
}

impl BucketClient {
    pub(super) fn part_of_object(
        &self,
        path: &Path,
        range: Range<u64>,
        version: Option<&ObjectVersion>,
    ) -> RangeRequest {
        RangeRequest {
            store: Arc::clone(&self.store),
            hedge: Arc::clone(&self.hedge),
            path: path.clone(),
            range,
            version: version.map(|version| version.0.clone()),
        }
    }

    /// Reads a part of an object by one request, and hands the bytes over in their order as they
    /// come. Not all need come before an error.
    ///
    /// # Errors
    /// As [`BucketClient::get`], and what `take` says. `StaleNetworkFileHandle`: the object is in
    /// another state.
    pub fn stream_part(
        &self,
        name: &str,
        range: Range<u64>,
        version: Option<&ObjectVersion>,
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        let part = self.part_of_object(&self.object_path(name)?, range, version);
        self.runtime.block_on(part.stream_once(take))
    }

    /// The same of an object that may end within the range: `begin` is told how long it is, before
    /// the first byte.
    ///
    /// # Errors
    /// As [`BucketClient::stream_part`]; also where the object ends before the range.
    pub fn stream_up_to(
        &self,
        name: &str,
        range: Range<u64>,
        version: Option<&ObjectVersion>,
        begin: &mut dyn FnMut(u64),
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        let part = self.part_of_object(&self.object_path(name)?, range, version);
        self.runtime.block_on(part.stream_up_to_end(begin, take))
    }

    /// Reads a long part of an object by several requests at a time, and hands the bytes over in
    /// their order. At most 64 MiB of them wait.
    ///
    /// # Errors
    /// As [`BucketClient::get`], and what `take` says.
    pub fn read_in_parts(
        &self,
        name: &str,
        range: Range<u64>,
        version: Option<&ObjectVersion>,
        take: &mut dyn FnMut(Bytes) -> io::Result<()>,
    ) -> Result<(), RequestError> {
        let path = self.object_path(name)?;
        let starts = (range.start..range.end).step_by(PART as usize);
        let parts = starts.map(|start| start..range.end.min(start + PART));
        let parts: Vec<RangeRequest> =
            parts.map(|part| self.part_of_object(&path, part, version)).collect();
        let here = self.runtime.handle().clone();
        // On threads of their own, or one would sign, decrypt and copy for all.
        let mut coming = stream::iter(parts)
            .map(|part| {
                let task = here.spawn(part.fetch_hedged());
                async move {
                    task.await.unwrap_or_else(|lost| Err(RequestError::from_join_error(&lost)))
                }
            })
            .buffered(AT_ONCE);
        self.runtime.block_on(async {
            while let Some((bytes, _)) = coming.try_next().await? {
                take(bytes)?;
            }
            Ok(())
        })
    }
}
