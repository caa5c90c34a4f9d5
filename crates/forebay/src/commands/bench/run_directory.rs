//! A directory for one run.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::blocked_signals::BlockedSignals;
use super::compared_storages::ComparedStorage;
use super::vary::VariedSetting;
use crate::exit::CommandError;

/// A storage that is served as it is, but by the way that an emulated one is: what stands between
/// it and the command is the same.
const AS_IT_IS: &str = "0ms";

/// A new directory on a storage, served and recorded unless it is bare.
pub(super) struct RunDirectory<'h> {
    pub(super) path: PathBuf,
    /// Where it is served, with the record of each if there is one.
    points: Vec<PathBuf>,
    pub(super) records: Vec<PathBuf>,
    held: &'h BlockedSignals,
}

impl<'h> RunDirectory<'h> {
    /// Makes it.
    pub(super) fn create_on_storage(
        place: &ComparedStorage,
        round: u32,
        held: &'h BlockedSignals,
    ) -> Result<Self, CommandError> {
        let name = format!(".forebay-bench-{}-{round}-{}", std::process::id(), place.name);
        let path = place.path.join(name);
        std::fs::create_dir(&path).map_err(|error| {
            let next = "is the storage there, yours, and not full? Runs so far are kept";
            CommandError::new(1, format!("{}: {error}", path.display()), next)
        })?;
        Ok(RunDirectory { path, points: Vec::new(), records: Vec::new(), held })
    }

    /// From now on it is what the command will find, on each node if there are several; `record`:
    /// where what is done in it goes.
    pub(super) fn serve_all_points(
        &mut self,
        place: &ComparedStorage,
        record: Option<&Path>,
    ) -> Result<(), CommandError> {
        let ruled = matches!(place.vary, Some(VariedSetting::Rules(..)));
        if place.bare || place.emulated.is_none() && record.is_none() && !ruled {
            return Ok(());
        }
        let points = match place.scale {
            None => vec![self.path.clone()],
            // Slurm's nodes are other machines.
            Some(scale) if scale.slurm => return Ok(()),
            Some(scale) => {
                (0..scale.nodes).map(|node| scale.node_mount_point(&self.path, node)).collect()
            }
        };
        for (node, point) in points.into_iter().enumerate() {
            let record = record.map(|record| match node {
                0 => record.to_owned(),
                _ => record.with_extension(format!("{node}.run")),
            });
            self.serve_point(place, point, record).inspect_err(|_| {
                let _ = self.unmount_all();
                let _ = std::fs::remove_dir_all(&self.path);
            })?;
        }
        Ok(())
    }

    fn serve_point(
        &mut self,
        place: &ComparedStorage,
        point: PathBuf,
        record: Option<PathBuf>,
    ) -> Result<(), CommandError> {
        let how = place.emulated.as_deref().unwrap_or(AS_IT_IS);
        let mut words = vec![OsStr::new("mount"), "--emulate".as_ref(), how.as_ref()];
        if let Some(record) = &record {
            words.extend([OsStr::new("--output"), record.as_os_str()]);
        }
        if let Some(VariedSetting::Rules(rules, site)) = &place.vary {
            words.extend([OsStr::new("--rules"), rules.as_os_str()]);
            words.extend(site.iter().flat_map(|site| [OsStr::new("--site"), site.as_os_str()]));
        }
        let server = self.server_file();
        if point != self.path {
            words.extend([OsStr::new("--server"), server.as_os_str()]);
            std::fs::create_dir(&point).map_err(|error| {
                CommandError::new(
                    1,
                    format!("{}: {error}", point.display()),
                    "runs so far are kept",
                )
            })?;
        }
        words.extend([self.path.as_os_str(), point.as_os_str()]);
        self.run_forebay(&words).inspect_err(|_| {
            let _ = std::fs::remove_dir(&point);
        })?;
        self.points.push(point);
        self.records.extend(record);
        Ok(())
    }

    /// By this file nodes share what the storage has.
    fn server_file(&self) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(".server");
        PathBuf::from(name)
    }

    /// It is served.
    pub(super) fn is_served(&self) -> bool {
        !self.points.is_empty()
    }

    /// Nobody serves it any more; its records are complete.
    pub(super) fn unmount_all(&mut self) -> Result<(), CommandError> {
        let mut all = Ok(());
        while let Some(point) = self.points.pop() {
            // A node that stays is no reason for the others to stay.
            all = all.and(self.run_forebay(&[OsStr::new("unmount"), point.as_os_str()]));
            if point != self.path {
                let _ = std::fs::remove_dir(&point);
            }
        }
        let _ = std::fs::remove_file(self.server_file());
        all
    }

    pub(super) fn remove(self) -> Result<(), CommandError> {
        std::fs::remove_dir_all(&self.path).map_err(|error| {
            let message = format!("{} can't be removed: {error}", self.path.display());
            CommandError::new(1, message, "remove it by hand; runs so far are kept")
        })
    }

    /// Calls this program.
    pub(super) fn run_forebay(&self, words: &[&OsStr]) -> Result<(), CommandError> {
        let failed = |why: String| {
            let what = words[0].to_string_lossy();
            let next = match what.as_ref() {
                "unmount" => "runs so far are kept; unmount it when nobody uses it, and remove it",
                _ => {
                    "`forebay doctor` says what works here; --record no needs no mount for \
                     storages that are not emulated; runs so far are kept"
                }
            };
            CommandError::new(1, format!("forebay {what} {}: {why}", self.path.display()), next)
        };
        let own = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        // What was put in its place since is another one.
        let own = if own.exists() { own } else { PathBuf::from("/proc/self/exe") };
        let mut command = Command::new(own);
        command.args(words).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child =
            self.held.spawn_unblocked(&mut command).map_err(|error| failed(error.to_string()))?;
        let done = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
        let why = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        if done.status.success() { Ok(()) } else { Err(failed(why)) }
    }
}
