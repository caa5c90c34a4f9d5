//! The runs that are kept in a project: `.forebay/runs`, one file each, the newest last by name.

use std::path::{Path, PathBuf};

use forebay_model::Run;

use crate::console;
use crate::exit::CommandError;

/// Below a project.
pub(crate) const FOLDER: &str = ".forebay/runs";

/// All files of runs in a folder, by name: Forebay's own names sort by time. What is no run, and a
/// link to one, is passed over.
///
/// # Errors
/// A folder that can't be read.
pub(crate) fn list_runs(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let is_file = entry.file_type()?.is_file();
        if is_file && path.extension().is_some_and(|end| end == "run") && Run::is_run_file(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The newest run of the current directory, and says which it is.
pub(crate) fn newest_run() -> Result<PathBuf, CommandError> {
    let none = |why: String| {
        let next = "name a run file, or make one: `forebay run COMMAND`";
        CommandError::new(1, format!("no run was named, and {why}"), next)
    };
    let found = match list_runs(Path::new(FOLDER)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(none(format!("{FOLDER} can't be read: {error}")));
        }
        found => found.unwrap_or_default(),
    };
    let newest = found.into_iter().next_back();
    let newest = newest.ok_or_else(|| none(format!("there is none in {FOLDER} here")))?;
    console::note(&format!("the newest run here is {}", newest.display()));
    Ok(newest)
}
