//! What an earlier try left in the directory of an archive.

use std::fs;
use std::path::Path;

use crate::error::{Error, Kind, Result};
use crate::layout::is_data_object;
use crate::manifest::{INDEX, Manifest};

/// The manifest before it is whole.
pub(super) const UNFINISHED: &str = "manifest.part";

/// An error if there is anything else: it is not ours to write over.
pub(super) fn refuse_other_files(dir: &Path) -> Result<()> {
    let io = |error| Error::io(dir.display(), error);
    for entry in fs::read_dir(dir).map_err(io)? {
        let name = entry.map_err(io)?.file_name().to_string_lossy().into_owned();
        let left = name == INDEX || name == UNFINISHED || is_data_object(&name);
        if !left {
            let words = format!("{} is not empty: it has {name}", dir.display());
            return Err(Error::new(Kind::Request, words));
        }
    }
    Ok(())
}

/// An earlier try may have left more objects than this one has.
pub(super) fn remove_stale_objects(dir: &Path, manifest: &Manifest) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_data_object(&name) && !manifest.objects.iter().any(|(own, _)| *own == name) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
