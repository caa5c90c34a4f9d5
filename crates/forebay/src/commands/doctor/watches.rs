//! inotify: watched directories let the kernel remember names for long.

use super::finding::Finding;
use super::machine_facts::{MachineFacts, read_sysctl};
use crate::console;

/// Fewer directories than this, and a larger pipeline notices.
const FEW: u64 = 16_384;

pub(super) fn run_check(_: &MachineFacts) -> Finding {
    finding_for(
        read_sysctl("fs/inotify/max_user_watches"),
        read_sysctl("fs/inotify/max_user_instances"),
    )
}

fn finding_for(watches: Option<u64>, instances: Option<u64>) -> Finding {
    let Some(watches) = watches else {
        return Finding::limited("the kernel has no inotify: names are looked up once a second")
            .fix_by_admin("a kernel with CONFIG_INOTIFY_USER=y");
    };
    if instances.is_some_and(|instances| instances < 16) {
        return Finding::limited("hardly any inotify instance: other programs may take them all")
            .fix_by_admin("sysctl -w fs.inotify.max_user_instances=128");
    }
    if watches < FEW {
        let watches = console::group_thousands(watches);
        return Finding::limited(format!(
            "{watches} for this user, half of them for a run; names in further directories are \
             looked up once a second, which is slower"
        ))
        .fix_by_admin("sysctl -w fs.inotify.max_user_watches=524288");
    }
    Finding::ok(format!(
        "{} for this user, half of them for a run",
        console::group_thousands(watches)
    ))
}

#[cfg(test)]
mod tests {
    //! Too few watches make Trinity's 114,000 failing look-ups slow, and nobody would know why.
    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn few_and_many() {
        assert_eq!(finding_for(Some(192_505), Some(128)).standing, CheckStatus::Ok);
        assert_eq!(finding_for(Some(8192), Some(128)).standing, CheckStatus::Limited);
        assert_eq!(finding_for(Some(192_505), Some(4)).standing, CheckStatus::Limited);
        assert_eq!(finding_for(None, None).standing, CheckStatus::Limited);
    }
}
