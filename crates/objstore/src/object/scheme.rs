//! Which kinds of object storage there are: one line each in SCHEMES.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{ClientConfigKey, ClientOptions};
use object_store::memory::InMemory;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};

use super::super::{BucketSettings, setting_check};
use super::sieve::{FilteringConnector, RejectedKeys};
use super::{BucketClient, RequestError};

/// The kind of which an upload of parts can't end on a condition.
const AZURE: &str = "az";
/// A request that is not answered for so long is tried again.
const PATIENCE: Duration = Duration::from_secs(30);

type OpenResult = Result<Arc<dyn ObjectStore>, RequestError>;

/// How one kind is opened: from the name behind `://` up to the first `/`.
struct Scheme {
    name: &'static str,
    open: fn(&str, BucketSettings, &RejectedKeys) -> OpenResult,
}

const SCHEMES: [Scheme; 3] = [
    Scheme { name: "s3", open: open_s3 },
    Scheme { name: AZURE, open: open_azure },
    Scheme { name: "memory", open: open_memory },
];

impl BucketClient {
    /// Opens `s3://BUCKET/PREFIX`, `az://CONTAINER/PREFIX`, or `memory://ANY/PREFIX`, which is gone
    /// with the process. Settings are those of AWS's own tools (`AWS_ACCESS_KEY_ID`, `AWS_REGION`,
    /// `AWS_ENDPOINT_URL`, ...) and of Azure's (`AZURE_STORAGE_ACCOUNT`, `AZURE_STORAGE_KEY`, ...),
    /// from who calls; without a key in them the machine's or the container's role is asked for
    /// one. Nothing is asked of the bucket yet.
    ///
    /// # Errors
    /// The URL or a setting makes no sense, or no thread can be made.
    pub fn open(
        url: &str,
        settings: impl Into<BucketSettings>,
    ) -> Result<BucketClient, RequestError> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let Some(scheme) = SCHEMES.iter().find(|known| known.name == scheme) else {
            return Err(invalid_input_error(format!("{url} is neither s3:// nor az://")));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(invalid_input_error(format!(
                "which bucket? {}://BUCKET/PREFIX",
                scheme.name
            )));
        }
        let odd = RejectedKeys::default();
        let store = (scheme.open)(bucket, settings.into(), &odd)?;
        let objects = BucketClient::with_store(store, prefix)?;
        Ok(BucketClient { odd, ends_by_copy: scheme.name == AZURE, ..objects })
    }

    /// The names of all kinds.
    pub fn scheme_names() -> impl Iterator<Item = &'static str> {
        SCHEMES.iter().map(|scheme| scheme.name)
    }
}

fn invalid_input_error(why: String) -> RequestError {
    RequestError { kind: io::ErrorKind::InvalidInput, why }
}

fn open_memory(_: &str, _: BucketSettings, _: &RejectedKeys) -> OpenResult {
    Ok(Arc::new(InMemory::new()))
}

/// Requests that fail are made again, a few times.
fn retry_setting() -> RetryConfig {
    RetryConfig { backoff: BackoffConfig::default(), max_retries: 3, retry_timeout: PATIENCE }
}

fn open_s3(bucket: &str, settings: BucketSettings, odd: &RejectedKeys) -> OpenResult {
    let settings = settings.into_s3_pairs().map_err(invalid_input_error)?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if !bucket.chars().all(is_name) {
        return Err(invalid_input_error(format!(
            "{bucket:?} is no name of a bucket: a-z, 0-9, - and . make one"
        )));
    }
    // Who has one already keeps it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_client_options(ClientOptions::new().with_timeout(PATIENCE))
        .with_retry(retry_setting())
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

/// What Azure's own command line calls its settings (`az storage --help`), where the client has other
/// names.
const AZURE_NAMES: [(&str, &str); 3] = [
    ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"),
    ("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"),
    ("AZURE_STORAGE_SERVICE_ENDPOINT", "AZURE_STORAGE_ENDPOINT"),
];
/// Parts of a connection string, and what they are called in the environment.
const CONNECTION_PARTS: [(&str, &str); 4] = [
    ("AccountName", "AZURE_STORAGE_ACCOUNT"),
    ("AccountKey", "AZURE_STORAGE_KEY"),
    ("SharedAccessSignature", "AZURE_STORAGE_SAS_TOKEN"),
    ("BlobEndpoint", "AZURE_STORAGE_ENDPOINT"),
];

fn open_azure(container: &str, settings: BucketSettings, odd: &RejectedKeys) -> OpenResult {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !container.chars().all(is_name) && container != "$web" && container != "$root" {
        return Err(invalid_input_error(format!(
            "{container:?} is no name of a container: a-z, 0-9 and - make one"
        )));
    }
    // Who has one already keeps it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = MicrosoftAzureBuilder::new()
        .with_container_name(container)
        .with_client_options(ClientOptions::new().with_timeout(PATIENCE))
        .with_retry(retry_setting())
        .with_http_connector(FilteringConnector(Arc::clone(odd)));
    let mut has_account = false;
    for (name, value) in azure_settings(settings.into_azure_pairs()) {
        let known = AZURE_NAMES.iter().find(|(theirs, _)| *theirs == name);
        let called = known.map_or(name.as_str(), |(_, called)| called);
        let Ok(key) = called.to_ascii_lowercase().parse::<AzureConfigKey>() else { continue };
        setting_check::check_setting(&name, &value).map_err(invalid_input_error)?;
        if key == AzureConfigKey::Endpoint && value.starts_with("http://") {
            builder = builder.with_allow_http(true);
        }
        has_account |= key == AzureConfigKey::AccountName;
        builder = builder.with_config(key, value);
    }
    if !has_account {
        let why = "AZURE_STORAGE_ACCOUNT is not set: whose container is it?";
        return Err(invalid_input_error(why.to_owned()));
    }
    Ok(Arc::new(builder.build()?))
}

/// Settings of an environment that are set; what a connection string says comes first, and single
/// ones count more.
fn azure_settings(settings: Vec<(String, String)>) -> Vec<(String, String)> {
    let is_ours =
        |(name, value): &(String, String)| name.starts_with("AZURE_") && !value.is_empty();
    let mut all = Vec::new();
    for (name, value) in settings.into_iter().filter(is_ours) {
        if name != "AZURE_STORAGE_CONNECTION_STRING" {
            all.push((name, value));
            continue;
        }
        let part = |part: &str| {
            let (key, value) = part.split_once('=')?;
            let (_, name) = CONNECTION_PARTS.iter().find(|(known, _)| *known == key.trim())?;
            Some(((*name).to_owned(), value.trim().to_owned()))
        };
        all.splice(0..0, value.split(';').filter_map(part));
    }
    all
}

#[cfg(test)]
mod tests {
    //! If this fails, a container is asked with the wrong key, or with none.
    use super::azure_settings;

    #[test]
    fn a_connection_string_says_what_single_settings_do_not() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let text = "DefaultEndpointsProtocol=http;AccountName=lab;AccountKey=a+b/c==;\
                    BlobEndpoint=http://127.0.0.1:10000/lab;";
        let all = azure_settings(vec![
            pair("AZURE_STORAGE_KEY", "of its own"),
            pair("AWS_ACCESS_KEY_ID", "no business of Azure's"),
            pair("AZURE_STORAGE_SAS_TOKEN", ""),
            pair("AZURE_STORAGE_CONNECTION_STRING", text),
        ]);
        assert_eq!(
            all,
            [
                pair("AZURE_STORAGE_ACCOUNT", "lab"),
                pair("AZURE_STORAGE_KEY", "a+b/c=="),
                pair("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:10000/lab"),
                pair("AZURE_STORAGE_KEY", "of its own"),
            ]
        );
    }
}
