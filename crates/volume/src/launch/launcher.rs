//! The front: the process that the caller's shell knows. It passes signals on, stops and goes on
//! with the command, and takes its status.

use std::mem::MaybeUninit;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::signals::{HeldSignals, reap_child, wait_for_signal};
use super::suspended::stop_with_command;
use super::write_back_wait::{WriteBackWait, wait_for_last_word};
use super::{
    Channel, Exit, Hears, LaunchError, RunOutcome, RunRecorder, ToDaemon, ToLauncher,
    WriteBackProgress,
};
use forebay_os::forks::SavedSignalMask;

/// How long the daemon's last steps are waited for.
const LAST_STEPS: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// Plain files behind standard output and error: written from outside the cover, by whoever has
/// inherited them (device, inode).
pub(super) fn redirected_output_files() -> Vec<(u64, u64)> {
    let fds = [rustix::stdio::stdout(), rustix::stdio::stderr()];
    let stats = fds.into_iter().filter_map(|fd| rustix::fs::fstat(fd).ok());
    stats
        .filter(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFREG)
        .map(|stat| (stat.st_dev, stat.st_ino))
        .collect()
}

/// The front process and those it looks after.
pub(super) struct Launcher {
    pub(super) daemon: Pid,
    pub(super) rescuer: Pid,
    pub(super) command: Pid,
    pub(super) control: Channel,
    pub(super) signals: SavedSignalMask,
}

struct CommandEnd {
    exit: Exit,
    user_us: u64,
    system_us: u64,
}

impl Launcher {
    /// The command never ran: waits for the others to go. A word of the daemon's explains more.
    pub(super) fn abandon_start(self, failure: LaunchError) -> LaunchError {
        let Launcher { daemon, command, control, signals, .. } = self;
        reap_child(command);
        control.send_message(&ToDaemon::NotRun);
        let failure = match (failure, control.receive_message::<ToLauncher>()) {
            (LaunchError::System(..), Some(ToLauncher::Failed { why })) => daemon_failure(why),
            (LaunchError::Closed(_, error), Some(ToLauncher::Failed { why }))
                if is_connection_gone(&error) =>
            {
                daemon_failure(why)
            }
            (failure, _) => failure,
        };
        drop(control);
        reap_child(daemon);
        signals.restore_for_command();
        failure
    }

    /// Looks after the command until it ends, then lets the daemon finish the run.
    pub(super) fn watch_command(
        self,
        underway: fn(&WriteBackProgress),
        hears: Hears,
    ) -> RunOutcome {
        // Linux has it since 3.4; the mount waits for processes that outlive the command anyway.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let command = self.command.as_raw_nonzero().get();
        self.control.send_message(&ToDaemon::Began { command: command as u32 });
        let mut daemon_lost = false;
        let ended = loop {
            let info = wait_for_signal();
            match info.si_signo {
                libc::SIGCHLD => {
                    if let Some(ended) = self.reap_all(&mut daemon_lost) {
                        break ended;
                    }
                }
                libc::SIGURG if is_sent_by(&info, self.daemon) => {
                    // One signal may stand for several words.
                    while self.control.has_message_within(0) {
                        match self.control.receive_message() {
                            Some(word) => drop(hears.tell_now(&word)),
                            None => break,
                        }
                    }
                }
                signal => self.forward_signal(signal, &info),
            }
        };
        let (code, signal) = match ended.exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(signal)),
        };
        let (user_us, system_us) = (ended.user_us, ended.system_us);
        self.control.send_message(&ToDaemon::Ended { code, signal, user_us, system_us });
        let mut outcome = RunOutcome {
            recorder: RunRecorder::Mount,
            exit: ended.exit,
            run: None,
            lingering: None,
            warnings: Vec::new(),
            daemon_lost,
            homecomings: Vec::new(),
            left: None,
            signals: HeldSignals(self.signals),
        };
        match wait_for_last_word(&self.control, self.daemon, underway, hears) {
            WriteBackWait::Left(now) => {
                outcome.left = Some((now, self.daemon.as_raw_nonzero().get() as u32));
            }
            WriteBackWait::Word(Some(ToLauncher::Over {
                run,
                lingering,
                warnings,
                homecomings,
                ..
            })) => {
                outcome.homecomings = homecomings;
                outcome.run = run.map(PathBuf::from);
                outcome.lingering = lingering;
                outcome.warnings = warnings;
            }
            WriteBackWait::Word(Some(ToLauncher::Failed { why })) => outcome.warnings.push(why),
            WriteBackWait::Word(_) => outcome.daemon_lost = true,
        }
        if outcome.lingering.is_none() && outcome.left.is_none() {
            // Whoever unmounts something below right after us is not told that it is busy.
            reap_within(self.daemon, LAST_STEPS);
            reap_within(self.rescuer, LAST_STEPS);
        }
        outcome
    }

    /// Takes in who has ended or stopped; tells of the command's end.
    fn reap_all(&self, daemon_lost: &mut bool) -> Option<CommandEnd> {
        let command = self.command.as_raw_nonzero().get();
        let mut found = None;
        loop {
            let mut status = 0;
            let mut usage = MaybeUninit::<libc::rusage>::zeroed();
            let flags = libc::WNOHANG | libc::WUNTRACED;
            // SAFETY: both pointers are to live memory; a zeroed rusage is a valid one.
            let (pid, usage) = unsafe {
                (libc::wait4(-1, &mut status, flags, usage.as_mut_ptr()), usage.assume_init())
            };
            if pid <= 0 {
                return found;
            }
            if libc::WIFSTOPPED(status) {
                // The caller's shell waits for us. Others that stop, the daemon too, will go on.
                if pid == command && stop_with_command(self.command) {
                    // SAFETY: plain numbers.
                    unsafe { libc::kill(command, libc::SIGCONT) };
                }
            } else if pid == command {
                let exit = match libc::WIFSIGNALED(status) {
                    true => Exit::Signal(libc::WTERMSIG(status)),
                    false => Exit::Code(libc::WEXITSTATUS(status)),
                };
                let us = |t: libc::timeval| t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64;
                let (user_us, system_us) = (us(usage.ru_utime), us(usage.ru_stime));
                found = Some(CommandEnd { exit, user_us, system_us });
            } else if pid == self.daemon.as_raw_nonzero().get() {
                *daemon_lost = true;
            }
        }
    }

    /// A signal that somebody sent to us alone was meant for the command. What the terminal sends,
    /// it sends to the command as well.
    fn forward_signal(&self, signal: i32, info: &libc::siginfo_t) {
        let from_a_process = info.si_code <= 0;
        let job_control = matches!(signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU);
        if from_a_process || job_control {
            // SAFETY: plain numbers.
            unsafe { libc::kill(self.command.as_raw_nonzero().get(), signal) };
        }
    }
}

/// Whether a process has sent this signal.
fn is_sent_by(info: &libc::siginfo_t, process: Pid) -> bool {
    // SAFETY: what a process sent has its number; the code says that one did.
    info.si_code <= 0 && unsafe { info.si_pid() } == process.as_raw_nonzero().get()
}

/// What the command's side saw is that nobody serves what it mounted; the daemon says why.
fn daemon_failure(why: String) -> LaunchError {
    LaunchError::System("starting the daemon".to_owned(), std::io::Error::other(why))
}

fn is_connection_gone(error: &std::io::Error) -> bool {
    let gone = [libc::ENOTCONN, libc::ECONNABORTED, libc::EPIPE, libc::ECONNRESET];
    error.raw_os_error().is_some_and(|code| gone.contains(&code))
}

/// Waits for the end of a process that has nothing to do but to close what it holds; not for ever,
/// since a file system that does not answer may keep it.
fn reap_within(pid: Pid, patience: Timespec) {
    // Without pidfd (Linux below 5.3) nobody waits, and no result depends on it.
    let Ok(ended) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let mut fds = [PollFd::new(&ended, PollFlags::IN)];
    if rustix::event::poll(&mut fds, Some(&patience)).is_ok_and(|ready| ready > 0) {
        reap_child(pid);
    }
}
