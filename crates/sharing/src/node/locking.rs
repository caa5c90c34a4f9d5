//! Locks. A node knows those of its own programs, and nobody else does: who wants one holds the
//! file's folder, and asks the nodes that may have locks on the file. Their numbers stand in the
//! file's record, and travel with the folder.
//!
//! So a lock costs no message where the folder stays on one node, locks of a node that is gone end
//! with its lease, and what a program wrote before it gave up a lock has come with the folder.

use std::time::Duration;

use forebay_book::{FileRecord, InodeNumber, NodeId};
use rustix::io::Errno;

use super::SharedNode;
use super::file_locks::FileLocks;
use super::state::{File, State};
use crate::Result;
use crate::environment::Neighbour;
use crate::locks::{Lock, LockFamily, LockTable, Unlocked};
use crate::messages::{Answer, Question};

/// The attribute of a record that has the nodes whose programs may have locks on the file. Programs do
/// not see it.
const LOCKERS: &[u8] = b"forebay.lockers";
/// Between two questions to the node whose lock is in the way: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(16);
/// The same where it does not answer.
const PAUSE_AWAY: Duration = Duration::from_millis(250);
/// A node that asked so long ago waits still, if it has not got its lock.
const WAITS: Duration = Duration::from_millis(100);
/// So long who waits on this node lets one on another node come first, after a lock was given up.
const TURN: Duration = Duration::from_millis(50);

/// Why a lock is not to be had.
enum InTheWay {
    /// A program of this node has one.
    Here,
    /// One of another node has.
    There,
    /// One of a node that does not answer may have.
    Silent,
}

impl InTheWay {
    fn on_another_node(lock: Option<Lock>) -> InTheWay {
        if lock.is_some() { InTheWay::There } else { InTheWay::Silent }
    }
}

/// What another node says.
enum Verdict {
    InTheWay(Option<Lock>),
    Free {
        has_others: bool,
    },
    /// Its lease is over, and with it its locks.
    Gone,
}

impl SharedNode {
    /// Locks a file. With `interrupted` it waits until the lock is to be had, or until that says
    /// true.
    ///
    /// # Errors
    /// EAGAIN: somebody else has it. EINTR: interrupted. EIO: locks on this file were lost with the
    /// lease, and somebody has it open still. Those of [`SharedNode::set_attributes`].
    pub fn lock(
        &self,
        file: InodeNumber,
        wanted: Lock,
        interrupted: Option<&dyn Fn() -> bool>,
    ) -> Result<()> {
        if wanted.family == LockFamily::Whole {
            // flock(2): what its owner had is given up first.
            self.unlock(file, Unlocked::all_of(wanted.owner, LockFamily::Whole))?;
        }
        let mut pause = FIRST_PAUSE;
        loop {
            let in_the_way = self.try_to_lock(file, &wanted, interrupted.is_some())?;
            let Some(in_the_way) = in_the_way else { return Ok(()) };
            let Some(interrupted) = interrupted else { return Err(Errno::AGAIN) };
            if interrupted() {
                return Err(Errno::INTR);
            }
            match in_the_way {
                InTheWay::Here => {
                    let mut state = self.state.lock();
                    if state.is_over {
                        return Err(Errno::IO);
                    }
                    self.nap(&mut state);
                    pause = FIRST_PAUSE;
                }
                InTheWay::There => {
                    self.time.wait(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                // Its lease has to end.
                InTheWay::Silent => self.time.wait(PAUSE_AWAY),
            }
        }
    }

    /// A lock that keeps this one out, if there is one; of one on another node the process is 0.
    ///
    /// # Errors
    /// Those of [`SharedNode::set_attributes`].
    pub fn lock_in_the_way(&self, file: InodeNumber, wanted: &Lock) -> Result<Option<Lock>> {
        let pins = self.pin_file(file)?;
        let own = {
            let state = self.state.lock();
            let file = state.files.get(&file).ok_or(Errno::STALE)?;
            file.locks.as_ref().and_then(|locks| locks.table.against_neighbour(wanted))
        };
        if own.is_some() || pins.is_none() {
            return Ok(own);
        }
        let found = self.ask_lockers(file, wanted, false, &mut Vec::new())?;
        Ok(found.map(|found| Lock { pid: 0, ..found.unwrap_or(*wanted) }))
    }

    /// Gives up locks. What any program of this node has written until now is for others to change
    /// from then on.
    ///
    /// # Errors
    /// Those of [`SharedNode::flush`]; the locks are given up all the same.
    pub fn unlock(&self, file: InodeNumber, what: Unlocked) -> Result<()> {
        {
            let state = self.state.lock();
            let locks = state.files.get(&file).and_then(|file| file.locks.as_ref());
            if locks.is_none_or(|locks| !locks.table.has_of(&what)) {
                return Ok(());
            }
        }
        let settled = self.settle_writes();
        let now = self.time.elapsed_nanos();
        let mut state = self.state.lock();
        let locks = state.files.get_mut(&file).and_then(|file| file.locks.as_mut());
        if let Some(locks) = locks {
            locks.table.unset(&what);
            if locks.others_wait_until > now {
                locks.turn_of_others = now + TURN.as_nanos() as u64;
            }
        }
        drop(state);
        self.changed.notify_all();
        settled
    }

    /// Tries once.
    fn try_to_lock(
        &self,
        file: InodeNumber,
        wanted: &Lock,
        waits: bool,
    ) -> Result<Option<InTheWay>> {
        let refused_by = {
            let mut state = self.state.lock();
            let locks = state.files.get_mut(&file).ok_or(Errno::STALE)?.locks_mut();
            if locks.are_lost {
                return Err(Errno::IO);
            }
            let its_turn = waits && locks.turn_of_others > self.time.elapsed_nanos();
            if its_turn || locks.table.against_neighbour(wanted).is_some() {
                return Ok(Some(InTheWay::Here));
            }
            locks.refused_by
        };
        if let Some(node) = refused_by
            && let Verdict::InTheWay(lock) = self.ask_locker(node, file, wanted, waits)?
        {
            return Ok(Some(InTheWay::on_another_node(lock)));
        }
        let pins = self.pin_file(file)?;
        let mut asked = Vec::new();
        if pins.is_some()
            && let Some(lock) = self.ask_lockers(file, wanted, waits, &mut asked)?
        {
            return Ok(Some(InTheWay::on_another_node(lock)));
        }
        let mut state = self.state.lock();
        let me = state.me();
        if pins.is_some() {
            // While others were asked this node may have lost the folder with its lease, and taken it
            // again: then somebody may have the lock who was not asked.
            let known = state.files.get(&file).ok_or(Errno::STALE)?;
            let knows = |node: &NodeId| *node == me || asked.contains(node);
            let holds = state.is_ours(known) && self.lease.may_change();
            if !holds || !lockers_of(&known.record).iter().all(knows) {
                return Ok(Some(InTheWay::There));
            }
        }
        let known = state.files.get_mut(&file).ok_or(Errno::STALE)?;
        let locks = known.locks_mut();
        locks.refused_by = None;
        if locks.are_lost {
            return Err(Errno::IO);
        }
        if locks.table.against_neighbour(wanted).is_some() {
            return Ok(Some(InTheWay::Here));
        }
        let was_locked = !locks.table.is_empty();
        locks.table.set(*wanted);
        let mut nodes = lockers_of(&known.record);
        if !nodes.contains(&me) {
            nodes.push(me);
            set_lockers(known, &nodes);
        }
        let is_other = std::mem::take(&mut known.is_other_in_kernel);
        drop(state);
        drop(pins);
        // Before the program hears of its lock; others do not change the file from now on. As long as
        // it has locks its attributes are told anew each time, and the kernel is not made to forget
        // them when the folder goes: an answer that is under way then would be dropped, and a read go
        // by the length that the file had before.
        if (is_other || !was_locked)
            && let Some(caches) = self.caches.get()
        {
            caches.forget_file(file, is_other);
        }
        Ok(None)
    }

    /// Asks all nodes that may have locks on a file, whose folder is held, and notes whom. Gives the
    /// lock that is in the way, if its node says which.
    fn ask_lockers(
        &self,
        file: InodeNumber,
        wanted: &Lock,
        waits: bool,
        asked: &mut Vec<NodeId>,
    ) -> Result<Option<Option<Lock>>> {
        let (nodes, me) = {
            let state = self.state.lock();
            (lockers_of(&state.files.get(&file).ok_or(Errno::STALE)?.record), state.me())
        };
        let mut without = Vec::new();
        for node in nodes.iter().filter(|node| **node != me) {
            asked.push(*node);
            match self.ask_locker(*node, file, wanted, waits)? {
                Verdict::InTheWay(lock) => {
                    let mut state = self.state.lock();
                    let known = state.files.get_mut(&file).ok_or(Errno::STALE)?;
                    known.locks_mut().refused_by = Some(*node);
                    return Ok(Some(lock));
                }
                Verdict::Free { has_others: true } => {}
                Verdict::Free { has_others: false } | Verdict::Gone => without.push(*node),
            }
        }
        if !without.is_empty() {
            let mut state = self.state.lock();
            let known = state.files.get_mut(&file).ok_or(Errno::STALE)?;
            let mut nodes = lockers_of(&known.record);
            nodes.retain(|node| !without.contains(node));
            set_lockers(known, &nodes);
        }
        Ok(None)
    }

    /// Asks one; one that does not answer, and whose lease lasts, may have any lock.
    fn ask_locker(
        &self,
        node: NodeId,
        file: InodeNumber,
        wanted: &Lock,
        waits: bool,
    ) -> Result<Verdict> {
        let question = Question::Locks { of: node, file, wanted: *wanted, waits };
        let known = self.state.lock().neighbours.get(&node).cloned();
        if let Some(known) = known
            && let Ok(Answer::Locks { in_the_way, has_others }) =
                self.messages.ask(&known, &question)
        {
            return Ok(verdict(in_the_way, has_others));
        }
        let nodes = self.ask_book(|| self.book.nodes(self.volume))?;
        let found = nodes.into_iter().find(|other| other.node == node);
        let Some(found) = found.filter(|other| other.lease_left.is_some()) else {
            self.state.lock().neighbours.remove(&node);
            return Ok(Verdict::Gone);
        };
        let asked = Neighbour { node, name: found.name, address: found.address };
        self.state.lock().neighbours.insert(node, asked.clone());
        Ok(match self.messages.ask(&asked, &question) {
            Ok(Answer::Locks { in_the_way, has_others }) => verdict(in_the_way, has_others),
            silent => {
                let Neighbour { name, address, .. } = asked;
                tracing::debug!("locks on file {file}: node {name} ({address}) says {silent:?}");
                Verdict::InTheWay(None)
            }
        })
    }

    /// Answers another node that holds the file's folder, or is about to.
    pub(super) fn answer_locks(
        &self,
        (of, file): (NodeId, InodeNumber),
        wanted: &Lock,
        waits: bool,
    ) -> Answer {
        let mut state = self.state.lock();
        if of != state.me() {
            return Answer::NotHeld; // Another node had this address.
        }
        if !self.lease.may_change() {
            return Answer::Busy("the book has not renewed its lease".to_owned());
        }
        let locks = state.files.get_mut(&file).and_then(|file| file.locks.as_mut());
        let Some(locks) = locks else {
            return Answer::Locks { in_the_way: None, has_others: false };
        };
        let in_the_way = locks.table.against_other_node(wanted);
        if waits && in_the_way.is_some() {
            locks.others_wait_until = self.time.elapsed_nanos() + WAITS.as_nanos() as u64;
        }
        Answer::Locks { in_the_way, has_others: !locks.table.is_empty() }
    }

    /// What programs of this node have written until now others may change: files that are away come
    /// back first.
    ///
    /// # Errors
    /// Those of [`SharedNode::flush`].
    pub(super) fn settle_writes(&self) -> Result<()> {
        let away: Vec<InodeNumber> = {
            let mut state = self.state.lock();
            state.settled += 1;
            state.away_files()
        };
        let mut settled = Ok(());
        for file in away {
            settled = settled.and(self.pin_file(file).map(drop));
        }
        settled
    }
}

fn verdict(in_the_way: Option<Lock>, has_others: bool) -> Verdict {
    match in_the_way {
        Some(lock) => Verdict::InTheWay(Some(lock)),
        None => Verdict::Free { has_others },
    }
}

/// Nodes whose programs may have locks on a file.
pub(super) fn lockers_of(record: &FileRecord) -> Vec<NodeId> {
    let said = record.attributes.iter().find(|(name, _)| name == LOCKERS);
    let said = said.map_or(&[][..], |(_, value)| value);
    let number = |bytes: &[u8]| bytes.try_into().map(i64::from_le_bytes).map(NodeId).ok();
    said.chunks_exact(8).filter_map(number).collect()
}

/// The same, from now on. It is published when the folder goes: until then it concerns nobody else.
fn set_lockers(file: &mut File, nodes: &[NodeId]) {
    file.record.attributes.retain(|(name, _)| name != LOCKERS);
    if !nodes.is_empty() {
        let bytes = nodes.iter().flat_map(|node| node.0.to_le_bytes()).collect();
        file.record.attributes.push((LOCKERS.to_vec(), bytes));
    }
    file.has_other_lockers = true;
}

impl File {
    fn locks_mut(&mut self) -> &mut FileLocks {
        self.locks.get_or_insert_default()
    }

    /// Programs of this node have locks on it.
    pub(super) fn is_locked(&self) -> bool {
        self.locks.as_ref().is_some_and(|locks| !locks.table.is_empty())
    }

    /// Locks on it were lost: nobody who has it open changes it any more.
    pub(super) fn has_lost_locks(&self) -> bool {
        self.locks.as_ref().is_some_and(|locks| locks.are_lost)
    }

    /// What the book says of lockers, though all else is known better here.
    pub(super) fn take_lockers(&mut self, from: &FileRecord) {
        let nodes = lockers_of(from);
        if nodes != lockers_of(&self.record) {
            set_lockers(self, &nodes);
        }
    }

    /// Its folder goes to another node, on which whoever waits is not known.
    pub(super) fn note_folder_gone(&mut self) {
        if let Some(locks) = &mut self.locks {
            (locks.others_wait_until, locks.turn_of_others) = (0, 0);
        }
    }
}

impl State {
    /// The lease was over: locks on files whose folders this node has not kept may be others' by now.
    pub(super) fn lose_locks(&mut self) {
        let State { files, folders, .. } = self;
        for (number, file) in files {
            let is_kept = file.links == 0
                || file.home.as_ref().is_some_and(|(home, _)| folders.contains_key(home));
            let Some(locks) = file.locks.as_mut().filter(|locks| !locks.table.is_empty()) else {
                continue;
            };
            if is_kept {
                continue;
            }
            (locks.table, locks.are_lost, file.away) = (LockTable::default(), true, false);
            file.body = super::state::Body::Published;
            file.local = None;
            tracing::error!(
                "locks on file {number} were lost with this node's lease: who had them gets I/O \
                 errors until all have closed it"
            );
        }
    }

    fn away_files(&mut self) -> Vec<InodeNumber> {
        let State { away, files, .. } = self;
        away.retain(|number| files.get(number).is_some_and(|file| file.away && file.links > 0));
        away.iter().copied().collect()
    }
}
