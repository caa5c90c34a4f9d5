//! The node's lease: renewed, lost, and taken again.

use std::time::Duration;

use forebay_book::{
    Claim, Epoch, ErrorKind, FolderId, InodeNumber, Membership, RENEW_EVERY, Registration,
};
use rustix::io::Errno;

use super::state::{Body, State};
use super::{NAP, SharedNode};
use crate::Result;

/// Between two attempts to renew while the book does not answer.
const PAUSE: Duration = Duration::from_secs(1);

impl SharedNode {
    /// Renews the lease, until the node leaves. Its thread's work: it waits for no publication.
    pub fn renew_while_serving(&self) {
        let mut next = self.time.elapsed_nanos();
        loop {
            if self.state.lock().is_over {
                return;
            }
            if self.time.elapsed_nanos() >= next {
                let pause = match self.renew() {
                    Ok(()) => RENEW_EVERY,
                    Err(_) => PAUSE,
                };
                next = self.time.elapsed_nanos() + pause.as_nanos() as u64;
            }
            self.time.wait(5 * NAP);
        }
    }

    /// Renews the lease once. If it is over, the node registers anew: it keeps what nobody has taken.
    ///
    /// # Errors
    /// EAGAIN: the book does not answer. EIO: it refuses.
    pub fn renew(&self) -> Result<()> {
        let member = self.state.lock().member;
        let start = self.lease.begin_renewal();
        match self.book.renew(&member) {
            Ok(wanted) => {
                // Who has registered anew meanwhile has another lease.
                if self.state.lock().member == member {
                    self.lease.note_renewed(start);
                    self.note_wanted(wanted);
                }
                self.changed.notify_all();
                Ok(())
            }
            Err(error) if matches!(error.kind, ErrorKind::LeaseExpired | ErrorKind::Fenced) => {
                self.rejoin(member)
            }
            Err(error) if error.is_passing() => {
                tracing::warn!("the lease can't be renewed: {error}; {}", error.next);
                Err(Errno::AGAIN)
            }
            Err(error) => Err(self.refused(&error)),
        }
    }

    /// Leaves the nodes of the volume: publishes all, and gives up all. Nothing more is served.
    ///
    /// # Errors
    /// What the book says: changes are not published then, or others wait until the lease is over.
    pub fn leave(&self) -> Result<()> {
        let published = self.publish();
        self.keep_unneeded();
        let member = {
            let mut state = self.state.lock();
            state.is_over = true;
            state.member
        };
        self.lease.note_lost();
        self.changed.notify_all();
        self.dirtied.notify_all();
        self.asked_for.notify_all();
        match self.book.leave(&member) {
            Ok(()) => published,
            Err(error) => Err(self.refused(&error)),
        }
    }

    /// Registers anew after `seen` was refused: by whoever comes first; the others wait.
    pub(super) fn rejoin(&self, seen: Membership) -> Result<()> {
        self.rejoin_after(seen, false)
    }

    /// The same; what was not published is lost for sure, if `is_lost`.
    pub(super) fn rejoin_after(&self, seen: Membership, is_lost: bool) -> Result<()> {
        let deadline = self.deadline(self.patience());
        let mut state = self.state.lock();
        while state.is_joining && state.member == seen {
            self.nap_until(&mut state, deadline, &"another thread registers at the book")?;
        }
        if state.member != seen {
            return Ok(());
        }
        state.is_joining = true;
        drop(state);
        let joined = self.register_anew(is_lost);
        self.state.lock().is_joining = false;
        self.changed.notify_all();
        joined
    }

    fn register_anew(&self, is_lost: bool) -> Result<()> {
        let start = self.lease.begin_renewal();
        let registration = self.book.register(self.volume, &self.offer);
        let registration = registration.map_err(|error| self.refused(&error))?;
        let mut state = self.state.lock();
        if let Some(pending) = &state.pending
            && pending.publication.number == registration.published
        {
            state.finish_pending();
        }
        if !is_lost && state.still_holds_all(&registration) {
            tracing::info!("registered anew; nobody has taken anything meanwhile");
            state.member = registration.member;
            state.lose_locks();
            drop(state);
            self.lease.note_renewed(start);
            return Ok(());
        }
        let published = state.published;
        let lost = state.lose_all();
        let gone = state.uploads.gone.extract_if(.., |(change, _)| *change > published);
        let gone: Vec<InodeNumber> = gone.map(|(_, number)| number).collect();
        state.counts.lost += lost.len() as u64;
        for what in &lost {
            tracing::error!("lost, since it was not published when others took over: {what}");
        }
        drop(state);
        // What is left of its holds nobody here knows any more.
        self.book.leave(&registration.member).map_err(|error| self.refused(&error))?;
        let start = self.lease.begin_renewal();
        let registration = self.book.register(self.volume, &self.offer);
        let registration = registration.map_err(|error| self.refused(&error))?;
        let mut state = self.state.lock();
        (state.member, state.last_number) = (registration.member, registration.published);
        drop(state);
        self.lease.note_renewed(start);
        self.take_back_gone(&gone);
        Ok(())
    }
}

impl State {
    /// Whether the book still says of each folder that is held here that it is.
    fn still_holds_all(&self, registration: &Registration) -> bool {
        let has = |folder: FolderId, epoch: Epoch| registration.holds.contains(&(folder, epoch));
        let kept = self.folders.iter().all(|(folder, held)| match held.claim {
            Claim::Held(epoch) => has(*folder, epoch),
            Claim::Made => true,
        });
        kept && self.removed.iter().all(|(folder, epoch, _)| has(*folder, *epoch))
    }

    /// Others have taken over: nothing is held any more, and what was not published is gone. Gives
    /// that, in words.
    fn lose_all(&mut self) -> Vec<String> {
        let mut lost = Vec::new();
        for (folder, held) in &self.folders {
            lost.extend(held.dirty.iter().map(|name| format!("{name:?} in folder {folder}")));
        }
        if let Some(pending) = self.pending.take() {
            let names = pending.publication.folders.iter().flat_map(|change| {
                change
                    .names
                    .iter()
                    .map(|name| format!("{:?} in folder {}", name.name(), change.folder))
            });
            lost.extend(names);
        }
        self.folders.clear();
        self.removed.clear();
        self.lose_locks();
        for number in self.dirty_files.drain() {
            let Some(file) = self.files.get_mut(&number) else { continue };
            if !file.is_folder() && !file.away {
                lost.push(format!("bytes or attributes of file {number}"));
                (file.body, file.is_lost) = (Body::Published, true);
            }
        }
        for file in self.files.values_mut() {
            file.away = false;
        }
        let numbers: Vec<_> = self.files.keys().copied().collect();
        for number in numbers {
            self.forget_if_unused(number);
        }
        // Their files have their names still, as far as is known here.
        self.uploads.unneeded.clear();
        (self.published, self.collected) = (self.change, self.change);
        lost
    }
}
