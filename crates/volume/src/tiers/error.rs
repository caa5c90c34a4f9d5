//! Why tiers can't be used.

use std::io;
use std::path::{Path, PathBuf};

/// Why the tiers of a directory can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{step} {}: {error}", path.display())]
pub struct TierError {
    /// The file or directory that it is about.
    pub path: PathBuf,
    /// What was tried.
    pub step: &'static str,
    /// The system's word.
    pub error: io::Error,
}

impl TierError {
    pub(super) fn with_context(
        path: &Path,
        step: &'static str,
    ) -> impl FnOnce(io::Error) -> TierError {
        move |error| TierError { path: path.to_owned(), step, error }
    }

    /// There is no room for what was tried.
    pub(super) fn is_full(&self) -> bool {
        matches!(self.error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}
