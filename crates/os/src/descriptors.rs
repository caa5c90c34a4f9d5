//! How many files this process may have open: it has one for each that programs have, of all
//! together, and some more.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Nobody needs more, and some systems allow a thousand times as many.
const ENOUGH: u64 = 1 << 20;

/// Takes as many as there are: root up to what the kernel gives to any process.
pub fn raise_open_file_limit() {
    let hard = getrlimit(Resource::Nofile).maximum;
    let kernel = std::fs::read_to_string("/proc/sys/fs/nr_open").ok();
    let kernel =
        kernel.and_then(|text| text.trim().parse::<u64>().ok()).map(|most| most.min(ENOUGH));
    let take = |most| setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).is_ok();
    // Beyond the hard limit goes only who has CAP_SYS_RESOURCE, up to there everybody.
    if hard.is_some() && kernel > hard && take(kernel) {
        return;
    }
    if !take(hard) {
        tracing::error!("the limit of open files can't be raised to the hard one, {hard:?}");
    }
}

/// Closes all descriptors from `first` to `last`. Nothing else is open on a kernel that does not know
/// how. Source: close_range(2), which not every C library has as a function.
///
/// # Safety
/// Nothing may own one of them.
pub unsafe fn close_descriptor_range(first: libc::c_uint, last: libc::c_uint) {
    // SAFETY: plain numbers; the caller answers for the rest.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
}

/// Says that there are no more.
pub fn report_open_file_limit() {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    tracing::error!(
        "programs got \"Too many open files\": all of them together can have about {limit} open \
         here, the hard limit of open files (`ulimit -Hn`); raise it, see `forebay doctor`"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_taken_that_may_be() {
        let hard = getrlimit(Resource::Nofile).maximum;
        raise_open_file_limit();
        let now = getrlimit(Resource::Nofile);
        assert_eq!(now.current, now.maximum);
        assert!(now.maximum >= hard || now.maximum.is_none(), "{now:?}");
    }
}
