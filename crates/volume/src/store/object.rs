//! Objects of a bucket that speaks S3, for callers that wait: the runtime of the client stays in here.

use std::io;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::ClientOptions;
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore, ObjectStoreExt, RetryConfig};
use tokio::runtime::Runtime;

use super::Failed;

/// A request that is not answered for so long is tried again.
const PATIENCE: Duration = Duration::from_secs(30);
/// Threads that carry requests: bytes are copied and signed, the rest is waiting.
const THREADS: usize = 2;

/// What is below a prefix of a bucket.
#[derive(Debug)]
pub struct Objects {
    runtime: Runtime,
    store: AmazonS3,
    prefix: Path,
}

impl Objects {
    /// Opens `s3://BUCKET/PREFIX`. Settings are those of AWS's own tools (`AWS_ACCESS_KEY_ID`,
    /// `AWS_REGION`, `AWS_ENDPOINT_URL`, ...), from who calls; without a key in them the machine's
    /// or the container's role is asked for one. Nothing is asked of the bucket yet.
    ///
    /// # Errors
    /// The URL or a setting makes no sense, or no thread can be made.
    pub fn open(
        url: &str,
        settings: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Objects, Failed> {
        let wrong = |why: String| Failed { kind: io::ErrorKind::InvalidInput, why };
        let rest = url.strip_prefix("s3://").ok_or_else(|| wrong(format!("{url} is no s3://")))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(wrong("which bucket? s3://BUCKET/PREFIX".to_owned()));
        }
        // Who has one already keeps it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = AmazonS3Builder::new();
        let (mut region, mut options) = (false, ClientOptions::new().with_timeout(PATIENCE));
        for (name, value) in settings {
            let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() else { continue };
            region |= matches!(key, AmazonS3ConfigKey::Region | AmazonS3ConfigKey::DefaultRegion);
            // Who writes http:// wants it.
            let endpoint =
                matches!(key, AmazonS3ConfigKey::Endpoint | AmazonS3ConfigKey::S3Endpoint);
            if endpoint && value.starts_with("http://") {
                options = options.with_allow_http(true);
            }
            builder = builder.with_config(key, value);
        }
        if !region {
            builder = builder.with_region("us-east-1");
        }
        let retry = RetryConfig {
            backoff: BackoffConfig::default(),
            max_retries: 3,
            retry_timeout: PATIENCE,
        };
        let builder = builder.with_bucket_name(bucket).with_client_options(options);
        // One object is one request, and not all that speaks S3 knows the other way.
        let builder = builder.with_disable_bulk_delete(true);
        let store = builder.with_retry(retry).build()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("forebay-objects")
            .enable_all()
            .build()
            .map_err(|error| Failed { kind: error.kind(), why: error.to_string() })?;
        let prefix =
            Path::parse(prefix.trim_end_matches('/')).map_err(|error| wrong(error.to_string()))?;
        Ok(Objects { runtime, store, prefix })
    }

    fn at(&self, name: &str) -> Path {
        name.split('/')
            .filter(|part| !part.is_empty())
            .fold(self.prefix.clone(), |path, part| path.join(part))
    }

    /// Writes an object, all of it or nothing.
    ///
    /// # Errors
    /// Those of the network, and what the bucket refuses.
    pub fn put(&self, name: &str, bytes: Bytes) -> Result<(), Failed> {
        self.runtime.block_on(self.store.put(&self.at(name), bytes.into()))?;
        Ok(())
    }

    /// Reads a part of an object: bytes of it from and up to there.
    ///
    /// # Errors
    /// Those of the network, and what the bucket refuses.
    pub fn get(&self, name: &str, range: Range<u64>) -> Result<Bytes, Failed> {
        Ok(self.runtime.block_on(self.store.get_range(&self.at(name), range))?)
    }

    /// How long an object is; `None`: it is not there.
    ///
    /// # Errors
    /// Those of the network, and what the bucket refuses.
    pub fn size(&self, name: &str) -> Result<Option<u64>, Failed> {
        match self.runtime.block_on(self.store.head(&self.at(name))) {
            Ok(found) => Ok(Some(found.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an object, if it is there.
    ///
    /// # Errors
    /// Those of the network, and what the bucket refuses.
    pub fn delete(&self, name: &str) -> Result<(), Failed> {
        match self.runtime.block_on(self.store.delete(&self.at(name))) {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Copies an object within its bucket; its bytes don't come here.
    ///
    /// # Errors
    /// Those of the network, and what the bucket refuses.
    pub fn copy(&self, from: &str, to: &str) -> Result<(), Failed> {
        Ok(self.runtime.block_on(self.store.copy(&self.at(from), &self.at(to)))?)
    }

    /// Names and lengths of all objects in a folder and below, in order; names start after the
    /// prefix that was opened.
    ///
    /// # Errors
    /// Those of the network, and what the bucket refuses.
    pub fn list(&self, folder: &str) -> Result<Vec<(String, u64)>, Failed> {
        let below = self.at(folder);
        let below = (!below.as_ref().is_empty()).then_some(&below);
        let found = self.store.list(below);
        let name = |found: object_store::ObjectMeta| {
            let parts = found.location.prefix_match(&self.prefix)?;
            let parts: Vec<String> = parts.map(|part| part.as_ref().to_owned()).collect();
            Some((parts.join("/"), found.size))
        };
        let all: Vec<_> = self.runtime.block_on(found.try_collect())?;
        let mut all: Vec<_> = all.into_iter().filter_map(name).collect();
        all.sort();
        Ok(all)
    }
}
