//! Storages that people name by a URL and Forebay does not speak to.

use std::path::Path;

use forebay_model::bucket_url::is_bucket_url;

use crate::exit::CommandError;

/// How each is called, and how it begins.
const KNOWN: [(&str, &[&str]); 3] = [
    ("Google Cloud Storage", &["gs", "gcs"]),
    ("this way to name Azure's storage", &["azure", "abfs", "abfss", "wasb", "wasbs"]),
    ("a web address", &["http", "https", "ftp", "sftp"]),
];

/// Refuses what begins as a URL does and is no bucket that is spoken to. A path may have a colon, but none
/// that is there is refused.
pub(crate) fn refuse_foreign_url(place: &Path, code: i32) -> Result<(), CommandError> {
    let Some((scheme, _)) = place.to_str().and_then(|place| place.split_once("://")) else {
        return Ok(());
    };
    let is_scheme = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric());
    if !is_scheme || is_bucket_url(&format!("{scheme}://")) || place.exists() {
        return Ok(());
    }
    let what = KNOWN.iter().find(|(_, schemes)| schemes.contains(&scheme));
    let what = what.map_or_else(|| format!("{scheme}://"), |(name, _)| (*name).to_owned());
    let message =
        format!("{}: {what} is not supported; directories, s3:// and az:// are", place.display());
    let next = "a service that speaks S3, too (Google's does): s3://BUCKET/PREFIX, with its address \
                in AWS_ENDPOINT_URL; Azure's: az://CONTAINER/PREFIX; another: mount it by its own \
                tool, and name the directory";
    Err(CommandError::new(code, message, next))
}
