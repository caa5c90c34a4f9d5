//! Files that have to stay where they are.

use std::path::PathBuf;

/// A file that is not at home yet.
#[derive(Debug, Clone)]
pub struct LeftBehindFile {
    /// Where its link is, below the covered directory.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}
