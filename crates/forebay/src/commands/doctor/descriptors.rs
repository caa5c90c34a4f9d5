//! Open files: the daemon holds one for each file that programs hold, and some more.

use rustix::process::{Resource, geteuid, getrlimit};

use super::finding::Finding;
use super::machine_facts::MachineFacts;
use crate::console;

/// Fewer than this, and programs with many files get EMFILE.
const FEW: u64 = 4096;
/// What root's daemon takes.
const ROOTS: u64 = 1 << 20;

pub(super) fn run_check(_: &MachineFacts) -> Finding {
    let limit = getrlimit(Resource::Nofile);
    // Root's daemon goes beyond the hard limit.
    let most = |hard: u64| if geteuid().is_root() { hard.max(ROOTS) } else { hard };
    finding_for(limit.current, limit.maximum.map(most))
}

/// The soft limit binds programs; the daemon raises its own to the hard one, or beyond.
fn finding_for(soft: Option<u64>, hard: Option<u64>) -> Finding {
    let text = |limit: Option<u64>| limit.map_or("any number".to_owned(), console::group_thousands);
    let (programs, daemon) = (text(soft), text(hard));
    if hard.is_some_and(|hard| hard < FEW) {
        return Finding::limited(format!(
            "{daemon} at most: all programs of a run together can't hold more open"
        ))
        .fix_by_admin("`* hard nofile 1048576` in /etc/security/limits.conf, then log in again");
    }
    Finding::ok(format!("{programs} for each program, {daemon} for the daemon"))
}

#[cfg(test)]
mod tests {
    //! A limit that is met at file 4,000 of a gather step looks like a bug of ours.
    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn the_hard_limit_counts() {
        let found = finding_for(Some(1024), Some(1_048_576));
        assert_eq!(found.means, "1,024 for each program, 1,048,576 for the daemon");
        assert_eq!(finding_for(Some(1024), Some(1024)).standing, CheckStatus::Limited);
        assert_eq!(finding_for(None, None).standing, CheckStatus::Ok);
    }
}
