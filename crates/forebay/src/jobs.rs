//! Jobs that a run sends to other nodes: they are recorded where they run, and joined at the end.
//!
//! The run has a folder that all nodes see. In it are programs by the names of Slurm's that hand work
//! over: they have the job begin with `forebay run`, and become Slurm's own. What that records comes
//! into the folder. A job that can't be recorded runs all the same.

mod folder;
mod options;
mod script;
mod submission;
mod token;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use forebay_model::run::note_key;

use crate::console;
use crate::exit::{CommandError, NOT_EXECUTABLE, NOT_FOUND, NOTHING_RUN, WRONG_USAGE};
use crate::joining::{join_files, say_report};
use crate::output::OutputTarget;
pub(crate) use folder::JobFolder;
pub(crate) use submission::submit_job;
pub(crate) use token::find_stand_in;

/// How long a run waits for records of jobs that have begun: engines see the end of a task a little
/// before its record is written.
const RECORDS_WAIT: Duration = Duration::from_secs(15);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What a job gives to its record.
#[derive(Debug)]
pub(crate) struct JobRecord {
    /// Where it goes.
    pub(crate) output: PathBuf,
    /// What is to be recorded, as far as it is here.
    pub(crate) cover: Vec<PathBuf>,
    /// What its header says of the job.
    pub(crate) notes: Vec<(String, String)>,
}

/// Begins a job: says that it has begun, and where its record goes. `None`: it can't be recorded.
pub(crate) fn begin_job(folder: &Path, token: &str) -> Option<JobRecord> {
    let folder = JobFolder::of_job(folder);
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let node = variable("SLURMD_NODENAME");
    let cover: Vec<PathBuf> = folder.trees().ok()?.into_iter().filter(|dir| dir.is_dir()).collect();
    if cover.is_empty() {
        return None;
    }
    let program = token::program_of_token(token)?;
    let name = folder::record_name(token, |name| variable(name));
    folder.note_begin(&name).ok()?;
    let mut notes = vec![
        note_key::JOB.to_note(&token.to_owned()),
        note_key::JOB_SENT_BY.to_note(&program.to_owned()),
    ];
    notes.extend(node.map(|node| note_key::NODE.to_note(&node)));
    Some(JobRecord { output: folder.record(&name), cover, notes })
}

/// Moves a job's record to where the run finds it. SQLite needs locks to write, which not every
/// file system has that nodes share.
pub(crate) fn hand_over_record(from: &Path, to: &Path) {
    let part = to.with_extension("part");
    let moved = std::fs::copy(from, &part).and_then(|_| std::fs::rename(&part, to));
    if moved.is_ok() {
        // It is Forebay's own, and of no use any more.
        let _ = std::fs::remove_file(from);
    }
}

/// Becomes the command of a job that can't be recorded.
pub(crate) fn run_unrecorded(command: &[OsString]) -> CommandError {
    let Some((program, words)) = command.split_first() else {
        return CommandError::new(WRONG_USAGE, "run what? A command is missing", "name one");
    };
    let error = Command::new(program).args(words).exec();
    let code = match error.kind() {
        std::io::ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_EXECUTABLE,
    };
    let message = format!("{} can't be executed: {error}", program.to_string_lossy());
    CommandError::new(code, message, "check its name and permissions")
}

/// Whether a failure of Forebay's own came before the command began.
pub(crate) fn is_before_command(stop: &CommandError) -> bool {
    [NOTHING_RUN, NOT_FOUND, NOT_EXECUTABLE, WRONG_USAGE, 1].contains(&stop.code)
}

/// Joins what jobs recorded with the record of the run that sent them, in its place. Says what came
/// of it, and what is missing.
pub(crate) fn join_jobs(folder: &JobFolder, run: &Path, quiet: bool) {
    let before = Instant::now();
    while !folder.unfinished().is_empty() && before.elapsed() < RECORDS_WAIT {
        std::thread::sleep(LOOK_AGAIN);
    }
    let (lost, records) = (folder.unfinished(), folder.records());
    if records.is_empty() && lost.is_empty() {
        folder.remove();
        return;
    }
    let kept = folder.head_record();
    if let Err(error) = std::fs::copy(run, &kept) {
        let message = format!("{} can't be written: {error}", kept.display());
        console::error(&message, Some(&folder.join_command()));
        return;
    }
    let mut files = vec![kept];
    files.extend(records);
    let place = OutputTarget::File(run.to_owned());
    match join_files(&files, &lost, &place) {
        Err(stop) => console::error(
            &format!("what jobs recorded can't be joined: {}", stop.message),
            Some(&format!("the run itself is in {}; {}", run.display(), folder.join_command())),
        ),
        Ok((report, nodes)) => {
            if !quiet {
                say_report(&report, &nodes);
            }
            if lost.is_empty() && report.left_out.is_empty() {
                folder.remove();
                return;
            }
            let what = match lost.len() {
                0 => "records of jobs can't be read".to_owned(),
                1 => "1 job has begun and left no record: it goes on, or was killed".to_owned(),
                more => {
                    format!("{more} jobs have begun and left no record: they go on, or were killed")
                }
            };
            console::error(&what, Some(&folder.join_command()));
        }
    }
}
