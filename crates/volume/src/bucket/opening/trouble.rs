//! Why a volume can't be opened, in words.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::super::writer::Writer;
use forebay_objstore::Failed;

/// Why a volume can't be opened.
#[derive(Debug)]
pub enum Trouble {
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

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Bucket(failed) => failed.fmt(f),
            Trouble::State(path, error) => write!(f, "{}: {error}", path.display()),
            Trouble::Taken(writer) => write!(f, "{} has it mounted", writer.host),
            Trouble::Outdated(path) => write!(
                f,
                "another machine has written it since it was mounted here, and files in {} are \
                 not in it",
                path.display()
            ),
            Trouble::NoConditions => f.write_str(
                "its store writes over an object though it was asked to write only where none is \
                 (If-None-Match), so two machines could write one volume, and each would lose files",
            ),
            Trouble::NoVolume(None) => write!(f, "it has no volume"),
            Trouble::Foreign(name) | Trouble::NoVolume(Some(name)) => {
                write!(f, "it has {name}, and is no volume")
            }
        }
    }
}

impl std::error::Error for Trouble {}

impl From<Failed> for Trouble {
    fn from(failed: Failed) -> Trouble {
        Trouble::Bucket(failed)
    }
}
