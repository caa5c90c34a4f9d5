//! Wake-ups: each operation on a managed directory wakes two threads, so it takes as long as CPUs
//! need for that.

use std::io;

use forebay_os::fast_wake::FastWake;

use super::finding::Finding;
use super::here::Here;

pub(super) fn look(here: &Here) -> Finding {
    judge(here.root, FastWake::can())
}

fn judge(root: bool, can: io::Result<()>) -> Finding {
    match can {
        Ok(()) => Finding::ok(
            "CPUs stay awake while many operations follow each other (--cpu-latency system leaves \
             them as they are)",
        ),
        Err(_) if !root => Finding::limited(
            "the kernel lets root alone keep CPUs awake: small operations take longer",
        )
        .you(
            "nothing to mend; as root (and in containers with /dev/cpu_dma_latency) they take less",
        ),
        Err(error) => Finding::limited(format!(
            "CPUs can't be kept awake ({error}): small operations take longer"
        ))
        .you("in a container, add --device /dev/cpu_dma_latency"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Standing;
    use super::*;

    #[test]
    fn says_who_may() {
        let refused = || Err(io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(judge(true, Ok(())).standing, Standing::Ok);
        assert!(judge(false, refused()).means.contains("root alone"));
        assert!(judge(true, refused()).fixes[0].what.contains("--device"));
    }
}
