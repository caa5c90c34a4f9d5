//! What is in the way of a volume in a bucket, in words, and what can be done.

use std::io::ErrorKind;

use forebay_volume::bucket::BucketError;

use crate::exit::{CommandError, NOTHING_RUN};
use crate::next_steps::bucket_next_step;

/// Why it can't be mounted, in words.
pub(in crate::commands) fn explain_bucket_error(url: &str, trouble: &BucketError) -> CommandError {
    let what = format!("{url} can't be mounted: {trouble}");
    CommandError::new(
        NOTHING_RUN,
        what,
        format!("{}; nothing was mounted", mount_next_step(trouble)),
    )
}

/// What can be done about it.
pub(in crate::commands) fn mount_next_step(trouble: &BucketError) -> String {
    match trouble {
        BucketError::Bucket(failed) => bucket_next_step(failed).to_owned(),
        BucketError::State(_, error) if error.kind() == ErrorKind::ResourceBusy => {
            "it is mounted on this machine already; `forebay unmount` ends that".to_owned()
        }
        BucketError::State(..) => "name another directory with --state".to_owned(),
        BucketError::Taken(writer) => format!(
            "unmount it there (mounted {}); if that machine is gone: --take-over, and what had not \
             come into the bucket yet is there alone",
            format_utc_minute(writer.since)
        ),
        BucketError::Outdated(path) => {
            let path = path.display();
            format!("copy what you need out of {path}, then remove it, or name another --state")
        }
        BucketError::NoConditions => {
            "take a store that knows conditional writes, or a newer version of \
                                  this one; reading alone (--read-only) needs none"
                .to_owned()
        }
        BucketError::Foreign(_) => "name a prefix that has nothing yet".to_owned(),
        BucketError::NoVolume(Some(_)) => "name the prefix of a volume".to_owned(),
        BucketError::NoVolume(None) => {
            "name the prefix of a volume; without --read-only, mounting makes one".to_owned()
        }
    }
}

/// A moment, in words.
pub(in crate::commands) fn format_utc_minute(since: i64) -> String {
    let (year, month, day) = forebay_model::civil_from_days(since.div_euclid(86_400));
    let second = since.rem_euclid(86_400);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", second / 3600, second / 60 % 60)
}
