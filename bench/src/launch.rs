//! Starts one command, waits for it and for everything it left behind, and accounts for it.
//!
//! The bench is a child subreaper: a daemon that outlives its front process becomes a child of the
//! bench, so its CPU time is counted and no run overlaps the end of the one before.

use crate::error::{Error, ErrorContext, Kind, Result};
use crate::{host_info, interrupt};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A command to be measured.
#[derive(Debug, Clone)]
pub struct MeasuredCommand {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// Working directory.
    pub dir: PathBuf,
    /// User id to run as; none for the bench's own.
    pub uid: Option<u32>,
    /// Variables to set.
    pub variables: Vec<(&'static str, OsString)>,
    /// Where its output goes.
    pub log: PathBuf,
    /// It is ended after this long.
    pub limit_s: u64,
}

/// What was seen from outside.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandOutcome {
    /// Exit status; 128 + signal as in a shell.
    pub status: i32,
    /// From start to the exit of the command itself.
    pub wall_s: f64,
    /// CPU of all its processes, daemon included; not of kernel threads (loop device, write-back).
    pub cpu_s: f64,
    /// From its exit until the last process it left behind was gone.
    pub linger_s: f64,
    /// Load average of the last minute at its start.
    pub load1: f64,
    /// Cores kept busy by others during the run (kernel threads that work for it included);
    /// none for runs too short for the kernel's 10 ms ticks.
    pub foreign_cores: Option<f64>,
    /// The most that the daemon had resident, MiB; none where there was none, or it ended unseen.
    #[serde(default)]
    pub daemon_mib: Option<f64>,
}

/// Shortest run for which the load of others is told.
const SHORTEST_S: f64 = 0.2;

/// What the names of the program under test begin with.
const DAEMON: &str = "forebay";
/// What does the micro workloads.
const OWN_NAME: &str = "forebay-bench";

/// How long leftovers may take to end by themselves.
const LINGER: Duration = Duration::from_secs(60);

/// Orphans of our children become our children.
pub fn adopt_orphans() -> Result<()> {
    let own = rustix::process::getpid();
    Ok(rustix::process::set_child_subreaper(Some(own))?)
}

impl MeasuredCommand {
    /// Runs it to the end; an error only if it could not be run, was too slow, or a signal came.
    pub fn run_to_end(&self) -> Result<CommandOutcome> {
        interrupt::check_interrupt()?;
        let mut command = self.build_command()?;
        let (load1, busy, cpu) = (
            host_info::load_average(),
            host_info::cpu_busy_seconds(),
            host_info::children_cpu_seconds(),
        );
        let start = Instant::now();
        let mut child = command.spawn().with_context("start", &PathBuf::from(&self.words[0]))?;
        let mut daemon_mib = None;
        let waited = self.wait_for_exit(&mut child, start, &mut daemon_mib);
        let wall_s = start.elapsed().as_secs_f64();
        daemon_mib = daemon_mib.max(daemon_memory());
        if waited.is_err() {
            terminate_all(&child);
        }
        let status = child.wait()?;
        let all_gone = reap_children(LINGER);
        let linger_s = start.elapsed().as_secs_f64() - wall_s;
        waited?;
        if !all_gone {
            kill_descendants();
            reap_children(Duration::from_secs(5));
            return Err(Error::check_failed(format!(
                "{:?} left processes behind for 60 s",
                self.words
            )));
        }
        let cpu_s = host_info::children_cpu_seconds() - cpu;
        let others = host_info::cpu_busy_seconds() - busy - cpu_s;
        let whole_s = wall_s + linger_s;
        let foreign_cores = (whole_s >= SHORTEST_S).then(|| (others / whole_s).max(0.0));
        Ok(CommandOutcome {
            status: exit_status(status),
            wall_s,
            cpu_s,
            linger_s,
            load1,
            foreign_cores,
            daemon_mib: daemon_mib.map(|kib| kib as f64 / 1024.0),
        })
    }

    /// Runs it and expects status 0; the message shows the end of its output.
    pub fn run_expecting_success(&self) -> Result<CommandOutcome> {
        let ended = self.run_to_end()?;
        if ended.status == 0 {
            return Ok(ended);
        }
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        let status = ended.status;
        Err(Error::check_failed(format!(
            "{}: status {status}\n{}",
            words.join(" "),
            self.output_tail()
        )))
    }

    /// The last lines of its output.
    pub fn output_tail(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }

    fn build_command(&self) -> Result<Command> {
        let log = std::fs::File::create(&self.log).with_context("create", &self.log)?;
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(&self.dir).process_group(0);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(uid) = self.uid {
            // The standard library clears the supplementary groups when root gives a uid.
            command.uid(uid).gid(uid);
        }
        Ok(command)
    }

    /// Looks at the daemon's memory ten times a second meanwhile.
    fn wait_for_exit(
        &self,
        child: &mut Child,
        start: Instant,
        daemon_kib: &mut Option<u64>,
    ) -> Result<()> {
        let pidfd = rustix::process::pidfd_open(child_pid(child), PidfdFlags::empty())?;
        let slice = rustix::time::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        loop {
            let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
            match poll(&mut fds, Some(&slice)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(other) => return Err(other.into()),
            }
            interrupt::check_interrupt()?;
            *daemon_kib = (*daemon_kib).max(daemon_memory());
            if start.elapsed().as_secs() >= self.limit_s {
                let words = format!("{:?}", self.words);
                let limit_s = self.limit_s;
                return Err(Error::new(Kind::Wrong, format!("{words}: not done in {limit_s} s")));
            }
        }
    }
}

fn child_pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

fn exit_status(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Waits for every child; false if some are still there after `limit`.
fn reap_children(limit: Duration) -> bool {
    let start = Instant::now();
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Err(rustix::io::Errno::CHILD) => return true,
            Ok(Some(_)) | Err(_) => {}
            Ok(None) => std::thread::sleep(Duration::from_millis(1)),
        }
        if start.elapsed() >= limit
            || (interrupt::is_interrupted() && start.elapsed().as_secs() >= 5)
        {
            return false;
        }
    }
}

/// Asks the group of `child` to end, and after ten seconds ends whatever is left.
fn terminate_all(child: &Child) {
    // A group that is already gone is what we want.
    let _ = rustix::process::kill_process_group(child_pid(child), Signal::TERM);
    let start = Instant::now();
    while start.elapsed().as_secs() < 10 && !list_descendants(std::process::id()).is_empty() {
        let all_ended = list_descendants(std::process::id()).iter().all(|pid| is_zombie(*pid));
        if all_ended {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    kill_descendants();
}

fn kill_descendants() {
    for pid in list_descendants(std::process::id()) {
        if let Some(pid) = Pid::from_raw(pid as i32) {
            // It may have ended since it was listed.
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

fn is_zombie(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with('Z'))
}

/// The peak of resident memory (KiB) of the largest process below that is called [`DAEMON`]; none if
/// there is none.
fn daemon_memory() -> Option<u64> {
    let peak = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let name = field("Name:")?.trim();
        if !name.starts_with(DAEMON) || name == OWN_NAME {
            return None;
        }
        field("VmHWM:")?.split_whitespace().next()?.parse().ok()
    };
    list_descendants(std::process::id()).into_iter().filter_map(peak).max()
}

/// Children, their children, and so on.
fn list_descendants(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let mut found = Vec::new();
    for word in std::fs::read_to_string(path).unwrap_or_default().split_whitespace() {
        if let Ok(child) = word.parse() {
            found.push(child);
            found.extend(list_descendants(child));
        }
    }
    found
}
