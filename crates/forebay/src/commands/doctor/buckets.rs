//! Volumes in buckets that are mounted: whether what is written comes into them.

use std::path::{Path, PathBuf};

use forebay_volume::bucket::{UnavailableBucket, find_ailing_bucket, is_followed};
use forebay_volume::launch::lasting_mounts;

use super::super::mount::bucket_volume::{ailing_since, is_in_bucket};
use super::finding::Finding;
use super::machine_facts::MachineFacts;

pub(super) fn run_check(_: &MachineFacts) -> Finding {
    let mounts = lasting_mounts().unwrap_or_default();
    let is_ours = |tree: &Path| is_in_bucket(tree) || is_followed(tree);
    let mounted = mounts.iter().filter(|mount| is_ours(Path::new(&mount.source)));
    let all: Vec<_> = mounted
        .map(|mount| (mount.point.clone(), find_ailing_bucket(Path::new(&mount.source))))
        .collect();
    finding_for(&all)
}

fn finding_for(mounted: &[(PathBuf, Option<UnavailableBucket>)]) -> Finding {
    let told = |(point, ailing): &(PathBuf, Option<UnavailableBucket>)| {
        let UnavailableBucket { url, why, .. } = ailing.as_ref()?;
        let since = ailing_since(ailing.as_ref()?);
        Some(format!("{url} at {}: out of reach since {since}: {why}", point.display()))
    };
    let told: Vec<String> = mounted.iter().filter_map(told).collect();
    match (mounted.len(), told.is_empty()) {
        (0, _) => Finding::ok("no volume in a bucket is mounted"),
        (count, true) => Finding::ok(format!("{count} mounted, and in reach when last asked")),
        (_, false) => Finding::limited(told.join("; ")).fix_by_user(
            "let programs go on: what they write is on this machine, and goes to the bucket when \
             it answers; what is mounted --read-only shows what it saw last",
        ),
    }
}

#[cfg(test)]
mod tests {
    //! Who is not told goes on for days, and then finds everything on one disk.
    use std::time::{Duration, SystemTime};

    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn a_bucket_out_of_reach_is_named() {
        let since = SystemTime::UNIX_EPOCH + Duration::from_secs(60);
        let (url, why) = ("s3://lab/x".to_owned(), "nobody answers".to_owned());
        let well = (PathBuf::from("/a"), None);
        let ill = (PathBuf::from("/b"), Some(UnavailableBucket { url, since, why }));
        assert_eq!(finding_for(&[]).standing, CheckStatus::Ok);
        assert_eq!(finding_for(std::slice::from_ref(&well)).standing, CheckStatus::Ok);
        let found = finding_for(&[well, ill]);
        let means = "s3://lab/x at /b: out of reach since 1970-01-01 00:01 UTC: nobody answers";
        assert_eq!((found.standing, found.means.as_str()), (CheckStatus::Limited, means));
    }
}
