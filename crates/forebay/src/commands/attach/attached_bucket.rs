//! Buckets that are attached: how they are reached, and what can be in the way.

use std::path::Path;

use forebay_model::attached::{ExposedContent, ExposedReads};
use forebay_model::bucket_url::is_bucket_url;
use forebay_volume::bucket::{BucketAccess, BucketError};
use forebay_volume::overmount::RefusedDirectory;
use forebay_volume::reads::{PrefixContent, classify_prefix};

use super::attached_reads;
use crate::exit::{CommandError, NOTHING_RUN};
use crate::next_steps::{attach_next_step, reads_next_step};
use crate::{placement, state_directories};

const OR: &str = "; or `forebay detach` it";

/// How attached buckets are reached, and where what is read of them is kept.
pub(in crate::commands) fn attached_bucket_access() -> Result<BucketAccess, CommandError> {
    Ok(BucketAccess {
        settings: placement::bucket_settings(),
        state: state_directories::state_file("attached")?,
    })
}

/// A URL without the slashes that it may end in.
pub(super) fn without_trailing_slashes(url: &str) -> &str {
    let plain = url.trim_end_matches('/');
    if is_bucket_url(plain) { plain } else { url }
}

/// What of a prefix is to be shown: of an archive its reads, of others all objects. One that can't
/// be listed, or has nothing, is refused.
pub(super) fn view_of_bucket(
    url: &str,
    shown: ExposedReads,
) -> Result<ExposedContent, CommandError> {
    let refuse = |why: &str, next: &str| {
        let next = format!("{next}; nothing was attached");
        CommandError::new(1, format!("{url} can't be attached: {why}"), next)
    };
    match classify_prefix(url, placement::bucket_settings()) {
        Ok(holds @ (PrefixContent::Files | PrefixContent::Archive)) => {
            attached_reads::view_of_source(Path::new(url), holds == PrefixContent::Archive, shown)
        }
        Ok(PrefixContent::Nothing) => Err(refuse(
            "nothing in the bucket has a name that begins so",
            "check the prefix: it ends where a folder does; an object is shown in the folder that it \
             lies in",
        )),
        Err(failed) => Err(refuse(&failed.why, attach_next_step(&failed))),
    }
}

/// Why what is attached can't be shown, in words.
pub(in crate::commands) fn explain_refusal(refusal: &RefusedDirectory) -> CommandError {
    let inner = refusal.error.get_ref();
    let of_bucket = inner.and_then(|inner| inner.downcast_ref::<BucketError>());
    let of_reads =
        inner.and_then(|inner| inner.downcast_ref::<forebay_volume::reads::ReadsError>());
    let next = match (of_bucket, of_reads) {
        (Some(BucketError::Bucket(failed)), _) => attach_next_step(failed).to_owned() + OR,
        (_, Some(trouble)) => reads_next_step(trouble).to_owned() + OR,
        _ => "make it, or mount what belongs there, or `forebay detach` it".to_owned(),
    };
    let (path, error) = (refusal.path.display(), &refusal.error);
    let what = format!("{path}, which is attached, can't be shown: {error}");
    CommandError::new(NOTHING_RUN, what, format!("{next}; nothing was run"))
}
