//! The descriptor at which calls that wait for an answer are told (seccomp_unotify(2)), and the one
//! answer that is ever given: go on as if nobody had looked.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

// linux/seccomp.h: `_IOWR('!', 0, struct seccomp_notif)` and its neighbours.
const RECEIVE: libc::c_ulong = 0xc050_2100;
const ANSWER: libc::c_ulong = 0xc018_2101;
const SET_FLAGS: libc::c_ulong = 0x4008_2104;
const SYNC_WAKE_UP: u64 = 1;
const CONTINUE: u32 = 1;

/// `struct seccomp_notif`: a call that waits.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Notification {
    pub(crate) id: u64,
    /// The thread; 0: it has no number here.
    pub(crate) thread: u32,
    flags: u32,
    pub(crate) number: i32,
    pub(crate) processor: u32,
    instruction: u64,
    pub(crate) args: [u64; 6],
}

impl Notification {
    /// An argument that is a number of 32 bits with its sign, as descriptors are.
    pub(super) fn int(&self, arg: u8) -> i32 {
        self.args[usize::from(arg)] as i32
    }
}

#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

/// What waiting brought.
#[derive(Debug)]
pub(crate) enum Waited {
    Call(Notification),
    /// Nothing yet, or a call that was withdrawn.
    Nothing,
    /// Nobody is left who could call.
    Over,
}

/// A listener.
#[derive(Debug)]
pub(crate) struct Listener(OwnedFd);

impl Listener {
    pub(crate) fn new(fd: OwnedFd) -> Listener {
        let flags: libc::c_ulong = SYNC_WAKE_UP as libc::c_ulong;
        // SAFETY: plain numbers.
        // Linux before 6.6 does not know it: it takes longer.
        unsafe { libc::ioctl(fd.as_raw_fd(), SET_FLAGS as _, flags) };
        Listener(fd)
    }

    /// Waits for a call, `patience` at most.
    pub(crate) fn wait(&self, patience: &Timespec) -> Waited {
        let fd: BorrowedFd<'_> = self.0.as_fd();
        let mut waits = [PollFd::new(&fd, PollFlags::IN)];
        match poll(&mut waits, Some(patience)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Waited::Nothing,
            Ok(_) => {}
            Err(_) => return Waited::Over,
        }
        if waits[0].revents().contains(PollFlags::IN) {
            return self.receive();
        }
        Waited::Over
    }

    fn receive(&self) -> Waited {
        let mut call = Notification::default();
        // SAFETY: a structure of the size that the request names, which lives.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), RECEIVE as _, &raw mut call) } {
            0 => Waited::Call(call),
            // ENOENT: killed or interrupted meanwhile. EINTR: we were.
            _ => Waited::Nothing,
        }
    }

    /// The call goes on. False: nobody waits for this answer any more, and the call was not made.
    pub(crate) fn let_continue(&self, id: u64) -> bool {
        let answer = Answer { id, value: 0, error: 0, flags: CONTINUE };
        // SAFETY: as above.
        unsafe { libc::ioctl(self.0.as_raw_fd(), ANSWER as _, &raw const answer) == 0 }
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, the kernel refuses each word of ours.
    use super::*;

    #[test]
    fn structures_are_as_long_as_the_requests_say() {
        let size = |request: libc::c_ulong| (request >> 16 & 0x3fff) as usize;
        assert_eq!(size(RECEIVE), size_of::<Notification>());
        assert_eq!(size(ANSWER), size_of::<Answer>());
        assert_eq!(size(SET_FLAGS), size_of::<u64>());
    }
}
