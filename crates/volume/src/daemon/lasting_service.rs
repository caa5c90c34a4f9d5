//! The daemon of a lasting mount: it serves until somebody unmounts, then brings files home and
//! tells all who wait.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;

use forebay_model::{CommandExit, RunEnd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Shutdown, SocketFlags, SocketType, accept_with, bind, listen, shutdown,
    socket_with,
};

use super::unused_mount_copies::UnmountState;
use super::{DaemonState, Event};
use crate::backend::Backend;
use crate::ipc::{Channel, ToDaemon, ToLauncher, candidate_sockets};
use crate::overmount::unmount_all;

impl DaemonState {
    /// Follows a lasting mount to its end.
    pub(super) fn follow_mount(
        &mut self,
        inbox: &Receiver<Event>,
        events: Sender<Event>,
        points: Vec<PathBuf>,
        stop_sampling: impl FnOnce(),
    ) {
        let mut mounts = self.sessions.len() + usize::from(self.shared_mount.is_some());
        let mut events = Some(events);
        let (mut door, mut leaving) = (None, UnmountState::default());
        let volume = self.volumes[0].0.clone();
        while mounts > 0 {
            let event = match leaving.next_check() {
                Some(pause) => inbox.recv_timeout(pause),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match event {
                Ok(Event::Said(ToDaemon::Mounted { major, minor })) => {
                    let Some(events) = events.take() else { continue };
                    leaving = UnmountState::for_mount(&volume, &points);
                    match UnmountSocket::listen_for_unmount(
                        (major, minor),
                        &volume,
                        events,
                        &points,
                    ) {
                        Ok(opened) => {
                            door = Some(opened);
                            self.control.send_message(&ToLauncher::Ready);
                        }
                        Err(error) => {
                            let why = format!("making the door for `forebay unmount`: {error}");
                            self.control.send_message(&ToLauncher::Failed { why });
                        }
                    }
                }
                Ok(Event::Said(said)) => drop(self.handle_message(said)),
                Ok(Event::MountGone) => mounts -= 1,
                Ok(Event::Waits(channel)) => {
                    self.waiting.push(channel);
                    leaving.request_end();
                }
                Ok(Event::Asked) => leaving.request_end(),
                Ok(Event::FrontGone) => {}
                Err(RecvTimeoutError::Timeout) if !leaving.is_over(&self.sessions) => {}
                Err(_) => break,
            }
        }
        // The device number is free now: another mount may have it, and needs the door's name.
        door.into_iter().for_each(UnmountSocket::close);
        let at = self.recorder.clock().now();
        let exit = Some(CommandExit::Code(0));
        self.ended = Some(RunEnd { at, exit, cpu_user: None, cpu_system: None, complete: false });
        self.waiting.extend(inbox.try_iter().filter_map(|event| match event {
            Event::Waits(channel) => Some(channel),
            _ => None,
        }));
        let Some(over) = self.close_run(stop_sampling) else { return };
        self.control.send_message(&over);
        self.waiting.iter().for_each(|channel| channel.send_message(&over));
        self.backends().for_each(Backend::drop_local_state);
    }
}

/// Where whoever unmounts waits for the end.
struct UnmountSocket {
    socket: Arc<OwnedFd>,
    thread: JoinHandle<()>,
    /// The mounts are gone: what lies at their points now is somebody else's.
    over: Arc<AtomicBool>,
}

impl UnmountSocket {
    /// Opens it, and takes SIGTERM for the wish to unmount.
    fn listen_for_unmount(
        device: (u32, u32),
        volume: &Path,
        events: Sender<Event>,
        points: &[PathBuf],
    ) -> io::Result<UnmountSocket> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        // Another's name is passed over: that of a mount that had this number, or anybody's.
        let bound =
            candidate_sockets(device, volume).find(|address| bind(&socket, address).is_ok());
        bound.ok_or(Errno::ADDRINUSE)?;
        listen(&socket, 16)?;
        let (socket, me) = (Arc::new(socket), rustix::process::geteuid());
        let thread = std::thread::Builder::new().name("forebay-door".into()).spawn({
            let (socket, events) = (Arc::clone(&socket), events.clone());
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
        let over = Arc::new(AtomicBool::new(false));
        let (points, is_over) = (points.to_vec(), Arc::clone(&over));
        std::thread::Builder::new().name("forebay-term".into()).spawn(move || {
            // SAFETY: a zeroed set is valid, and all signals are held back in every thread.
            unsafe {
                let mut only: libc::sigset_t = std::mem::zeroed();
                libc::sigaddset(&mut only, libc::SIGTERM);
                let mut signal = 0;
                while libc::sigwait(&only, &mut signal) != 0 {}
            }
            if !is_over.load(Relaxed) {
                unmount_all(&points);
                let _ = events.send(Event::Asked);
            }
        })?;
        Ok(UnmountSocket { socket, thread, over })
    }

    fn close(self) {
        self.over.store(true, Relaxed);
        // It may be shut already.
        let _ = shutdown(&self.socket, Shutdown::Both);
        let _ = self.thread.join();
    }
}
