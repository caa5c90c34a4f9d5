//! Where a daemon is asked, and who asks.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect,
    listen, shutdown, socket_with,
};

use super::StatusSources;
use crate::ipc::{Channel, LiveStatus, abstract_socket_names};

/// How names of doors begin, as /proc/net/unix writes them after an `@`.
const NAMES: &str = "forebay/live/";
/// A daemon that is stopped answers nobody.
const PATIENCE_MS: u16 = 2000;

fn socket_address(pid: u32) -> rustix::io::Result<SocketAddrUnix> {
    SocketAddrUnix::new_abstract_name(format!("{NAMES}{pid}").as_bytes())
}

fn create_socket() -> rustix::io::Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// A door that is open.
#[derive(Debug)]
pub(crate) struct LiveSocket(OwnedFd);

impl LiveSocket {
    /// Nobody is answered any more: it is over.
    pub(crate) fn close(self) {
        // Where that fails the door is gone with the process.
        let _ = shutdown(&self.0, Shutdown::Both);
    }
}

/// Opens the door of this process, and answers whoever may know: its user, and root.
///
/// # Errors
/// When the name is taken or no thread can be made; nobody can look then, and all else goes on.
pub(crate) fn open_live_socket(sources: StatusSources) -> io::Result<LiveSocket> {
    let (socket, me) = (create_socket()?, rustix::process::geteuid());
    bind(&socket, &socket_address(std::process::id())?)?;
    listen(&socket, 16)?;
    let door = LiveSocket(socket.try_clone()?);
    std::thread::Builder::new().name("forebay-live".into()).spawn(move || {
        loop {
            match accept_with(&socket, SocketFlags::CLOEXEC) {
                Ok(guest) => {
                    let peer = rustix::net::sockopt::socket_peercred(&guest);
                    if peer.is_ok_and(|peer| peer.uid == me || peer.uid.is_root()) {
                        // Whoever asked may be gone, or stopped.
                        Channel::new(guest).try_send_message(&sources.collect_live_report());
                    }
                }
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(_) => return,
            }
        }
    })?;
    Ok(door)
}

/// Processes of daemons on this machine, of whoever they are.
///
/// # Errors
/// Where /proc is not mounted.
pub fn list_daemons() -> io::Result<Vec<u32>> {
    let names = abstract_socket_names()?;
    let mut found: Vec<u32> =
        names.iter().filter_map(|name| name.strip_prefix(NAMES)?.parse().ok()).collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn is_own_daemon(pid: u32) -> bool {
    let process = std::fs::metadata(format!("/proc/{pid}"));
    process.is_ok_and(|process| process.uid() == rustix::process::geteuid().as_raw())
}

/// Asks a daemon what it does. `Ok(None)`: it is somebody else's, or gone.
///
/// # Errors
/// TimedOut when it does not answer, InvalidData when a newer Forebay answers.
pub fn query_daemon(pid: u32) -> io::Result<Option<LiveStatus>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let silent = || {
        let message = format!("daemon {pid} does not answer (is it stopped?)");
        io::Error::new(io::ErrorKind::TimedOut, message)
    };
    match connect(&socket, &socket_address(pid)?) {
        Ok(()) => {}
        // Many asked before us, and nobody was answered.
        Err(Errno::AGAIN) if is_own_daemon(pid) => return Err(silent()),
        Err(_) => return Ok(None),
    }
    // Anybody can take a free name: believe our own daemons only, and none of another process.
    let peer = rustix::net::sockopt::socket_peercred(&socket)?;
    if peer.uid != rustix::process::geteuid() || peer.pid.as_raw_nonzero().get() as u32 != pid {
        return Ok(None);
    }
    let channel = Arc::new(Channel::new(socket));
    if !channel.has_message_within(PATIENCE_MS) {
        return Err(silent());
    }
    let Some(live) = channel.receive_message::<LiveStatus>() else { return Ok(None) };
    if live.schema != super::SCHEMA {
        let message = format!("daemon {pid} is of another Forebay");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(Some(live))
}
