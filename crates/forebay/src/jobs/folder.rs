//! The folder of a run whose jobs are recorded: what is in it, and by which names.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use forebay_model::run::LostJob;

use super::token::{FOLDER_VARIABLE, STAND_INS, program_of_token};
use crate::console;
use crate::exit::{CommandError, NOTHING_RUN};

/// The folder of one run, seen by all nodes.
#[derive(Debug)]
pub(crate) struct JobFolder {
    path: PathBuf,
}

impl JobFolder {
    /// Makes the folder of the run `name` below `jobs`. `trees` are recorded.
    pub(crate) fn create(
        jobs: &Path,
        name: &str,
        trees: &[PathBuf],
    ) -> Result<JobFolder, CommandError> {
        let make = || -> io::Result<JobFolder> {
            fs::create_dir_all(jobs)?;
            let path = jobs.canonicalize()?.join(name.trim_end_matches(".run"));
            let mut folder = DirBuilder::new();
            folder.mode(0o700).create(&path)?;
            for part in ["bin", "began", "records", "scripts"] {
                folder.create(path.join(part))?;
            }
            let forebay = std::env::current_exe()?;
            for name in STAND_INS {
                symlink(&forebay, path.join("bin").join(name))?;
            }
            let mut list = Vec::new();
            for tree in trees {
                list.extend_from_slice(tree.canonicalize()?.as_os_str().as_bytes());
                list.push(0);
            }
            fs::write(path.join("trees"), list)?;
            Ok(JobFolder { path })
        };
        make().map_err(|error| {
            let message = format!("records of jobs can't come to {}: {error}", jobs.display());
            let next = "name a directory after --jobs that all nodes see and that you may write";
            CommandError::new(NOTHING_RUN, message, format!("{next}; nothing was run"))
        })
    }

    /// The folder as jobs are told it.
    pub(super) fn of_job(path: &Path) -> JobFolder {
        JobFolder { path: path.to_owned() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What the command's environment has besides.
    pub(crate) fn variables(&self) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        let mut path = self.path.join("bin").into_os_string();
        if let Some(others) = std::env::var_os("PATH") {
            path.push(":");
            path.push(others);
        }
        vec![("PATH".into(), path), (FOLDER_VARIABLE.into(), self.path.clone().into_os_string())]
    }

    /// Directories that are to be recorded.
    pub(super) fn trees(&self) -> io::Result<Vec<PathBuf>> {
        let list = fs::read(self.path.join("trees"))?;
        let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| PathBuf::from(std::ffi::OsString::from_vec(name.to_vec()))).collect())
    }

    /// A job of this name begins.
    pub(super) fn note_begin(&self, name: &str) -> io::Result<()> {
        File::create(self.path.join("began").join(name)).map(drop)
    }

    /// Where the record of a job goes.
    pub(super) fn record(&self, name: &str) -> PathBuf {
        self.path.join("records").join(format!("{name}.run"))
    }

    /// The folder of a script that is sent.
    pub(super) fn script_folder(&self, token: &str) -> PathBuf {
        self.path.join("scripts").join(token)
    }

    /// Jobs that began and have no record yet.
    pub(super) fn unfinished(&self) -> Vec<LostJob> {
        let names = |part: &str| {
            let entries = fs::read_dir(self.path.join(part)).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
        };
        let recorded: HashSet<String> = names("records").collect();
        names("began")
            .filter(|job| !recorded.contains(&format!("{job}.run")))
            .map(|job| {
                let token = job.split('.').next().unwrap_or_default();
                let program = program_of_token(token).unwrap_or_default();
                LostJob { program: program.to_owned(), token: token.to_owned() }
            })
            .collect()
    }

    /// All records that are there.
    pub(super) fn records(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = fs::read_dir(self.path.join("records"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "run"))
            .collect();
        found.sort();
        found
    }

    /// Where the record of the run that sent the jobs is kept, to join it once more.
    pub(super) fn head_record(&self) -> PathBuf {
        self.path.join("head.run")
    }

    /// What a person does when the last job has ended.
    pub(super) fn join_command(&self) -> String {
        let folder = self.path.display();
        format!(
            "when all have ended: forebay join {folder}/head.run {folder}/records -o FILE; then \
             remove {folder}"
        )
    }

    /// The run itself goes on: it can't be joined yet.
    pub(crate) fn keep_for_later(&self, run: &Path) {
        let (folder, run) = (self.path.display(), run.display());
        console::note(&format!(
            "what its jobs recorded is joined when you say so: forebay join {run} {folder}/records \
             -o FILE"
        ));
    }

    /// Nobody needs it any more.
    pub(crate) fn remove(&self) {
        // What stays there is in nobody's way.
        let _ = fs::remove_dir_all(&self.path);
        if let Some(jobs) = self.path.parent() {
            // Not where another run has its folder there.
            let _ = fs::remove_dir(jobs);
        }
    }
}

/// The name of a job's record: its token, and what tells it from others that were sent with it, or
/// begun again.
pub(super) fn record_name(token: &str, variable: impl Fn(&str) -> Option<String>) -> String {
    let mut name = token.to_owned();
    let is_step = program_of_token(token) == Some("srun");
    let parts: &[&str] = match is_step {
        true => &["SLURM_JOB_ID", "SLURM_RESTART_COUNT", "SLURM_STEP_ID", "SLURM_PROCID"],
        false => &["SLURM_JOB_ID", "SLURM_RESTART_COUNT"],
    };
    for part in parts {
        let value = variable(part).unwrap_or_else(|| "0".to_owned());
        name.push('.');
        name.extend(value.chars().filter(char::is_ascii_alphanumeric).take(20));
    }
    name
}

#[cfg(test)]
mod tests {
    //! If these fail, a job's record takes the place of another's, or is not found.
    use super::*;

    #[test]
    fn each_job_each_try_and_each_process_of_a_step_has_a_name() {
        let slurm = |job: &'static str, tries: &'static str, process: &'static str| {
            move |name: &str| {
                let value = match name {
                    "SLURM_JOB_ID" => job,
                    "SLURM_RESTART_COUNT" => tries,
                    "SLURM_PROCID" => process,
                    _ => return None,
                };
                Some(value.to_owned())
            }
        };
        assert_eq!(record_name("sbatch-1", slurm("7", "0", "3")), "sbatch-1.7.0");
        assert_eq!(record_name("sbatch-1", slurm("7", "1", "3")), "sbatch-1.7.1");
        assert_eq!(record_name("srun-1", slurm("7", "0", "3")), "srun-1.7.0.0.3");
        assert_eq!(record_name("srun-1", slurm("../x", "0", "3")), "srun-1.x.0.0.3");
    }

    #[test]
    fn what_began_and_has_no_record_is_unfinished() {
        let place = tempfile::tempdir().expect("a directory");
        let trees = [place.path().to_owned()];
        let folder =
            JobFolder::create(&place.path().join("jobs"), "a.run", &trees).expect("a folder");
        assert_eq!(folder.trees().expect("read"), [place.path().canonicalize().expect("real")]);
        folder.note_begin("sbatch-1.7.0").expect("noted");
        folder.note_begin("sbatch-1.8.0").expect("noted");
        fs::write(folder.record("sbatch-1.7.0"), "").expect("written");
        let lost = LostJob { program: "sbatch".into(), token: "sbatch-1".into() };
        assert_eq!((folder.unfinished(), folder.records().len()), (vec![lost], 1));
        folder.remove();
        assert!(!place.path().join("jobs").exists());
        assert!(JobFolder::create(Path::new("/proc/no"), "a.run", &trees).is_err());
    }
}
