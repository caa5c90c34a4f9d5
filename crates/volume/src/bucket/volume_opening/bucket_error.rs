//! Why a volume can't be opened, in words.

use std::io;
use std::path::PathBuf;

use super::super::writer_note::VolumeWriter;
use forebay_objstore::RequestError;

/// Why a volume can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// What the bucket said.
    #[error("{0}")]
    Bucket(#[from] RequestError),
    /// The directory for what is kept here.
    #[error("{}: {_1}", _0.display())]
    State(PathBuf, io::Error),
    /// Another machine writes it.
    #[error("{} has it mounted", _0.host)]
    Taken(VolumeWriter),
    /// Another machine has written it since this one did, and not all that is here is there.
    #[error(
        "another machine has written it since it was mounted here, and files in {} are not in it",
        _0.display()
    )]
    Outdated(PathBuf),
    /// The store does not look at conditions, which keep two writers apart.
    #[error(
        "its store writes over an object though it was asked to write only where none is \
         (If-None-Match), so two machines could write one volume, and each would lose files"
    )]
    NoConditions,
    /// There are objects that are no volume's, such as this.
    #[error("it has {0}, and is no volume")]
    Foreign(String),
    /// There is none to read: nothing is there, or objects that are no volume's, such as this.
    #[error("{}", no_volume(_0.as_deref()))]
    NoVolume(Option<String>),
}

fn no_volume(found: Option<&str>) -> String {
    match found {
        None => "it has no volume".to_owned(),
        Some(name) => format!("it has {name}, and is no volume"),
    }
}
