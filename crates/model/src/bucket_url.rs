//! How people name a bucket: by a URL, where a directory could stand.

/// Each kind of storage that is spoken to, as its URLs begin. `forebay-objstore` opens them.
pub const BUCKET_SCHEMES: [&str; 2] = ["s3://", "az://"];

/// Whether this names a bucket, or a prefix of one, and no directory.
#[must_use]
pub fn is_bucket_url(text: &str) -> bool {
    strip_bucket_scheme(text).is_some()
}

/// What follows the scheme: the bucket, and perhaps a prefix. `None`: it is no bucket's URL.
#[must_use]
pub fn strip_bucket_scheme(text: &str) -> Option<&str> {
    BUCKET_SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme))
}

/// Where the first URL of a bucket begins in a text.
#[must_use]
pub fn find_bucket_url(text: &str) -> Option<usize> {
    BUCKET_SCHEMES.iter().filter_map(|scheme| text.find(scheme)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_of_all_kinds_are_told_from_directories() {
        assert!(is_bucket_url("s3://lab/x") && is_bucket_url("az://lab"));
        assert!(!is_bucket_url("/data/s3://lab") && !is_bucket_url("gs://lab"));
        assert_eq!(strip_bucket_scheme("az://lab/x"), Some("lab/x"));
        assert_eq!(find_bucket_url("a,az://lab/x,s3://lab"), Some(2));
        assert_eq!(find_bucket_url("a,/lab"), None);
    }
}
