//! What helps where something can't be attached, or is attached and can't be shown.

use std::io::ErrorKind;

use forebay_objstore::Failed;
use forebay_reads::Kind;
use forebay_volume::reads::ReadsError;

use super::super::mount::bucket::next_of_bucket;

/// What helps where a bucket can't be attached.
pub(super) fn next_of_failed(failed: &Failed) -> &'static str {
    match failed.kind {
        ErrorKind::PermissionDenied => {
            "attaching lists and reads: is AWS_ACCESS_KEY_ID of one who may? \
             AWS_SKIP_SIGNATURE=true is for public buckets"
        }
        _ => next_of_bucket(failed),
    }
}

/// What helps where reads can't be shown.
pub(in crate::commands) fn next_of_reads(trouble: &ReadsError) -> &'static str {
    if let Some(kind) = trouble.bucket {
        return next_of_failed(&Failed { kind, why: trouble.why.clone() });
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
