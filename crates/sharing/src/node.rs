//! A node of a shared volume.

mod answers;
mod asking;
mod changes;
mod content;
mod file_locks;
mod holds;
mod idle;
mod lease;
mod locking;
mod looks;
mod names;
mod open_files;
mod owed;
mod publishing;
mod state;
#[cfg(test)]
mod tests;
mod times;
mod unreached;
mod uploads;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::time::Duration;

use forebay_book::{Book, LeaseKeeper, NodeOffer, VolumeId};
use forebay_os::clock::Clock;
use parking_lot::{Condvar, Mutex, MutexGuard};
use rustix::io::Errno;

use super::Result;
use super::bodies::BodyDirectory;
use super::environment::{KernelCaches, Messages, ObjectStore, Time};
pub use content::{BytesPlace, IN_MEMORY_MOST};
pub use names::{AttributeChange, ListedName, NewFile, RenameRule, Seen};
use state::State;
use unreached::Unreached;

/// How long the kernel may believe an answer about a folder that is held here. Others can't take the
/// folder sooner than 5 s after this node stops giving such answers.
pub const TRUST: Duration = Duration::from_secs(1);
/// How long a program waits for other nodes or for the book, before its request fails with ETIMEDOUT,
/// unless somebody says otherwise. A node that is gone loses its folders after 15 s.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same for who answers another node, which asks again.
const PATIENCE_OF_ANSWERS: Duration = Duration::from_secs(3);
/// Changes that may wait for their publication; who makes more waits. So a publication stays one that
/// a database takes in its time.
const UNPUBLISHED_MOST: u64 = 10_000;
/// Names in held folders that are kept in memory, some 100 MB, unless somebody says otherwise.
const NAMES_KEPT: usize = 100_000;
/// One look at whether what is waited for has come.
const NAP: Duration = Duration::from_millis(20);

/// What a node is made of.
#[derive(Debug)]
pub struct NodeSetup {
    /// The book.
    pub book: Arc<dyn Book>,
    /// The volume in it.
    pub volume: VolumeId,
    /// Who this node is.
    pub offer: NodeOffer,
    /// How it asks others.
    pub messages: Arc<dyn Messages>,
    /// Time.
    pub time: Arc<dyn Time>,
    /// Where the bytes of long files are kept. Nobody else uses it.
    pub bodies: PathBuf,
    /// Owner and group of the volume's root, until somebody changes them.
    pub owner: (u32, u32),
}

/// Figures of a node, since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// Publications that the book took.
    pub publications: u64,
    /// Folders that were taken, other than those that were made here.
    pub taken: u64,
    /// Folders that were given up because others asked.
    pub given_up: u64,
    /// Changes that were lost, since the lease was over and others took their folders.
    pub lost: u64,
}

/// How a node is at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeStanding {
    /// Folders that it holds.
    pub folders: u64,
    /// Names in them that are in memory.
    pub names: u64,
    /// For how long it may change what it holds without another renewal; zero: not now.
    pub lease_left: Duration,
    /// Changes that the book does not have yet.
    pub unpublished: u64,
    /// Since it began.
    pub counts: NodeCounts,
}

/// One of the nodes that write a volume.
#[derive(Debug)]
pub struct SharedNode {
    book: Arc<dyn Book>,
    volume: VolumeId,
    offer: NodeOffer,
    messages: Arc<dyn Messages>,
    time: Arc<dyn Time>,
    lease: LeaseKeeper,
    bodies: BodyDirectory,
    owner: (u32, u32),
    caches: std::sync::OnceLock<Arc<dyn KernelCaches>>,
    store: std::sync::OnceLock<Arc<dyn ObjectStore>>,
    /// Bytes that copies of what the bucket has may take on this disk.
    copy_limit: AtomicU64,
    /// How long programs wait, nanoseconds.
    patience: AtomicU64,
    /// Whether fsync waits until the bucket has a file.
    syncs_to_store: AtomicBool,
    /// Names in held folders that are kept in memory.
    names_kept: AtomicUsize,
    state: Mutex<State>,
    /// Something in the state is other than it was.
    changed: Condvar,
    /// Somebody changed something that is to be published.
    dirtied: Condvar,
    /// Somebody who does not reach this node wants a folder.
    asked_for: Condvar,
    unreached: Unreached,
}

/// A moment by which a wait ends.
#[derive(Debug, Clone, Copy)]
struct Deadline(u64);

impl SharedNode {
    /// Joins the nodes of a volume: what an earlier process of this node held is given up.
    ///
    /// # Errors
    /// What the book says, or the directory for bytes.
    pub fn join(setup: NodeSetup) -> io::Result<Arc<SharedNode>> {
        let NodeSetup { book, volume, offer, messages, time, bodies, owner } = setup;
        let bodies = BodyDirectory::open(&bodies)?;
        let clock: Arc<dyn Clock> = Arc::<dyn Time>::clone(&time);
        let lease = LeaseKeeper::new(clock);
        let refused =
            |error: forebay_book::Error| io::Error::other(format!("{error}; {}", error.next));
        let before = book.register(volume, &offer).map_err(refused)?;
        if !before.holds.is_empty() {
            book.leave(&before.member).map_err(refused)?;
        }
        let start = lease.begin_renewal();
        let registration = book.register(volume, &offer).map_err(refused)?;
        lease.note_renewed(start);
        let node = SharedNode {
            state: Mutex::new(State::new(&registration, owner)),
            book,
            volume,
            offer,
            messages,
            time,
            lease,
            bodies,
            owner,
            caches: std::sync::OnceLock::new(),
            store: std::sync::OnceLock::new(),
            copy_limit: AtomicU64::new(u64::MAX),
            patience: AtomicU64::new(PATIENCE.as_nanos() as u64),
            syncs_to_store: AtomicBool::new(false),
            names_kept: AtomicUsize::new(NAMES_KEPT),
            changed: Condvar::new(),
            dirtied: Condvar::new(),
            asked_for: Condvar::new(),
            unreached: Unreached::default(),
        };
        node.take_over_bodies()?;
        Ok(Arc::new(node))
    }

    /// Who can make the kernel forget, once it is known. Without it nothing is to be believed for
    /// longer than a request takes.
    pub fn set_caches(&self, caches: Arc<dyn KernelCaches>) {
        let _ = self.caches.set(caches);
    }

    /// How long programs wait for other nodes, for the book, and with fsync for the bucket, before
    /// their request fails with ETIMEDOUT. At least as long as a node may be away before it loses its
    /// folders (15 s), or each such loss is an error.
    pub fn set_patience(&self, patience: Duration) {
        let nanos = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        self.patience.store(nanos, Relaxed);
    }

    fn patience(&self) -> Duration {
        Duration::from_nanos(self.patience.load(Relaxed))
    }

    /// Figures of this moment.
    #[must_use]
    pub fn counts(&self) -> NodeCounts {
        self.state.lock().counts
    }

    /// How it is at this moment.
    #[must_use]
    pub fn standing(&self) -> NodeStanding {
        let state = self.state.lock();
        NodeStanding {
            folders: state.folders.len() as u64,
            names: state.folders.values().map(|held| held.names.len() as u64).sum(),
            lease_left: self.lease.time_left(),
            unpublished: state.change - state.published,
            counts: state.counts,
        }
    }

    /// The time that files get now, nanoseconds since 1970.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.time.unix_nanos()
    }

    fn deadline(&self, patience: Duration) -> Deadline {
        Deadline(self.time.elapsed_nanos().saturating_add(patience.as_nanos() as u64))
    }

    fn is_over(&self, deadline: Deadline) -> bool {
        self.time.elapsed_nanos() >= deadline.0
    }

    /// Waits until the state changes, or a moment.
    fn nap(&self, state: &mut MutexGuard<'_, State>) {
        if self.changed.wait_for(state, NAP).timed_out() {
            self.time.note_waited(NAP);
        }
    }

    /// As [`SharedNode::nap`], for who waits until the deadline.
    ///
    /// # Errors
    /// ETIMEDOUT, and a line in the log.
    fn nap_until(
        &self,
        state: &mut MutexGuard<'_, State>,
        deadline: Deadline,
        what: &dyn std::fmt::Display,
    ) -> Result<()> {
        if self.is_over(deadline) {
            return Err(self.give_up_waiting(what));
        }
        self.nap(state);
        Ok(())
    }

    fn give_up_waiting(&self, what: &dyn std::fmt::Display) -> Errno {
        tracing::warn!("node {} has waited in vain: {what}", self.offer.name());
        Errno::TIMEDOUT
    }

    /// Asks the book, again and again where it does not answer.
    ///
    /// # Errors
    /// ETIMEDOUT: it did not answer. EIO: it refuses.
    fn ask_book<T>(&self, ask: impl Fn() -> forebay_book::Result<T>) -> Result<T> {
        let deadline = self.deadline(self.patience());
        loop {
            match ask() {
                Ok(answer) => return Ok(answer),
                Err(error) if !error.is_passing() => return Err(self.refused(&error)),
                Err(error) if self.is_over(deadline) => {
                    return Err(self.give_up_waiting(&said_by_book(&error)));
                }
                Err(_) => self.time.wait(10 * NAP),
            }
        }
    }

    /// The book's refusal as programs see it.
    fn refused(&self, error: &forebay_book::Error) -> Errno {
        tracing::warn!("{}", said_by_book(error));
        Errno::IO
    }
}

/// Why the book does not do what was asked, and what people can do about it.
fn said_by_book(error: &forebay_book::Error) -> String {
    format!("the book: {error}; {}", error.next)
}
