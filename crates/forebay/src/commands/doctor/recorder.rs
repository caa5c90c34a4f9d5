//! Which recorders work: the mount is tried by the trial run, the kernel's programs are loaded here.

use forebay_volume::kernel_events::{self, RecorderUnavailable};

use super::finding::Finding;
use super::machine_facts::MachineFacts;

pub(super) fn run_check(_: &MachineFacts) -> Finding {
    finding_for(kernel_events::probe())
}

fn finding_for(can: Result<(), RecorderUnavailable>) -> Finding {
    let Err(why) = can else {
        return Finding::ok(
            "`forebay run --recorder bpf` records from the kernel and leaves the directory bare; \
             `--recorder fuse`, which rules need, is the default",
        );
    };
    let found =
        Finding::limited(format!("`--recorder fuse` alone: bpf is not to be had, for {why}"));
    match why {
        RecorderUnavailable::NotBuilt => {
            found.fix_by_user("build it anew where clang is installed")
        }
        RecorderUnavailable::NoBtf => {
            found.fix_by_admin("a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions have it")
        }
        RecorderUnavailable::PidNamespace => {
            found.fix_by_user("run outside the container, or with --pid host")
        }
        RecorderUnavailable::NotPermitted => {
            found.fix_by_user("nothing to mend; as root runs can leave the directory bare")
        }
        RecorderUnavailable::Refused(_) => {
            found.fix_by_admin("Linux 5.17 or newer, without lockdown=confidentiality")
        }
    }
}

#[cfg(test)]
mod tests {
    //! People choose recorders by this line.
    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn says_why_not_and_who_mends_it() {
        use RecorderUnavailable::{NoBtf, NotBuilt, NotPermitted, PidNamespace, Refused};
        assert_eq!(finding_for(Ok(())).standing, CheckStatus::Ok);
        let lockdown = Refused("Operation not permitted".to_owned());
        for (why, word) in [
            (NotBuilt, "clang"),
            (NoBtf, "BTF"),
            (PidNamespace, "namespace"),
            (NotPermitted, "CAP_BPF"),
            (lockdown, "not permitted"),
        ] {
            let found = finding_for(Err(why));
            assert_eq!(found.standing, CheckStatus::Limited);
            assert!(found.means.contains(word) && found.fixes.len() == 1, "{found:?}");
        }
    }
}
