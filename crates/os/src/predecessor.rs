//! What a process that was just killed still has: its locks and its port go when the kernel has closed
//! all of its files, a moment after it counts as ended.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

/// How often it is looked again, and how long in between: 4 s in all. A daemon of much memory that is
/// killed on a busy machine was seen to take over 1 s.
const LOOKS: u32 = 80;
const PAUSE: Duration = Duration::from_millis(50);

/// Takes the exclusive lock of a file (flock(2)), as soon as a process that ends lets it go.
///
/// # Errors
/// `ResourceBusy`: somebody has it and does not end. Those of the system.
pub fn lock_after_predecessor(file: impl AsFd) -> io::Result<()> {
    wait_for_predecessor(
        || match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => Err(io::ErrorKind::ResourceBusy.into()),
            locked => Ok(locked?),
        },
        io::ErrorKind::ResourceBusy,
    )
}

/// Listens at an address, as soon as a process that ends lets it go.
///
/// # Errors
/// `AddrInUse`: somebody listens there and does not end. Those of the system.
pub fn listen_after_predecessor(address: SocketAddr) -> io::Result<TcpListener> {
    wait_for_predecessor(|| TcpListener::bind(address), io::ErrorKind::AddrInUse)
}

fn wait_for_predecessor<T>(
    mut attempt: impl FnMut() -> io::Result<T>,
    busy: io::ErrorKind,
) -> io::Result<T> {
    for _ in 0..LOOKS {
        match attempt() {
            Err(error) if error.kind() == busy => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
    attempt()
}

#[cfg(test)]
mod tests {
    //! If these fail, a daemon that was killed can't be started again at once.
    use super::*;

    #[test]
    fn who_ends_is_waited_for_and_who_stays_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || std::fs::File::create(folder.path().join("lock")).expect("made");
        let (first, second) = (open(), open());
        lock_after_predecessor(&first).expect("nobody has it");
        let busy = lock_after_predecessor(&second).expect_err("it is taken");
        assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
        let listener = listen_after_predecessor(([127, 0, 0, 1], 0).into()).expect("any port");
        let address = listener.local_addr().expect("it has one");
        let ends = std::thread::spawn(move || {
            std::thread::sleep(PAUSE);
            drop((first, listener));
        });
        lock_after_predecessor(&second).expect("it was let go");
        listen_after_predecessor(address).expect("it was let go");
        ends.join().expect("no panic");
    }
}
