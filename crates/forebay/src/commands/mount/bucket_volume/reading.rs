//! A volume in a bucket that others write, and that is read here alone.

use std::io::ErrorKind;
use std::time::Duration;

use forebay_volume::bucket::{BucketError, ReplicaOptions, directory_name_for};

use super::{Options, mount_next_step, patience_or_default};
use crate::exit::{CommandError, NOTHING_RUN};
use crate::{placement, state_directories};

/// Between two looks, where nobody says another.
const USUAL: Duration = Duration::from_secs(5);
/// More often is a load on the bucket, and no faster: a writer's cuts come less often.
const LEAST: Duration = Duration::from_millis(100);

/// What is to be followed.
pub(super) fn volume_to_follow(
    url: &str,
    options: Options,
) -> Result<ReplicaOptions, CommandError> {
    let Options { state, patience, every, .. } = options;
    let every = every.map_or(USUAL, Duration::from);
    if every < LEAST {
        let next = "name 100 ms or more; nothing was mounted";
        return Err(CommandError::new(NOTHING_RUN, "--every: looks would come too often", next));
    }
    let is_named = state.is_some();
    let state = match state {
        Some(state) => std::path::absolute(&state).unwrap_or(state),
        None => state_directories::state_file(&format!("followed/{}", directory_name_for(url)))?,
    };
    Ok(ReplicaOptions {
        url: url.to_owned(),
        settings: placement::bucket_settings(),
        state,
        is_named,
        every,
        patience: patience_or_default(patience),
    })
}

/// An ordinary directory is not followed.
pub(in super::super) fn refuse_reading() -> CommandError {
    let what = "--read-only is for volumes in a bucket: s3://BUCKET/PREFIX";
    let next = "`mount -o bind,ro` shows a directory read-only; nothing was mounted";
    CommandError::new(NOTHING_RUN, what, next)
}

/// Why it can't be followed, in words.
pub(in super::super) fn explain_reading(url: &str, trouble: &BucketError) -> CommandError {
    let next = match trouble {
        BucketError::Bucket(failed)
            if failed.kind == ErrorKind::PermissionDenied
                && !["ExpiredToken", "RequestTimeTooSkewed"]
                    .iter()
                    .any(|code| failed.why.contains(code)) =>
        {
            "a reader lists and reads: is AWS_ACCESS_KEY_ID of one who may?".to_owned()
        }
        trouble => mount_next_step(trouble),
    };
    let what = format!("{url} can't be followed: {trouble}");
    CommandError::new(NOTHING_RUN, what, format!("{next}; nothing was mounted"))
}
