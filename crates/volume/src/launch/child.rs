//! The command's side between fork and exec: go where the directories are covered, wait until the
//! daemon serves, become the command.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
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

/// What is executed.
pub(super) struct Program {
    words: Vec<CString>,
    variables: Vec<(CString, CString)>,
}

impl Program {
    pub(super) fn new(
        words: &[OsString],
        variables: &[(OsString, OsString)],
    ) -> Result<Program, std::ffi::NulError> {
        let text = |word: &OsString| CString::new(word.as_bytes());
        Ok(Program {
            words: words.iter().map(text).collect::<Result<_, _>>()?,
            variables: variables
                .iter()
                .map(|(name, value)| Ok((text(name)?, text(value)?)))
                .collect::<Result<_, _>>()?,
        })
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
    for (name, value) in &program.variables {
        // SAFETY: two strings that end with NUL; this process has one thread.
        unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) };
    }
    let mut pointers: Vec<*const libc::c_char> =
        program.words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: a null-terminated array of NUL-terminated strings that live until exec.
    unsafe { libc::execvp(pointers[0], pointers.as_ptr()) };
    stop(StartFailure::Exec, &io::Error::last_os_error(), "")
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
