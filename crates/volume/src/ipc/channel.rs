//! One side of a conversation: one JSON message for each packet of a socket pair.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::time::Timespec;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One side of the conversation.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

impl Channel {
    pub(crate) fn new(socket: OwnedFd) -> Channel {
        Channel(socket)
    }

    /// Says something; nobody may be there to hear it.
    pub(crate) fn send_message(&self, message: &impl Serialize) {
        let text = serde_json::to_vec(message).expect("plain data has a JSON form");
        // Nobody may be there to hear it.
        let _ = send(&self.0, &text, SendFlags::NOSIGNAL);
    }

    /// Says something that may be missed: a listener that is stopped (Ctrl-Z) holds nobody up.
    pub(crate) fn try_send_message(&self, message: &impl Serialize) {
        let text = serde_json::to_vec(message).expect("plain data has a JSON form");
        // Nobody may be there to hear it.
        let _ = send(&self.0, &text, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }

    /// Waits for the next message; `None` when the other side is gone.
    pub(crate) fn receive_message<T: DeserializeOwned>(&self) -> Option<T> {
        let mut buffer = vec![0u8; 256 << 10];
        let size = loop {
            match recv(&self.0, &mut buffer, RecvFlags::empty()) {
                Ok((_, size)) => break size,
                // Linux reports once, and first, that the other side went without having read what
                // this side said; its last words are still to be received.
                Err(Errno::INTR | Errno::CONNRESET) => {}
                Err(_) => return None,
            }
        };
        serde_json::from_slice(buffer.get(..size)?).ok()
    }

    /// Something was said, or the other side is gone; false after so many milliseconds.
    pub(crate) fn has_message_within(&self, within_ms: u16) -> bool {
        let mut one = [PollFd::new(&self.0, PollFlags::IN)];
        let (tv_sec, rest) = (i64::from(within_ms / 1000), i64::from(within_ms % 1000));
        let limit = Timespec { tv_sec, tv_nsec: rest * 1_000_000 };
        poll(&mut one, Some(&limit)).is_ok_and(|ready| ready > 0)
    }

    pub(crate) fn duplicate(&self) -> io::Result<Channel> {
        self.0.try_clone().map(Channel)
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;

    /// If this fails, a daemon's reason is lost where it ends while the launcher says something: the
    /// user reads of a broken pipe.
    #[test]
    fn last_words_are_heard_though_the_other_side_did_not_listen() {
        let (here, there) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .expect("a pair of sockets");
        let (here, there) = (Channel::new(here), Channel::new(there));
        there.send_message(&"why");
        here.send_message(&"not run");
        drop(there);
        assert_eq!(here.receive_message::<String>().as_deref(), Some("why"));
        assert_eq!(here.receive_message::<String>(), None);
    }
}
