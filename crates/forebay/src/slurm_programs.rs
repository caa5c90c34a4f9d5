//! Questions to Slurm's programs: all go through here, with a limit. Where `slurmctld` does not answer,
//! or SLURM_CONF names another one, each of them tries for a minute and more.
//!
//! Jobs that a user sends are no questions: `sbatch` and `srun` of theirs take as long as they take.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use forebay_model::Micros;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::exit::CommandError;

/// How long `srun` has to give back a job that it was told to end.
const GRACE: Duration = Duration::from_secs(5);

/// The option of commands that ask a cluster.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct SlurmPatience {
    /// How long Slurm may take to answer a question
    #[arg(long, value_name = "TIME", default_value = "15s")]
    patience: Micros,
}

impl SlurmPatience {
    /// What one question may take.
    pub(crate) fn limit(self) -> Duration {
        self.patience.into()
    }
}

/// Why a question has no answer. Each has what was asked, and what happened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SlurmError {
    /// The program is not here, or can't be run.
    NotStarted(String),
    /// It said no.
    Failed(String),
    /// It said nothing for as long as it had.
    NoAnswer(String),
}

impl SlurmError {
    /// Cause and place.
    pub(crate) fn message(&self) -> &str {
        let (Self::NotStarted(what) | Self::Failed(what) | Self::NoAnswer(what)) = self;
        what
    }

    /// With what to do next.
    pub(crate) fn into_command_error(self) -> CommandError {
        CommandError::new(1, self.message(), self.next_step())
    }

    /// For the machine that asks.
    pub(crate) fn next_step(&self) -> &'static str {
        match self {
            SlurmError::NotStarted(_) | SlurmError::Failed(_) => {
                "run this where Slurm's programs work, such as the head of the cluster"
            }
            SlurmError::NoAnswer(_) => {
                "see that slurmctld runs and that SLURM_CONF is this cluster's (`scontrol ping` \
                 says), or give it longer with --patience"
            }
        }
    }
}

/// What a program of Slurm prints, if it ends within a time. `asked`: what messages call it.
pub(crate) fn ask_slurm(
    asked: &str,
    command: &mut Command,
    limit: Duration,
) -> Result<String, SlurmError> {
    let stop = |what: &str, error: std::io::Error| {
        SlurmError::NotStarted(format!("{asked} {what}: {error}"))
    };
    // To files: a program that it has started may keep a pipe open when it is gone itself.
    let file = || memfd_create(c"slurm", MemfdFlags::CLOEXEC).map(File::from);
    let files = file().and_then(|out| Ok((out, file()?)));
    let (mut out, mut err) = files.map_err(|error| stop("has no place to write", error.into()))?;
    let copies = out.try_clone().and_then(|out| Ok((out, err.try_clone()?)));
    let (to_out, to_err) = copies.map_err(|error| stop("has no place to write", error))?;
    command.stdin(Stdio::null()).stdout(to_out).stderr(to_err);
    let mut child = command.spawn().map_err(|error| stop("can't be started", error))?;
    let ended = wait_for_end(&mut child, limit, GRACE);
    match ended.map_err(|error| stop("can't be waited for", error))? {
        None => {
            let limit = Micros::from(limit);
            Err(SlurmError::NoAnswer(format!("{asked} did not answer within {limit}")))
        }
        Some(status) if status.success() => Ok(text_of(&mut out)),
        Some(_) => {
            let said = text_of(&mut err);
            let line = said.lines().next().unwrap_or("it said nothing");
            Err(SlurmError::Failed(format!("{asked} failed: {line}")))
        }
    }
}

/// `None`: it took longer, and was ended.
fn wait_for_end(
    child: &mut Child,
    limit: Duration,
    grace: Duration,
) -> std::io::Result<Option<ExitStatus>> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.expect("the kernel's numbers are positive and have 22 bits");
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    if has_ended_within(&process, limit)? {
        return child.wait().map(Some);
    }
    // It may have ended by itself just now.
    let _ = pidfd_send_signal(&process, Signal::TERM);
    if !has_ended_within(&process, grace)? {
        child.kill()?;
    }
    child.wait()?;
    Ok(None)
}

fn has_ended_within(process: &OwnedFd, limit: Duration) -> std::io::Result<bool> {
    let limit = limit.try_into().ok();
    let mut one = [PollFd::new(process, PollFlags::IN)];
    Ok(rustix::io::retry_on_intr(|| poll(&mut one, limit.as_ref()))? > 0)
}

/// What was written into a file since it was made; nothing of what can't be read.
fn text_of(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    //! If these fail, a cluster whose controller is away keeps whoever asks it waiting for minutes.
    use super::*;

    /// Ends what hangs; judges nothing.
    const LONG: Duration = Duration::from_secs(300);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn an_answer_is_what_it_prints_and_a_failure_what_it_says_first() {
        let answer = ask_slurm("sh", &mut shell("echo one; echo not this >&2; echo two"), LONG);
        assert_eq!(answer, Ok("one\ntwo\n".to_owned()));
        let failed =
            ask_slurm("sh", &mut shell("echo lost; echo why >&2; echo more >&2; exit 3"), LONG);
        let Err(SlurmError::Failed(message)) = failed else { panic!("{failed:?}") };
        assert_eq!(message, "sh failed: why");
        let missing = ask_slurm("scontrol", &mut Command::new("/no/scontrol"), LONG);
        let Err(SlurmError::NotStarted(message)) = missing else { panic!("{missing:?}") };
        assert!(message.starts_with("scontrol can't be started: "), "{message}");
    }

    #[test]
    fn what_does_not_answer_is_ended_and_named() {
        // Of no time nothing can answer. What it has started goes on, and keeps its output open.
        let silent = ask_slurm("sh", &mut shell("echo part; sleep 3 & wait"), Duration::ZERO);
        let Err(error @ SlurmError::NoAnswer(_)) = silent else { panic!("{silent:?}") };
        assert_eq!(error.message(), "sh did not answer within 0 s");
        assert!(error.next_step().contains("--patience"));
        // What does not listen is killed: if it were not, this would wait for it.
        let mut deaf = shell("trap '' TERM; while :; do sleep 1; done").spawn().expect("a shell");
        let ended = wait_for_end(&mut deaf, Duration::ZERO, Duration::ZERO).expect("waited for");
        assert_eq!(ended, None);
    }
}
