//! The command's side between fork and exec: go where the directories are covered, wait until the
//! daemon serves, become the command.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use super::{LaunchError, RescuerHandle};
use crate::daemon_log;
use crate::fuse::measure_request_cost;
use crate::notifications;
use crate::overmount::{OvermountPlan, enter_namespace, send_descriptor};
use forebay_os::clock::MachineClock;
use forebay_os::forks::SavedSignalMask;

/// What stopped the way to exec.
#[derive(Clone, Copy)]
#[repr(u8)]
enum StartFailure {
    Doorway = 1,
    Daemon = 2,
    Exec = 3,
}

/// How the command gets to its files.
pub(super) enum Way<'p> {
    /// Through mounts over the directories.
    Through(&'p OvermountPlan),
    /// There is nothing in between.
    Bare,
    /// There is nothing in between, and calls wait until the daemon has seen them.
    Watched { every_read: bool },
}

/// The ways to the daemon, and to its rescuer; where its log is.
pub(super) struct DaemonLinks {
    pub(super) mounts: OwnedFd,
    pub(super) rescue: RescuerHandle,
    pub(super) log: daemon_log::LogOptions,
}

/// What is executed: all that is to be had before the fork, behind which nothing may be allocated.
pub(super) struct Program {
    words: CStringArray,
    /// Its whole environment; `None`: that of this process.
    environment: Option<CStringArray>,
}

impl Program {
    /// The command `words`, in this process's environment with `variables` besides.
    pub(super) fn new(
        words: &[OsString],
        variables: &[(OsString, OsString)],
    ) -> Result<Program, std::ffi::NulError> {
        let words = CStringArray::new(words.iter().cloned())?;
        if variables.is_empty() {
            return Ok(Program { words, environment: None });
        }
        let is_set = |name: &OsString| variables.iter().any(|(set, _)| set == name);
        let kept = std::env::vars_os().filter(|(name, _)| !is_set(name));
        let all = kept.chain(variables.iter().cloned()).map(|(mut line, value)| {
            line.push("=");
            line.push(value);
            line
        });
        Ok(Program { words, environment: Some(CStringArray::new(all)?) })
    }

    /// Becomes it; comes back where that fails.
    fn exec(&self) -> io::Error {
        unsafe extern "C" {
            static mut environ: *const *const libc::c_char;
        }
        if let Some(environment) = &self.environment {
            // SAFETY: one thread, and an array that lives until exec. The program is looked up by the
            // path in it.
            unsafe { environ = environment.pointers.as_ptr() };
        }
        let words = self.words.pointers.as_ptr();
        // SAFETY: a null-terminated array of NUL-terminated strings that live until exec.
        unsafe { libc::execvp(*words, words) };
        io::Error::last_os_error()
    }
}

/// Strings as C has them, in an array that ends with a null pointer.
struct CStringArray {
    pointers: Vec<*const libc::c_char>,
    _strings: Vec<CString>,
}

impl CStringArray {
    fn new(words: impl Iterator<Item = OsString>) -> Result<CStringArray, std::ffi::NulError> {
        let strings: Vec<CString> =
            words.map(|word| CString::new(word.into_vec())).collect::<Result<_, _>>()?;
        let ends = std::iter::once(std::ptr::null());
        let pointers = strings.iter().map(|string| string.as_ptr()).chain(ends).collect();
        Ok(CStringArray { pointers, _strings: strings })
    }
}

/// Becomes the command. Whatever stops that is written to `news`, which exec closes.
pub(super) fn exec_command(
    way: Way<'_>,
    directory: &Path,
    program: &Program,
    daemon: DaemonLinks,
    news: OwnedFd,
    signals: &SavedSignalMask,
    front: Pid,
) -> ! {
    let mut news = File::from(news);
    let mut stop = |what: StartFailure, error: &io::Error, step: &str| -> ! {
        let code = error.raw_os_error().unwrap_or(libc::EIO);
        let mut message = vec![what as u8];
        message.extend_from_slice(&code.to_le_bytes());
        message.extend_from_slice(step.as_bytes());
        // The front knows from the end of the pipe that nothing began.
        let _ = news.write_all(&message);
        // SAFETY: ends the process without running what belongs to the parent.
        unsafe { libc::_exit(125) }
    };
    // The front stands for the command: who kills it means the command.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if getppid() != Some(front) {
        stop(StartFailure::Daemon, &io::Error::other("gone"), "waiting for the front process");
    }
    let DaemonLinks { mounts: daemon, rescue, log } = daemon;
    match way {
        Way::Through(plan) => {
            let mut served = |device| rescue.register_mount(device);
            let entered = enter_namespace(plan, directory, daemon.as_fd(), &mut served);
            if let Err(closed) = entered {
                stop(StartFailure::Doorway, &closed.error, &closed.step);
            }
        }
        Way::Bare | Way::Watched { .. } => {
            let me = rustix::process::getpid().as_raw_nonzero().get() as u32;
            let listener = match way {
                Way::Watched { every_read } => match notifications::install(every_read) {
                    Ok(listener) => Some(listener),
                    Err(error) => {
                        let error = error.into_io();
                        stop(StartFailure::Doorway, &error, "having system calls watched");
                    }
                },
                _ => None,
            };
            // First who answers if the daemon is gone: from here on calls of ours wait, too.
            listener.iter().for_each(|listener| rescue.register_listener(listener.as_fd()));
            let listener = listener.as_ref().map(AsFd::as_fd);
            if let Err(error) = send_descriptor(daemon.as_fd(), me, listener) {
                stop(StartFailure::Daemon, &error, "telling the daemon");
            }
        }
    }
    rescue.end_registration();
    let mut ready = [0u8; 1];
    match rustix::io::read(&daemon, &mut ready) {
        Ok(1) => {}
        _ => stop(
            StartFailure::Daemon,
            &io::Error::from_raw_os_error(libc::EPIPE),
            "waiting for the daemon",
        ),
    }
    // The daemon has made its log by now; it lies outside of what is covered, or is written through
    // the daemon like any other file.
    daemon_log::append_held_lines(&log);
    if matches!(way, Way::Through(_)) {
        // The record does without, where the working directory is not covered.
        let _ = measure_request_cost(&MachineClock);
    }
    signals.restore_for_command();
    let error = program.exec();
    stop(StartFailure::Exec, &error, "")
}

/// Waits until the command is there, or for what stopped it.
pub(super) fn await_exec(pipe: OwnedFd, command: &[OsString]) -> Option<LaunchError> {
    let mut message = Vec::new();
    // What was read so far is what there is to say.
    let _ = File::from(pipe).read_to_end(&mut message);
    let (what, rest) = message.split_first()?;
    let code = rest.first_chunk::<4>().map_or(libc::EIO, |code| i32::from_le_bytes(*code));
    let error = io::Error::from_raw_os_error(code);
    let step = String::from_utf8_lossy(rest.get(4..).unwrap_or_default()).into_owned();
    let program = command.first().cloned().unwrap_or_default();
    Some(match *what {
        what if what == StartFailure::Exec as u8 && code == libc::ENOENT => {
            LaunchError::NotFound(program)
        }
        what if what == StartFailure::Exec as u8 => LaunchError::NotExecutable(program, error),
        what if what == StartFailure::Doorway as u8 => LaunchError::Closed(step, error),
        _ => LaunchError::System(step, error),
    })
}
