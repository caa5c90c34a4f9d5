//! The page on disk: whole, or not there.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::exit::Stop;

const ELSEWHERE: &str = "name another file after -o";

/// Refuses a place before anything is read: a run must not be lost to its own report.
pub(super) fn check(output: &Path) -> Result<(), Stop> {
    if output.as_os_str() == "-" {
        return Ok(());
    }
    let refuse = |why: &str| Err(Stop::new(1, format!("{}: {why}", output.display()), ELSEWHERE));
    if output.is_dir() {
        return refuse("it is a directory");
    }
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    if parent.is_some_and(|parent| !parent.is_dir()) {
        return refuse("its directory is not there");
    }
    let mut head = [0; 15];
    let read = File::open(output).and_then(|mut file| file.read_exact(&mut head));
    if read.is_ok() && head == *b"SQLite format 3" {
        return refuse("it is a run file or another database, and would be lost");
    }
    Ok(())
}

/// Writes it beside, makes it safe, and gives it its name.
pub(super) fn whole(output: &Path, page: &[u8]) -> Result<(), Stop> {
    let mut beside = output.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = File::create_new(&beside)
        .and_then(|mut file| {
            file.write_all(page)?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&beside, output));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&beside);
        Stop::new(1, format!("{} can't be written: {error}", output.display()), ELSEWHERE)
    })
}
