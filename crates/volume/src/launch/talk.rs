//! What front and daemon say to each other: one JSON message for each packet of a socket pair.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, SendFlags, SocketAddrUnix, recv, send};
use rustix::time::Timespec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::tiers::Underway;

/// From the front to the daemon.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToDaemon {
    /// The command could not be started: leave nothing.
    NotRun,
    /// The command runs, as this process.
    Began { command: u32 },
    /// It ended: status or signal, and CPU of it and all that it waited for, in microseconds.
    Ended { code: Option<i32>, signal: Option<i32>, user_us: u64, system_us: u64 },
    /// The volume can be reached; the device number of its mount.
    Mounted { major: u32, minor: u32 },
}

/// From the daemon to the front.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToFront {
    /// It can't serve; why.
    Failed { why: String },
    /// A lasting mount is served, and can be unmounted.
    Ready,
    /// Files come home.
    Underway(Underway),
    /// A program was started that sends work to other machines.
    SentAway { program: String },
    /// A bucket does not take what is brought to it.
    Waits(crate::bucket::Waiting),
    /// All is over, or goes on without the front.
    /// `lingering` has the processes of a run that goes on, as far as they are known.
    Over {
        run: Option<String>,
        lingering: Option<Vec<u32>>,
        warnings: Vec<String>,
        homecomings: Vec<HomecomingTold>,
        shipped: Option<crate::bucket::Told>,
    },
}

/// What became of the files of one covered directory that lay on other tiers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct HomecomingTold {
    /// The directory.
    pub directory: PathBuf,
    /// Files, and their bytes, that are plain files in place again.
    pub brought: (u64, u64),
    /// Files, and their bytes, that a rule discarded.
    pub discarded: (u64, u64),
    /// Files, and their bytes, that a rule keeps on their tier.
    pub kept: (u64, u64),
    /// Files that could not be written back: how many, and why the first could not.
    pub left: (u64, String),
    /// Files whose bytes are gone from their tier: how many, and the first.
    pub lost: (u64, String),
    /// Bodies on tiers to which no link leads.
    pub nameless: u64,
    /// Files that were published to other tiers, and their bytes.
    pub published: (u64, u64),
    /// Files that could not be published: how many, and why the first could not.
    pub unpublished: (u64, String),
    /// Files whose bytes could not be made durable in the background: how many, and why the first.
    pub unsynced: (u64, String),
    /// Rules publish files, and none was, since the command did not succeed.
    pub withheld: bool,
    /// Files that stayed in place because their tier was full or refused them, and why.
    pub spilled: (u64, String),
    /// What copies were good for; `None`: no rule has a cache.
    pub cache: Option<CacheTold>,
}

/// How files in place were read for which a rule has a cache.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheTold {
    /// Opens that read a copy.
    pub hits: u64,
    /// Opens that read the file at home.
    pub misses: u64,
    /// Files that were copied, and their bytes.
    pub copied: (u64, u64),
    /// Why some file was not copied, the first.
    pub why_not: Option<String>,
}

/// How names of doors of a lasting mount begin: abstract addresses, which need no file and are gone
/// with the daemon (unix(7)). The mount's device number and its volume say which mount.
fn name_of((major, minor): (u32, u32), volume: &Path) -> String {
    let volume = crc32fast::hash(volume.as_os_str().as_bytes());
    format!("forebay/mount/{volume:08x}/{major}:{minor}/")
}

/// Where the daemon of a lasting mount may open its door. Anybody can take a name that is free, so
/// behind those that everybody knows come some that nobody can guess.
pub(crate) fn doors_for(device: (u32, u32), volume: &Path) -> impl Iterator<Item = SocketAddrUnix> {
    let name = name_of(device, volume);
    let known = (0..8).map(|number: u64| number.to_string());
    let unknown = (0..8).map(|_| {
        let state = std::collections::hash_map::RandomState::new();
        format!("{:016x}", std::hash::BuildHasher::hash_one(&state, std::process::id()))
    });
    known.chain(unknown).filter_map(move |end| {
        SocketAddrUnix::new_abstract_name(format!("{name}{end}").as_bytes()).ok()
    })
}

/// Doors of that mount, and whatever others have put beside them: look who answers.
pub(crate) fn doors_of(device: (u32, u32), volume: &Path) -> Vec<SocketAddrUnix> {
    let name = name_of(device, volume);
    let names = abstract_names();
    let ours = names.iter().filter(|one| one.starts_with(&name));
    ours.filter_map(|one| SocketAddrUnix::new_abstract_name(one.as_bytes()).ok()).collect()
}

/// Abstract names that are taken now, each once; none where /proc is not mounted.
fn abstract_names() -> BTreeSet<String> {
    abstract_sockets().unwrap_or_default()
}

/// Names of all abstract sockets, each once.
///
/// # Errors
/// Where /proc is not mounted.
pub(crate) fn abstract_sockets() -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    // The kernel goes on by how many it has told: while others come and go, one is left out.
    for _ in 0..2 {
        let bytes = std::fs::read("/proc/net/unix")?;
        let text = String::from_utf8_lossy(&bytes);
        let found =
            text.lines().filter_map(|line| line.split_whitespace().last()?.strip_prefix('@'));
        names.extend(found.map(str::to_owned));
    }
    Ok(names)
}

/// One side of the conversation.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

impl Channel {
    pub(crate) fn new(socket: OwnedFd) -> Channel {
        Channel(socket)
    }

    /// Says something; nobody may be there to hear it.
    pub(crate) fn say(&self, message: &impl Serialize) {
        let text = serde_json::to_vec(message).expect("plain data has a JSON form");
        // Nobody may be there to hear it.
        let _ = send(&self.0, &text, SendFlags::NOSIGNAL);
    }

    /// Says something that may be missed: a listener that is stopped (Ctrl-Z) holds nobody up.
    pub(crate) fn mention(&self, message: &impl Serialize) {
        let text = serde_json::to_vec(message).expect("plain data has a JSON form");
        // Nobody may be there to hear it.
        let _ = send(&self.0, &text, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }

    /// Waits for the next message; `None` when the other side is gone.
    pub(crate) fn hear<T: DeserializeOwned>(&self) -> Option<T> {
        let mut buffer = vec![0u8; 256 << 10];
        let size = loop {
            match recv(&self.0, &mut buffer, RecvFlags::empty()) {
                Ok((_, size)) => break size,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return None,
            }
        };
        serde_json::from_slice(buffer.get(..size)?).ok()
    }

    /// Something was said, or the other side is gone; false after so many milliseconds.
    pub(crate) fn is_heard(&self, within_ms: u16) -> bool {
        let mut one = [PollFd::new(&self.0, PollFlags::IN)];
        let (tv_sec, rest) = (i64::from(within_ms / 1000), i64::from(within_ms % 1000));
        let limit = Timespec { tv_sec, tv_nsec: rest * 1_000_000 };
        poll(&mut one, Some(&limit)).is_ok_and(|ready| ready > 0)
    }

    pub(crate) fn duplicate(&self) -> io::Result<Channel> {
        self.0.try_clone().map(Channel)
    }
}
