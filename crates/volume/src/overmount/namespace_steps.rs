//! A step on the way into a namespace that failed, and paths to what is open there.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Where the way in was closed.
#[derive(Debug)]
pub struct NamespaceError {
    /// What was tried, in words for a person.
    pub step: String,
    /// The system's word.
    pub error: io::Error,
}

pub(super) fn at_step<E: Into<io::Error>>(
    step: impl Into<String>,
) -> impl FnOnce(E) -> NamespaceError {
    let step = step.into();
    move |error| NamespaceError { step, error: error.into() }
}

/// A path that leads to what is open, and nowhere else.
pub(super) fn self_fd_path(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}
