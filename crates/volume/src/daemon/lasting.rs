//! The daemon of a lasting mount: it serves until somebody unmounts, then brings files home and
//! tells all who wait.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use forebay_model::{Ended, Exit};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Shutdown, SocketFlags, SocketType, accept_with, bind, listen, shutdown,
    socket_with,
};

use super::{Event, Run};
use crate::cover::take_away;
use crate::launch::{Channel, ToDaemon, ToFront, door_of};

/// How long a door's name may still be another's, and how often it is tried.
const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(10);

impl Run {
    /// Follows a lasting mount to its end.
    pub(super) fn last(
        &mut self,
        inbox: &Receiver<Event>,
        events: Sender<Event>,
        points: Vec<PathBuf>,
        stop_sampling: impl FnOnce(),
    ) {
        let mut mounts = self.sessions.len();
        let mut events = Some(events);
        let mut door = None;
        while mounts > 0 {
            match inbox.recv() {
                Ok(Event::Said(ToDaemon::Mounted { major, minor })) => {
                    let Some(events) = events.take() else { continue };
                    match Door::open((major, minor), events, &points) {
                        Ok(opened) => {
                            door = Some(opened);
                            self.control.say(&ToFront::Ready);
                        }
                        Err(error) => {
                            let why = format!("making the door for `forebay unmount`: {error}");
                            self.control.say(&ToFront::Failed { why });
                        }
                    }
                }
                Ok(Event::Said(said)) => drop(self.heard(said)),
                Ok(Event::MountGone) => mounts -= 1,
                Ok(Event::Waits(channel)) => self.waiting.push(channel),
                Ok(Event::FrontGone) => {}
                Err(_) => break,
            }
        }
        // The device number is free now: another mount may have it, and needs the door's name.
        door.into_iter().for_each(Door::close);
        let at = self.recorder.clock().now();
        let exit = Some(Exit::Code(0));
        self.ended = Some(Ended { at, exit, cpu_user: None, cpu_system: None, complete: false });
        self.waiting.extend(inbox.try_iter().filter_map(|event| match event {
            Event::Waits(channel) => Some(channel),
            _ => None,
        }));
        let Some(over) = self.close(stop_sampling) else { return };
        self.control.say(&over);
        self.waiting.iter().for_each(|channel| channel.say(&over));
    }
}

/// Where whoever unmounts waits for the end.
struct Door {
    socket: Arc<OwnedFd>,
    thread: JoinHandle<()>,
}

impl Door {
    /// Opens it, and takes SIGTERM for the wish to unmount.
    fn open(device: (u32, u32), events: Sender<Event>, points: &[PathBuf]) -> io::Result<Door> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        let mut patience = PATIENCE;
        while let Err(error) = bind(&socket, &door_of(device)?) {
            // The mount that had this number is gone, its daemon is about to close its door.
            if error != Errno::ADDRINUSE || patience.is_zero() {
                return Err(error.into());
            }
            std::thread::sleep(STEP);
            patience = patience.saturating_sub(STEP);
        }
        listen(&socket, 16)?;
        let (socket, me) = (Arc::new(socket), rustix::process::geteuid());
        let thread = std::thread::Builder::new().name("forebay-door".into()).spawn({
            let socket = Arc::clone(&socket);
            move || {
                while let Ok(guest) = accept_with(&socket, flags) {
                    // What it is told names directories; that is nobody else's business.
                    let peer = rustix::net::sockopt::socket_peercred(&guest);
                    if peer.is_ok_and(|peer| peer.uid == me || peer.uid.is_root()) {
                        let _ = events.send(Event::Waits(Channel::new(guest)));
                    }
                }
            }
        })?;
        let points = points.to_vec();
        std::thread::Builder::new().name("forebay-term".into()).spawn(move || {
            // SAFETY: a zeroed set is valid, and all signals are held back in every thread.
            unsafe {
                let mut only: libc::sigset_t = std::mem::zeroed();
                libc::sigaddset(&mut only, libc::SIGTERM);
                let mut signal = 0;
                while libc::sigwait(&only, &mut signal) != 0 {}
            }
            take_away(&points);
        })?;
        Ok(Door { socket, thread })
    }

    fn close(self) {
        let _ = shutdown(&self.socket, Shutdown::Both);
        let _ = self.thread.join();
    }
}
