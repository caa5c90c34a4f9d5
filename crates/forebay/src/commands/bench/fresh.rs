//! A directory for one run.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::held::Held;
use super::places::Place;
use crate::exit::Stop;

/// A new directory on a storage, slow if it is to look so.
pub(super) struct Fresh<'h> {
    pub(super) path: PathBuf,
    mounted: bool,
    held: &'h Held,
}

impl<'h> Fresh<'h> {
    pub(super) fn make(place: &Place, round: u32, held: &'h Held) -> Result<Self, Stop> {
        let name = format!(".forebay-bench-{}-{round}-{}", std::process::id(), place.name);
        let path = place.path.join(name);
        std::fs::create_dir(&path).map_err(|error| {
            let next = "is the storage there, yours, and not full? Runs so far are kept";
            Stop::new(1, format!("{}: {error}", path.display()), next)
        })?;
        let fresh = Fresh { path, mounted: place.emulated.is_some(), held };
        if let Some(how) = &place.emulated {
            fresh.forebay(&["mount", "--emulate", how], 2).inspect_err(|_| {
                let _ = std::fs::remove_dir(&fresh.path);
            })?;
        }
        Ok(fresh)
    }

    pub(super) fn remove(self) -> Result<(), Stop> {
        if self.mounted {
            self.forebay(&["unmount"], 1)?;
        }
        std::fs::remove_dir_all(&self.path).map_err(|error| {
            let message = format!("{}: {error}", self.path.display());
            Stop::new(1, message, "remove it by hand; runs so far are kept")
        })
    }

    /// Calls this program, with the directory as its last words.
    pub(super) fn forebay(&self, words: &[&str], directories: usize) -> Result<(), Stop> {
        let failed = |why: String| {
            let next = "`forebay doctor` says what works here; runs so far are kept";
            Stop::new(1, format!("forebay {} {}: {why}", words[0], self.path.display()), next)
        };
        let own = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(own);
        command.args(words).args(vec![&self.path; directories]).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = self.held.spawn(&mut command).map_err(|error| failed(error.to_string()))?;
        let done = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
        let why = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        if done.status.success() { Ok(()) } else { Err(failed(why)) }
    }
}
