//! The directories that are attached to a volume: their list on the disk, and what it takes to
//! show them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use forebay_model::Attached;

use super::{Mount, Refusal, Target, target};

/// The list, in a volume.
pub const LIST: &str = ".forebay/attached.toml";

/// What is attached to a volume; nothing if it has no list.
///
/// # Errors
/// A list that can't be read, or that is no list; the message says where.
pub fn read_attached(volume: &Path) -> io::Result<Attached> {
    let list = volume.join(LIST);
    let text = match fs::read_to_string(&list) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Attached::default()),
        Err(error) => return Err(error),
    };
    Attached::parse(&text, &list.display().to_string()).map_err(io::Error::other)
}

/// Replaces the list of a volume, whole or not at all.
///
/// # Errors
/// The system's; paths that are no Unicode.
pub fn write_attached(volume: &Path, attached: &Attached) -> io::Result<()> {
    let text = attached.render().ok_or_else(|| {
        io::Error::other("a path is no Unicode text, which the list of attached directories is")
    })?;
    crate::tiers::make_own(&volume.join(crate::tiers::OWN))?;
    let list = volume.join(LIST);
    if attached.iter().next().is_none() {
        return fs::remove_file(&list);
    }
    let fresh = list.with_extension(format!("toml.{}", std::process::id()));
    let mut file = File::create(&fresh)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&fresh, &list));
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written
}

/// What shows the directories that are attached to `volume`.
pub(super) fn targets(volume: &Path, all: &[Mount]) -> Result<Vec<Target>, Refusal> {
    let refuse = |path: PathBuf| move |error| Refusal { path, attached: true, error };
    let attached = read_attached(volume).map_err(refuse(volume.join(LIST)))?;
    let show = |one: &forebay_model::Attachment| {
        let point = volume.join(&one.at);
        if !fs::symlink_metadata(&point).is_ok_and(|meta| meta.is_dir()) {
            let why = "a directory is attached here, and there is no directory to show it in";
            return Err(refuse(point)(io::Error::other(why)));
        }
        let found = one.source.canonicalize().and_then(|source| target(&source, all));
        let found = found.map_err(refuse(one.source.clone()))?;
        let read_only = found.read_only || one.read_only;
        Ok(Target { point, read_only, attached: true, ..found })
    };
    attached.iter().map(show).collect()
}
