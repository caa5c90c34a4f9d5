//! What a node needs of the world: messages, time, and somebody who makes the kernel forget.

use std::fmt::Debug;
use std::time::Duration;

use forebay_book::{EntryName, FolderId, InodeNumber, NodeId};
use forebay_os::clock::Clock;

use super::messages::{Answer, Question};

/// Another node, as the book tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// Its number.
    pub node: NodeId,
    /// What people call it.
    pub name: String,
    /// Where it is asked: `host:port`; empty: nowhere.
    pub address: String,
}

/// A question that was not answered, and why, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered(pub String);

/// Asks other nodes. A question may come twice, and ends within seconds.
pub trait Messages: Debug + Send + Sync {
    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The node is not reached, does not answer in time, or refuses.
    fn ask(&self, node: &Neighbour, question: &Question) -> Result<Answer, Unanswered>;
}

/// A bucket: objects that are written once, whole, and never changed.
pub trait ObjectStore: Debug + Send + Sync {
    /// Writes an object of `size` bytes, those of a file from its start. It may be asked for again
    /// after an error, by another name.
    ///
    /// # Errors
    /// Those of the bucket, of the disk; InvalidData: the file has another length.
    fn write(&self, object: &str, size: u64, bytes: &std::fs::File) -> std::io::Result<()>;

    /// Bytes of an object of `size` bytes; fewer than asked for where it ends.
    ///
    /// # Errors
    /// NotFound: it is gone. Otherwise those of the bucket.
    fn read(&self, object: &str, size: u64, offset: u64, length: usize)
    -> std::io::Result<Vec<u8>>;

    /// Removes an object, if it is there.
    ///
    /// # Errors
    /// Those of the bucket.
    fn remove(&self, object: &str) -> std::io::Result<()>;
}

/// Time, as a test moves it or as it is. The clock goes on while the machine sleeps.
pub trait Time: Clock {
    /// Lets this time pass.
    fn wait(&self, time: Duration);

    /// This time has passed, while a thread waited for others: a clock that is moved by hand moves.
    fn note_waited(&self, _time: Duration) {}

    /// Nanoseconds since 1970, for times of files.
    fn unix_nanos(&self) -> i64;
}

/// The machine's time, also while it sleeps (`CLOCK_BOOTTIME`).
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineTime;

impl Clock for MachineTime {
    fn elapsed_nanos(&self) -> u64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }
}

impl Time for MachineTime {
    fn wait(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn unix_nanos(&self) -> i64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        now.tv_sec * 1_000_000_000 + now.tv_nsec
    }
}

/// Makes whoever remembers answers ask again.
pub trait KernelCaches: Debug + Send + Sync {
    /// Whether it can: else no answer may be remembered at all.
    fn can_forget(&self) -> bool;

    /// From now on no name is believed that was told before, nor the attributes of these files: also
    /// not answers that are under way. It waits for nobody.
    fn forget(&self, files: &[InodeNumber]);

    /// From now on the attributes of this file are not believed that were told before, nor, if `bytes`,
    /// any byte that was read; bytes that are just being read are waited for.
    fn forget_file(&self, file: InodeNumber, bytes: bool);

    /// These names of a folder, and the files to which they lead, need not be remembered at all: a hint.
    fn drop_names(&self, _folder: FolderId, _names: &[EntryName]) {}
}

/// Nobody remembers anything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoKernelCaches;

impl KernelCaches for NoKernelCaches {
    fn can_forget(&self) -> bool {
        false
    }

    fn forget(&self, _files: &[InodeNumber]) {}

    fn forget_file(&self, _file: InodeNumber, _bytes: bool) {}
}
