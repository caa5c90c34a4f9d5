//! What the kernel allows here, found out by trying it in a child process, whose namespaces and
//! mounts vanish with it. It judges nothing.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{MountFlags, mount};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Signal, WaitOptions, getegid, geteuid, kill_process, waitpid};
use serde::{Deserialize, Serialize};

use crate::fuse::open_device;
use crate::overmount::{NamespaceError, OvermountPlan, enter_namespace};

/// How long a child may try before it is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the kernel says of itself when a mount begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FuseProtocol {
    /// FUSE major version.
    pub major: u32,
    /// FUSE minor version.
    pub minor: u32,
    /// The kernel can pass reads and writes through, for who may ask for it.
    pub passthrough: bool,
}

/// What the child found: a result, or the step that failed and its error number.
#[derive(Serialize, Deserialize)]
enum ProbeResult<T> {
    Worked(T),
    Closed { step: String, errno: i32 },
}

/// Makes a private mount namespace as a run does (an ordinary user's in a user namespace).
///
/// # Errors
/// The step that is closed.
pub fn probe_private_mounts() -> Result<(), NamespaceError> {
    run_in_child(enter_private_namespace)
}

/// Mounts over `directory`, seen by nobody, and hears what the kernel's FUSE driver offers.
///
/// # Errors
/// The step that is closed.
pub fn probe_fuse_protocol(directory: &Path) -> Result<FuseProtocol, NamespaceError> {
    run_in_child(|| {
        enter_private_namespace()?;
        mount_and_read_init(directory)
    })
}

fn step_error<E: Into<io::Error>>(step: &str) -> impl FnOnce(E) -> NamespaceError {
    let step = step.to_owned();
    move |error| NamespaceError { step, error: error.into() }
}

fn enter_private_namespace() -> Result<(), NamespaceError> {
    let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let (ours, _theirs) = pair.map_err(step_error("making a socket pair"))?;
    let nothing = OvermountPlan {
        targets: Vec::new(),
        shown: Vec::new(),
        folders: Vec::new(),
        kernel_checks: false,
    };
    enter_namespace(&nothing, Path::new("/"), ours.as_fd(), &mut |_| ())
}

fn mount_and_read_init(directory: &Path) -> Result<FuseProtocol, NamespaceError> {
    let device = open_device().map_err(step_error("opening /dev/fuse"))?;
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let fd = device.as_raw_fd();
    let options = format!("fd={fd},rootmode=40000,user_id={uid},group_id={gid}");
    let options = CString::new(options).expect("numbers hold no NUL");
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("forebay", directory, "fuse.forebay", flags, options.as_c_str())
        .map_err(step_error("mounting a FUSE file system"))?;
    let mut wait = [PollFd::new(&device, PollFlags::IN)];
    let some = Timespec { tv_sec: 2, tv_nsec: 0 };
    poll(&mut wait, Some(&some)).map_err(step_error("waiting for the kernel's FUSE driver"))?;
    if wait[0].revents().is_empty() {
        let silent = io::Error::from_raw_os_error(libc::ETIMEDOUT);
        return Err(step_error("waiting for the kernel's FUSE driver")(silent));
    }
    let mut request = vec![0u8; 256 << 10];
    let size = rustix::io::read(&device, &mut request[..])
        .map_err(step_error("hearing the kernel's FUSE driver"))?;
    parse_init_request(&request[..size]).ok_or_else(|| {
        step_error("hearing the kernel's FUSE driver")(io::Error::from_raw_os_error(libc::EPROTO))
    })
}

/// Reads the first request, FUSE_INIT (linux/fuse.h: `fuse_in_header`, `fuse_init_in`).
fn parse_init_request(request: &[u8]) -> Option<FuseProtocol> {
    const OPCODE_AT: usize = 4;
    const BODY_AT: usize = 40;
    const INIT: u32 = 26;
    const INIT_EXT: u32 = 1 << 30;
    const PASSTHROUGH_HIGH: u32 = 1 << 5;
    let word = |at: usize| {
        let bytes = request.get(at..)?.first_chunk::<4>()?;
        Some(u32::from_ne_bytes(*bytes))
    };
    if word(OPCODE_AT)? != INIT {
        return None;
    }
    let (major, minor) = (word(BODY_AT)?, word(BODY_AT + 4)?);
    // Kernels before 5.12 know no second word of flags.
    let extended = word(BODY_AT + 12).unwrap_or(0) & INIT_EXT != 0;
    let high = word(BODY_AT + 16).filter(|_| extended).unwrap_or(0);
    Some(FuseProtocol { major, minor, passthrough: high & PASSTHROUGH_HIGH != 0 })
}

/// Does something in a child process and brings back what came of it.
///
/// The caller must have one thread.
fn run_in_child<T: Serialize + for<'a> Deserialize<'a>>(
    what: impl FnOnce() -> Result<T, NamespaceError>,
) -> Result<T, NamespaceError> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(step_error("making a pipe"))?;
    // SAFETY: the caller has one thread, so the child may do anything.
    let pid = match unsafe { libc::fork() } {
        -1 => return Err(step_error("starting a child process")(io::Error::last_os_error())),
        0 => {
            drop(reader);
            let found = match what() {
                Ok(it) => ProbeResult::Worked(it),
                Err(doorway) => ProbeResult::Closed {
                    step: doorway.step,
                    errno: doorway.error.raw_os_error().unwrap_or(libc::EIO),
                },
            };
            let text = serde_json::to_vec(&found).unwrap_or_default();
            // Nothing is an answer, too.
            let _ = File::from(writer).write_all(&text);
            // SAFETY: ends the process without running what belongs to the parent.
            unsafe { libc::_exit(0) }
        }
        pid => Pid::from_raw(pid).expect("a child has a pid"),
    };
    drop(writer);
    let found = read_with_timeout(File::from(reader));
    // It may have ended.
    let _ = kill_process(pid, Signal::KILL);
    while let Err(rustix::io::Errno::INTR) = waitpid(Some(pid), WaitOptions::empty()) {}
    match found.as_deref().map(serde_json::from_slice) {
        Ok(Ok(ProbeResult::Worked(it))) => Ok(it),
        Ok(Ok(ProbeResult::Closed { step, errno })) => {
            Err(NamespaceError { step, error: io::Error::from_raw_os_error(errno) })
        }
        Ok(Err(_)) => {
            Err(step_error("hearing the child process")(io::Error::other("it was killed")))
        }
        Err(error) => {
            let error = io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO));
            Err(NamespaceError { step: "hearing the child process".into(), error })
        }
    }
}

/// All that is written to a pipe, within the patience that there is.
fn read_with_timeout(mut pipe: File) -> io::Result<Vec<u8>> {
    let some = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
    if poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&some))? == 0 {
        return Err(io::Error::from_raw_os_error(libc::ETIMEDOUT));
    }
    let mut text = Vec::new();
    pipe.read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    //! A kernel misread here sends an administrator to mend what is whole.
    use super::*;

    fn request(opcode: u32, flags: u32, high: u32) -> Vec<u8> {
        let mut bytes = vec![0u8; 40];
        bytes[4..8].copy_from_slice(&opcode.to_ne_bytes());
        for word in [7u32, 45, 131_072, flags, high] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn reads_the_greeting() {
        let new = parse_init_request(&request(26, 1 << 30, 1 << 5));
        assert_eq!(new, Some(FuseProtocol { major: 7, minor: 45, passthrough: true }));
        let without = parse_init_request(&request(26, 1 << 30, 0)).expect("a greeting");
        assert!(!without.passthrough);
        let old = parse_init_request(&request(26, 0, 1 << 5)).expect("a greeting");
        assert!(!old.passthrough, "the second word means nothing without the flag");
        let short =
            parse_init_request(&request(26, 0, 0)[..52]).expect("the greeting of an old kernel");
        assert_eq!((short.major, short.minor), (7, 45));
        assert_eq!(parse_init_request(&request(1, 0, 0)), None);
        assert_eq!(parse_init_request(&[0; 10]), None);
    }
}
