//! Objects of a bucket, for callers that wait: the runtime of the client stays in here.

mod concurrent_fetch;
mod folder_listing;
mod hedge;
mod listing_pages;
mod put;
mod ranged_reads;
mod scheme;
mod sieve;
mod upload;

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{Attribute, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt};
use tokio::runtime::Runtime;

use super::RequestError;
pub use concurrent_fetch::VersionPin;
pub use folder_listing::{FolderListing, ListedObject};
use hedge::RequestHedge;
pub use put::PutCondition;

/// Threads that carry requests: bytes are copied and signed, the rest is waiting.
const THREADS: usize = 2;
/// How often bytes are asked for that come other than they were written: on the way they change by
/// chance, where they lie they stay wrong.
const LOOKS: usize = 4;
/// What an object says of itself, as user-defined metadata: who wrote it, and which state of it.
const TAG: Attribute = Attribute::Metadata(std::borrow::Cow::Borrowed("forebay"));

/// What is below a prefix of a bucket.
#[derive(Debug)]
pub struct BucketClient {
    runtime: Runtime,
    store: Arc<dyn ObjectStore>,
    prefix: String,
    hedge: Arc<RequestHedge>,
    /// MiB that parts of uploads may take, of all uploads together.
    room: Arc<tokio::sync::Semaphore>,
    odd: sieve::RejectedKeys,
    /// An upload of parts that must not write over an object goes to a name of its own first.
    ends_by_copy: bool,
}

/// Tells one state of an object from all others: its ETag (RFC 9110, section 8.8.3).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectVersion(pub String);

impl ObjectVersion {
    /// Azure's listings leave out the quotes that an ETag has.
    fn from_e_tag(e_tag: String) -> ObjectVersion {
        let is_whole = e_tag.starts_with('"') || e_tag.starts_with("W/");
        ObjectVersion(if is_whole { e_tag } else { format!("\"{e_tag}\"") })
    }
}

/// An object that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectMetadata {
    /// Its name after the prefix that was opened.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// `None`: the store tells none.
    pub version: Option<ObjectVersion>,
    /// What its writer called this state of it; a listing does not tell.
    pub tag: Option<String>,
}

impl BucketClient {
    fn with_store(store: Arc<dyn ObjectStore>, prefix: &str) -> Result<BucketClient, RequestError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("forebay-objects")
            .enable_all()
            .build()
            .map_err(|error| RequestError { kind: error.kind(), why: error.to_string() })?;
        let prefix = prefix.trim_matches('/').to_owned();
        let (hedge, odd) = (Arc::default(), Arc::default());
        let room = Arc::new(tokio::sync::Semaphore::new(upload::ROOM_MIB));
        let objects =
            BucketClient { runtime, store, prefix, hedge, room, odd, ends_by_copy: false };
        objects.object_path("")?;
        Ok(objects)
    }

    /// Names are keys as they are: what the client would spell another way, other tools would not
    /// find.
    fn object_path(&self, name: &str) -> Result<Path, RequestError> {
        let name = name.trim_matches('/');
        let whole = match (self.prefix.as_str(), name) {
            ("", name) => name.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, name) => format!("{prefix}/{name}"),
        };
        Path::parse(&whole).map_err(|error| RequestError {
            kind: io::ErrorKind::InvalidInput,
            why: error.to_string(),
        })
    }

    /// How long an object is; `None`: it is not there.
    ///
    /// # Errors
    /// Those of the network, and what the bucket refuses.
    pub fn object_size(&self, name: &str) -> Result<Option<u64>, RequestError> {
        Ok(self.head(name)?.map(|found| found.size))
    }

    /// What is known of an object; `None`: it is not there.
    ///
    /// # Errors
    /// Those of the network, and what the bucket refuses.
    pub fn head(&self, name: &str) -> Result<Option<ObjectMetadata>, RequestError> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        match self.runtime.block_on(self.store.get_opts(&self.object_path(name)?, options)) {
            Ok(got) => {
                let tag = got.attributes.get(&TAG).map(|tag| tag.to_string());
                Ok(Some(ObjectMetadata { tag, ..found_from_meta(name.to_owned(), got.meta) }))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an object, if it is there.
    ///
    /// # Errors
    /// Those of the network, and what the bucket refuses.
    pub fn delete(&self, name: &str) -> Result<(), RequestError> {
        match self.runtime.block_on(self.store.delete(&self.object_path(name)?)) {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Copies an object within its bucket; its bytes don't come here.
    ///
    /// # Errors
    /// Those of the network, and what the bucket refuses.
    pub fn copy(&self, from: &str, to: &str) -> Result<(), RequestError> {
        Ok(self
            .runtime
            .block_on(self.store.copy(&self.object_path(from)?, &self.object_path(to)?))?)
    }

    /// All objects in a folder and below, in order.
    ///
    /// # Errors
    /// Those of the network, and what the bucket refuses.
    pub fn list_recursive(&self, folder: &str) -> Result<Vec<ObjectMetadata>, RequestError> {
        let below = self.object_path(folder)?;
        let below = (!below.as_ref().is_empty()).then_some(&below);
        let ask = || self.runtime.block_on(self.store.list(below).try_collect::<Vec<_>>());
        let all = retry_listing(ask)?;
        let mut all: Vec<_> =
            all.into_iter().filter_map(|meta| self.found_below_prefix(meta)).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    fn found_below_prefix(&self, meta: ObjectMeta) -> Option<ObjectMetadata> {
        let whole = meta.location.as_ref();
        let name = match self.prefix.as_str() {
            "" => whole,
            prefix => whole.strip_prefix(prefix)?.strip_prefix('/')?,
        };
        Some(found_from_meta(name.to_owned(), meta))
    }

    /// Reads a part of an object: bytes of it from and up to there.
    ///
    /// # Errors
    /// Those of the network, and what the bucket refuses. `InvalidData`: fewer bytes came.
    pub fn get(&self, name: &str, range: Range<u64>) -> Result<Bytes, RequestError> {
        let part = self.part_of_object(&self.object_path(name)?, range, None);
        self.runtime.block_on(part.request_once()).map(|(bytes, _)| bytes)
    }

    /// The same of this state of it, if one is given, asked for a second time where the answer is
    /// overdue; and again where `is_right` says that these are not the bytes that were written.
    ///
    /// # Errors
    /// As [`BucketClient::get`]. `StaleNetworkFileHandle`: the object is in another state.
    /// `InvalidData`: the bytes are wrong however often one asks.
    pub fn fetch_verified(
        &self,
        name: &str,
        range: Range<u64>,
        version: Option<&ObjectVersion>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Bytes, RequestError> {
        let path = self.object_path(name)?;
        for _ in 0..LOOKS {
            let part = self.part_of_object(&path, range.clone(), version);
            let (bytes, _) = self.runtime.block_on(part.fetch_hedged())?;
            if is_right(&bytes) {
                return Ok(bytes);
            }
        }
        let why = format!("{path}: bytes {range:?} are not those that were written");
        Err(RequestError { kind: io::ErrorKind::InvalidData, why })
    }
}

/// Asks for a listing: the client does not ask again where one came that is cut off.
fn retry_listing<T, E>(ask: impl Fn() -> Result<T, E>) -> Result<T, E> {
    let mut asked = ask();
    for _ in 1..LOOKS {
        if asked.is_ok() {
            break;
        }
        asked = ask();
    }
    asked
}

fn found_from_meta(name: String, meta: ObjectMeta) -> ObjectMetadata {
    ObjectMetadata {
        name,
        size: meta.size,
        version: meta.e_tag.map(ObjectVersion::from_e_tag),
        tag: None,
    }
}
