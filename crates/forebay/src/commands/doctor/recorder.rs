//! Which recorders work: the mount is tried by the trial run, the kernel's programs are loaded here,
//! and one process watches another.

use forebay_volume::kernel_events::{self, RecorderUnavailable};
use forebay_volume::notifications::{self, NotifyUnavailable};

use super::finding::Finding;
use super::machine_facts::MachineFacts;

pub(super) fn run_check(_: &MachineFacts) -> Finding {
    finding_for(kernel_events::probe(), notifications::probe())
}

fn finding_for(
    bpf: Result<(), RecorderUnavailable>,
    notify: Result<(), NotifyUnavailable>,
) -> Finding {
    match (bpf, notify) {
        (Ok(()), Ok(())) => Finding::ok(
            "`forebay run --recorder bpf` and `notify` leave the directory bare; `auto` takes bpf; \
             `fuse`, which rules need, is the default",
        ),
        (Ok(()), Err(why)) => Finding::ok(format!(
            "`forebay run --recorder bpf` records from the kernel and leaves the directory bare; \
             notify is not to be had, for {why}; `fuse`, which rules need, is the default"
        )),
        (Err(why), Ok(())) => {
            let found = Finding::ok(format!(
                "`forebay run --recorder notify` leaves the directory bare, and `auto` takes it; bpf \
                 is not to be had, for {why}; `fuse`, which rules need, is the default"
            ));
            mend_bpf(found, &why)
        }
        (Err(why), Err(neither)) => {
            let found = Finding::limited(format!(
                "`--recorder fuse` alone: bpf is not to be had, for {why}; nor is notify, for \
                 {neither}"
            ));
            mend_notify(mend_bpf(found, &why), &neither)
        }
    }
}

fn mend_bpf(found: Finding, why: &RecorderUnavailable) -> Finding {
    match why {
        RecorderUnavailable::NotBuilt => {
            found.fix_by_user("for bpf: build it anew where clang is installed")
        }
        RecorderUnavailable::NoBtf => found.fix_by_admin(
            "for bpf: a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions have it",
        ),
        RecorderUnavailable::PidNamespace => {
            found.fix_by_user("for bpf: run outside the container, or with --pid host")
        }
        RecorderUnavailable::NotPermitted => {
            found.fix_by_user("nothing to mend; root can also use bpf, which costs less")
        }
        RecorderUnavailable::Refused(_) => {
            found.fix_by_admin("for bpf: Linux 5.17 or newer, without lockdown=confidentiality")
        }
    }
}

fn mend_notify(found: Finding, why: &NotifyUnavailable) -> Finding {
    match why {
        NotifyUnavailable::NotKnown => {
            found.fix_by_admin("for notify: Linux 5.5 or newer with CONFIG_SECCOMP_FILTER=y")
        }
        NotifyUnavailable::Taken => {
            found.fix_by_user("for notify: start it outside of the program that watches already")
        }
        NotifyUnavailable::Killed | NotifyUnavailable::Refused(_) => found
            .fix_by_user("for notify: run outside the sandbox, or with its seccomp profile off"),
        NotifyUnavailable::Unreadable => {
            found.fix_by_admin("for notify: sysctl kernel.yama.ptrace_scope=0, or run it as root")
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
        assert_eq!(finding_for(Ok(()), Ok(())).standing, CheckStatus::Ok);
        let lockdown = Refused("Operation not permitted".to_owned());
        for (why, word) in [
            (NotBuilt, "clang"),
            (NoBtf, "BTF"),
            (PidNamespace, "namespace"),
            (NotPermitted, "CAP_BPF"),
            (lockdown, "not permitted"),
        ] {
            let found = finding_for(Err(why), Err(NotifyUnavailable::Taken));
            assert_eq!(found.standing, CheckStatus::Limited);
            assert!(found.means.contains(word) && found.fixes.len() == 2, "{found:?}");
        }
    }

    #[test]
    fn one_that_leaves_the_directory_bare_is_enough() {
        use NotifyUnavailable::{Killed, NotKnown, Taken, Unreadable};
        let found = finding_for(Err(RecorderUnavailable::NotPermitted), Ok(()));
        assert_eq!(found.standing, CheckStatus::Ok);
        assert!(found.means.contains("`auto` takes it"), "{found:?}");
        for (why, word) in
            [(Killed, "kills"), (NotKnown, "5.5"), (Taken, "above"), (Unreadable, "ptrace_scope")]
        {
            let found = finding_for(Ok(()), Err(why));
            assert_eq!(found.standing, CheckStatus::Ok);
            assert!(found.means.contains(word), "{found:?}");
        }
    }
}
