//! What helps where a bucket can't be had, or reads can't be shown.

use std::io::ErrorKind;

use forebay_objstore::{NO_KEYS, RequestError};
use forebay_reads::Kind;
use forebay_volume::reads::ReadsError;

/// What can be done about what a bucket says.
pub(crate) fn bucket_next_step(failed: &RequestError) -> &'static str {
    match failed.kind {
        _ if failed.why == NO_KEYS => {
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; for az://, AZURE_STORAGE_ACCOUNT and \
             AZURE_STORAGE_KEY"
        }
        _ if failed.why.contains("RequestTimeTooSkewed") => {
            "set this machine's clock: the bucket's is more than 15 minutes away"
        }
        _ if failed.why.contains("ExpiredToken") => "renew your credentials",
        _ if failed.why.contains("No CA certificates") => {
            "install the package ca-certificates, or name a file of certificates in SSL_CERT_FILE"
        }
        ErrorKind::InvalidInput => {
            "name s3://BUCKET/PREFIX, with the settings of AWS's own tools, or az://CONTAINER/PREFIX, \
             with AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY"
        }
        ErrorKind::NotFound => {
            "is it the right bucket, and AWS_REGION or AWS_ENDPOINT_URL, or AZURE_STORAGE_ACCOUNT?"
        }
        ErrorKind::PermissionDenied => {
            "a volume lists, writes, reads and deletes: is AWS_ACCESS_KEY_ID of one who may? \
             (for az:// AZURE_STORAGE_KEY)"
        }
        ErrorKind::InvalidData => "a newer Forebay may have written it, or it was changed",
        ErrorKind::AlreadyExists => "another machine has just mounted it",
        _ => {
            "is the network there, and AWS_ENDPOINT_URL or AZURE_STORAGE_ENDPOINT set if it is not \
              the usual one?"
        }
    }
}

/// What helps where a bucket can't be attached.
pub(crate) fn attach_next_step(failed: &RequestError) -> &'static str {
    match failed.kind {
        ErrorKind::PermissionDenied => {
            "attaching lists and reads: is AWS_ACCESS_KEY_ID of one who may? (for az:// \
             AZURE_STORAGE_KEY) \
             AWS_SKIP_SIGNATURE=true is for public buckets"
        }
        _ => bucket_next_step(failed),
    }
}

/// What helps where reads can't be shown.
pub(crate) fn reads_next_step(trouble: &ReadsError) -> &'static str {
    if let Some(kind) = trouble.bucket {
        return attach_next_step(&RequestError { kind, why: trouble.why.clone() });
    }
    match trouble.kind {
        Kind::Changed | Kind::Damaged | Kind::Unknown if trouble.plain => {
            "`forebay detach` it and attach it again: it is read anew"
        }
        Kind::Request if trouble.plain => {
            "`forebay reads pack` takes more (FILE -o x.reads), and x.reads can be attached"
        }
        Kind::Input if trouble.plain => "`gzip -t` or `samtools quickcheck -u` says more of it",
        Kind::Damaged => {
            "`forebay reads verify` tells all that is damaged; fetch those files again, or pack the \
             reads again"
        }
        Kind::Unknown => "use a newer Forebay",
        Kind::Request => "`forebay reads info` says what is in it",
        Kind::Changed => "ask again: another archive is there now, or none",
        Kind::Input | Kind::Io => "see that it is there, and yours to read",
    }
}
