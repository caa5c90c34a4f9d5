//! Which kinds of object storage there are: one line each in SCHEMES.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::{ClientConfigKey, ClientOptions};
use object_store::memory::InMemory;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};

use super::super::{AwsSettings, setting_check};
use super::sieve::{FilteringConnector, RejectedKeys};
use super::{BucketClient, RequestError};

/// A request that is not answered for so long is tried again.
const PATIENCE: Duration = Duration::from_secs(30);

type Pairs = Vec<(String, String)>;
type OpenResult = Result<Arc<dyn ObjectStore>, RequestError>;

/// How one kind is opened: from the name behind `://` up to the first `/`.
struct Scheme {
    name: &'static str,
    open: fn(&str, Pairs, &RejectedKeys) -> OpenResult,
}

const SCHEMES: [Scheme; 2] =
    [Scheme { name: "s3", open: open_s3 }, Scheme { name: "memory", open: open_memory }];

impl BucketClient {
    /// Opens `s3://BUCKET/PREFIX`, or `memory://ANY/PREFIX`, which is gone with the process.
    /// Settings are those of AWS's own tools (`AWS_ACCESS_KEY_ID`, `AWS_REGION`,
    /// `AWS_ENDPOINT_URL`, ...), from who calls; without a key in them the machine's or the
    /// container's role is asked for one. Nothing is asked of the bucket yet.
    ///
    /// # Errors
    /// The URL or a setting makes no sense, or no thread can be made.
    pub fn open(url: &str, settings: impl Into<AwsSettings>) -> Result<BucketClient, RequestError> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let Some(scheme) = SCHEMES.iter().find(|known| known.name == scheme) else {
            return Err(invalid_input_error(format!("{url} is no s3://")));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(invalid_input_error(format!(
                "which bucket? {}://BUCKET/PREFIX",
                scheme.name
            )));
        }
        let pairs = settings.into().into_pairs().map_err(invalid_input_error)?;
        let odd = RejectedKeys::default();
        let objects = BucketClient::with_store((scheme.open)(bucket, pairs, &odd)?, prefix)?;
        Ok(BucketClient { odd, ..objects })
    }

    /// The names of all kinds.
    pub fn scheme_names() -> impl Iterator<Item = &'static str> {
        SCHEMES.iter().map(|scheme| scheme.name)
    }
}

fn invalid_input_error(why: String) -> RequestError {
    RequestError { kind: io::ErrorKind::InvalidInput, why }
}

fn open_memory(_: &str, _: Pairs, _: &RejectedKeys) -> OpenResult {
    Ok(Arc::new(InMemory::new()))
}

fn open_s3(bucket: &str, settings: Pairs, odd: &RejectedKeys) -> OpenResult {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if !bucket.chars().all(is_name) {
        return Err(invalid_input_error(format!(
            "{bucket:?} is no name of a bucket: a-z, 0-9, - and . make one"
        )));
    }
    // Who has one already keeps it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let retry =
        RetryConfig { backoff: BackoffConfig::default(), max_retries: 3, retry_timeout: PATIENCE };
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_client_options(ClientOptions::new().with_timeout(PATIENCE))
        .with_retry(retry)
        .with_http_connector(FilteringConnector(Arc::clone(odd)))
        // One object is one request, and not all that speaks S3 knows the other way.
        .with_disable_bulk_delete(true);
    let mut region = false;
    for (name, value) in settings {
        let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() else { continue };
        // As AWS's own tools take it, this is not set.
        if value.is_empty() {
            continue;
        }
        setting_check::check_setting(&name, &value).map_err(invalid_input_error)?;
        region |= matches!(key, AmazonS3ConfigKey::Region | AmazonS3ConfigKey::DefaultRegion);
        // Who writes http:// wants it.
        let endpoint = matches!(key, AmazonS3ConfigKey::Endpoint | AmazonS3ConfigKey::S3Endpoint);
        if endpoint && value.starts_with("http://") {
            let allow = AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp);
            builder = builder.with_config(allow, "true");
        }
        builder = builder.with_config(key, value);
    }
    if !region {
        builder = builder.with_region("us-east-1");
    }
    Ok(Arc::new(builder.build()?))
}
