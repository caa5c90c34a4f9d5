//! Wake-ups: each operation on a managed directory wakes two threads, so it takes as long as CPUs
//! need for that.

use std::io;

use forebay_os::fast_wake::FastWake;

use super::finding::Finding;
use super::machine_facts::MachineFacts;

pub(super) fn run_check(here: &MachineFacts) -> Finding {
    finding_for(here.root, FastWake::check_permission())
}

fn finding_for(root: bool, can: io::Result<()>) -> Finding {
    match can {
        Ok(()) => Finding::ok(
            "CPUs stay awake while many operations follow each other (--cpu-latency system leaves \
             them as they are)",
        ),
        Err(_) if !root => Finding::limited(
            "the kernel lets root alone keep CPUs awake: small operations take longer",
        )
        .fix_by_user(
            "nothing to mend; as root (and in containers with /dev/cpu_dma_latency) they take less",
        ),
        Err(error) => Finding::limited(format!(
            "CPUs can't be kept awake ({error}): small operations take longer"
        ))
        .fix_by_user("in a container, add --device /dev/cpu_dma_latency"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn says_who_may() {
        let refused = || Err(io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(finding_for(true, Ok(())).standing, CheckStatus::Ok);
        assert!(finding_for(false, refused()).means.contains("root alone"));
        assert!(finding_for(true, refused()).fixes[0].what.contains("--device"));
    }
}
