//! A directory for one run.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::held::Held;
use super::places::Place;
use super::vary::Change;
use crate::exit::Stop;

/// A storage that is served as it is, but by the way that an emulated one is: what stands between
/// it and the command is the same.
const AS_IT_IS: &str = "0ms";

/// A new directory on a storage, served and recorded unless it is bare.
pub(super) struct Fresh<'h> {
    pub(super) path: PathBuf,
    mounted: bool,
    held: &'h Held,
}

impl<'h> Fresh<'h> {
    /// Makes it.
    pub(super) fn make(place: &Place, round: u32, held: &'h Held) -> Result<Self, Stop> {
        let name = format!(".forebay-bench-{}-{round}-{}", std::process::id(), place.name);
        let path = place.path.join(name);
        std::fs::create_dir(&path).map_err(|error| {
            let next = "is the storage there, yours, and not full? Runs so far are kept";
            Stop::new(1, format!("{}: {error}", path.display()), next)
        })?;
        Ok(Fresh { path, mounted: false, held })
    }

    /// From now on it is what the command will find; `record`: where what is done in it goes.
    pub(super) fn show(&mut self, place: &Place, record: Option<&Path>) -> Result<(), Stop> {
        let ruled = matches!(place.vary, Some(Change::Rules(..)));
        if !place.bare && (place.emulated.is_some() || record.is_some() || ruled) {
            let how = place.emulated.as_deref().unwrap_or(AS_IT_IS);
            let mut words = vec![OsStr::new("mount"), "--emulate".as_ref(), how.as_ref()];
            if let Some(record) = record {
                words.extend([OsStr::new("--output"), record.as_os_str()]);
            }
            if let Some(Change::Rules(rules, site)) = &place.vary {
                words.extend([OsStr::new("--rules"), rules.as_os_str()]);
                let site = site.iter().flat_map(|site| [OsStr::new("--site"), site.as_os_str()]);
                words.extend(site);
            }
            self.forebay(&words, 2).inspect_err(|_| {
                let _ = std::fs::remove_dir_all(&self.path);
            })?;
            self.mounted = true;
        }
        Ok(())
    }

    /// Nobody serves it any more; its record is complete.
    pub(super) fn unmount(&mut self) -> Result<(), Stop> {
        if std::mem::take(&mut self.mounted) {
            self.forebay(&[OsStr::new("unmount")], 1)?;
        }
        Ok(())
    }

    pub(super) fn remove(self) -> Result<(), Stop> {
        std::fs::remove_dir_all(&self.path).map_err(|error| {
            let message = format!("{} can't be removed: {error}", self.path.display());
            Stop::new(1, message, "remove it by hand; runs so far are kept")
        })
    }

    /// Calls this program, with the directory as its last words.
    pub(super) fn forebay(&self, words: &[&OsStr], directories: usize) -> Result<(), Stop> {
        let failed = |why: String| {
            let what = words[0].to_string_lossy();
            let next = match what.as_ref() {
                "unmount" => "runs so far are kept; unmount it when nobody uses it, and remove it",
                _ => {
                    "`forebay doctor` says what works here; --record no needs no mount for \
                     storages that are not emulated; runs so far are kept"
                }
            };
            Stop::new(1, format!("forebay {what} {}: {why}", self.path.display()), next)
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
