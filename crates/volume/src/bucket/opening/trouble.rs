//! Why a volume can't be opened, in words.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::super::writer::Writer;
use forebay_objstore::Failed;

/// Why a volume can't be opened.
#[derive(Debug)]
pub enum BucketError {
    /// What the bucket said.
    Bucket(Failed),
    /// The directory for what is kept here.
    State(PathBuf, io::Error),
    /// Another machine writes it.
    Taken(Writer),
    /// Another machine has written it since this one did, and not all that is here is there.
    Outdated(PathBuf),
    /// The store does not look at conditions, which keep two writers apart.
    NoConditions,
    /// There are objects that are no volume's.
    Foreign(String),
    /// There is none to read: nothing is there, or objects that are no volume's, such as this.
    NoVolume(Option<String>),
}

impl fmt::Display for BucketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BucketError::Bucket(failed) => failed.fmt(f),
            BucketError::State(path, error) => write!(f, "{}: {error}", path.display()),
            BucketError::Taken(writer) => write!(f, "{} has it mounted", writer.host),
            BucketError::Outdated(path) => write!(
                f,
                "another machine has written it since it was mounted here, and files in {} are \
                 not in it",
                path.display()
            ),
            BucketError::NoConditions => f.write_str(
                "its store writes over an object though it was asked to write only where none is \
                 (If-None-Match), so two machines could write one volume, and each would lose files",
            ),
            BucketError::NoVolume(None) => write!(f, "it has no volume"),
            BucketError::Foreign(name) | BucketError::NoVolume(Some(name)) => {
                write!(f, "it has {name}, and is no volume")
            }
        }
    }
}

impl std::error::Error for BucketError {}

impl From<Failed> for BucketError {
    fn from(failed: Failed) -> BucketError {
        BucketError::Bucket(failed)
    }
}
