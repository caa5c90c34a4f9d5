//! Publications: all that changed on this node since the last one, as one transaction.

use std::sync::Arc;
use std::time::Duration;

use forebay_book::{
    After, Claim, EntryName, Epoch, ErrorKind, FileBytes, FileRecord, FolderChange, FolderId,
    InodeNumber, NameChange, Publication,
};
use parking_lot::MutexGuard;

use super::state::{Body, File, LINKS, Pending, Stage, State};
use super::{Deadline, SharedNode, said_by_book};
use crate::Result;

/// How long after a change it is published, if nobody asks before: programs that make many files get
/// one transaction for all of them.
const DELAY: Duration = Duration::from_millis(50);
/// Between two attempts while the book does not answer.
const PAUSE: Duration = Duration::from_millis(200);

impl SharedNode {
    /// Publishes all that has changed until now, and waits until the book has it.
    ///
    /// # Errors
    /// ETIMEDOUT: the book does not answer. EIO: it was lost, since the lease was over.
    pub fn publish(&self) -> Result<()> {
        let (change, lost) = {
            let state = self.state.lock();
            (state.change, state.counts.lost)
        };
        self.publish_until(|state| state.published >= change, self.deadline(self.patience()))?;
        match self.state.lock().counts.lost == lost {
            true => Ok(()),
            false => Err(rustix::io::Errno::IO),
        }
    }

    /// Publishes what changes, a moment after it changed, until the node leaves. Its thread's work.
    pub fn publish_while_serving(&self) {
        loop {
            let mut state = self.state.lock();
            while !state.is_over && state.published == state.change {
                self.dirtied.wait_for(&mut state, PAUSE);
            }
            if state.is_over {
                return;
            }
            drop(state);
            self.time.wait(DELAY);
            // Who asks for it is told why it fails.
            let _ = self.publish();
            // Folders that are not given back now are so later.
            let _ = self.give_back_idle();
        }
    }

    /// Publishes until it `is_done`.
    ///
    /// # Errors
    /// ETIMEDOUT: the book does not answer.
    pub(super) fn publish_until(
        &self,
        is_done: impl Fn(&State) -> bool,
        deadline: Deadline,
    ) -> Result<()> {
        let mut state = self.state.lock();
        loop {
            if is_done(&state) {
                return Ok(());
            }
            if state.is_publishing || state.is_joining {
                self.nap_until(&mut state, deadline, &"another thread speaks with the book")?;
                continue;
            }
            if state.pending.is_none() {
                state.pending = self.collect(&mut state);
            }
            let Some(pending) = &state.pending else {
                state.published = state.change;
                if is_done(&state) {
                    return Ok(());
                }
                self.nap_until(&mut state, deadline, &"a change of another thread")?;
                continue;
            };
            let (publication, member) = (Arc::clone(&pending.publication), state.member);
            state.is_publishing = true;
            drop(state);
            let answer = self.book.publish(&member, &publication);
            state = self.state.lock();
            state.is_publishing = false;
            self.changed.notify_all();
            let Err(error) = answer else {
                state.finish_pending();
                continue;
            };
            match error.kind {
                ErrorKind::LeaseExpired | ErrorKind::Fenced => {
                    drop(state);
                    tracing::warn!("the book refuses a publication: {error}");
                    self.rejoin_after(member, error.kind == ErrorKind::Fenced)?;
                    state = self.state.lock();
                }
                _ if error.is_passing() => {
                    if self.is_over(deadline) {
                        return Err(self.give_up_waiting(&said_by_book(&error)));
                    }
                    drop(state);
                    self.time.wait(PAUSE);
                    state = self.state.lock();
                }
                _ => {
                    let why = self.refused(&error);
                    drop(state);
                    self.rejoin_after(member, true)?;
                    return Err(why);
                }
            }
        }
    }

    /// All that changed, as one publication; `None`: nothing did.
    pub(super) fn collect(&self, state: &mut MutexGuard<'_, State>) -> Option<Pending> {
        let state = &mut **state;
        let mut folders = Vec::new();
        let mut given_up = Vec::new();
        for (folder, held) in &mut state.folders {
            let is_ready = held.stage == Stage::Ready;
            if !held.is_dirty && !is_ready {
                continue;
            }
            if is_ready {
                held.stage = Stage::Sent;
                given_up.push(*folder);
            }
            let dirty = std::mem::take(&mut held.dirty);
            held.is_dirty = false;
            let mut names: Vec<NameChange> =
                dirty.into_iter().map(|name| held.name_change(name)).collect();
            names.sort_unstable_by(|one, other| one.name().cmp(other.name()));
            let after = if is_ready { After::GiveUp } else { After::Keep };
            folders.push(FolderChange { folder: *folder, claim: held.claim, names, after });
        }
        for (folder, epoch, names) in state.removed.drain(..) {
            let names = names.into_iter().map(NameChange::Remove).collect();
            folders.push(FolderChange {
                folder,
                claim: Claim::Held(epoch),
                names,
                after: After::Remove,
            });
        }
        if folders.is_empty() {
            return None;
        }
        folders.sort_unstable_by_key(|change| change.folder);
        let mut numbers: Vec<InodeNumber> = state.dirty_files.iter().copied().collect();
        for folder in &given_up {
            // Who gets the folder has to know that they are written here.
            let names = state.folders.get(folder).map(|held| held.names.values());
            let written = names.into_iter().flatten().filter(|number| {
                state.files.get(*number).is_some_and(|file| {
                    file.is_being_written(state.settled) || file.has_other_lockers
                })
            });
            numbers.extend(written);
        }
        numbers.sort_unstable();
        numbers.dedup();
        let me = state.me();
        let mut files = Vec::new();
        let mut unneeded = std::mem::take(&mut state.uploads.unneeded);
        for number in numbers {
            let leaving = |file: &File| {
                file.home.as_ref().is_some_and(|(folder, _)| given_up.contains(folder))
            };
            let in_it = state.files.get(&number).is_some_and(|file| state.is_ours(file));
            let settled = state.settled;
            let Some(file) = state.files.get_mut(&number) else {
                state.dirty_files.remove(&number);
                continue;
            };
            if file.links == 0 || !in_it || file.away {
                state.dirty_files.remove(&number);
                continue;
            }
            state.dirty_files.remove(&number);
            let stays_open = file.is_being_written(settled) && leaving(file);
            files.push(file.record_now(me, stays_open));
            // From now on: it may be closed before the book has answered, and is taken back then.
            if stays_open {
                file.away = true;
                state.away.insert(number);
            }
            file.has_other_lockers = false;
            if !matches!(file.record.bytes, FileBytes::InBucket { .. }) {
                unneeded.append(&mut file.replaced);
            }
        }
        state.collected = state.change;
        let number = state.last_number.next();
        let publication = Arc::new(Publication { number, folders, files });
        Some(Pending { publication, up_to: state.change, given_up, unneeded })
    }
}

impl super::state::HeldFolder {
    fn name_change(&self, name: EntryName) -> NameChange {
        match self.names.get(&name) {
            Some(number) => NameChange::Set(name, *number),
            None => NameChange::Remove(name),
        }
    }
}

impl File {
    /// As it is to be published. A program goes on writing it (`stays_open`) though its folder goes
    /// to another node: that one asks here for its bytes.
    pub(super) fn record_now(&mut self, me: forebay_book::NodeId, stays_open: bool) -> FileRecord {
        let size = self.size();
        self.record.size = size;
        if stays_open {
            self.keep_bytes_here();
        }
        let is_elsewhere = self.is_elsewhere(me) || self.is_in_bucket();
        match &mut self.body {
            // It was not written yet: its bytes are where they were.
            Body::Published if is_elsewhere => {}
            _ if stays_open => self.record.bytes = FileBytes::OnNode(me),
            Body::Published => {}
            Body::Memory(body) if body.is_empty() => {
                (self.record.bytes, self.body) = (FileBytes::None, Body::Published);
            }
            Body::Memory(body) => {
                self.record.bytes = FileBytes::InBook(std::mem::take(body));
                self.body = Body::Published;
            }
            Body::Local => self.record.bytes = FileBytes::OnNode(me),
        }
        self.shown_record()
    }

    fn is_in_bucket(&self) -> bool {
        matches!(self.record.bytes, FileBytes::InBucket { .. })
    }

    /// What was published of a small body is all there is of it: it stays in memory.
    fn keep_bytes_here(&mut self) {
        if matches!(self.body, Body::Published) {
            match std::mem::replace(&mut self.record.bytes, FileBytes::None) {
                FileBytes::None => self.body = Body::Memory(Vec::new()),
                FileBytes::InBook(body) => self.body = Body::Memory(body),
                elsewhere => self.record.bytes = elsewhere,
            }
        }
    }

    /// The record with the number of names, if that is not 1.
    pub(super) fn shown_record(&self) -> FileRecord {
        let mut record = self.record.clone();
        record.attributes.retain(|(name, _)| name != LINKS);
        if self.links > 1 && !self.is_folder() {
            record.attributes.push((LINKS.to_vec(), self.links.to_le_bytes().to_vec()));
        }
        record
    }
}

impl State {
    /// The book has the pending publication.
    pub(super) fn finish_pending(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        let Pending { publication, up_to, given_up, unneeded } = pending;
        let me = self.me();
        for file in &publication.files {
            let is_written = self.files.get(&file.inode).is_some_and(|file| file.writers > 0);
            if file.bytes == FileBytes::OnNode(me) {
                // Also one that is written still: it is brought when it was closed.
                self.uploads.owed.entry(file.inode).or_default();
            } else if !is_written {
                self.uploads.owed.remove(&file.inode);
            }
        }
        self.uploads.to_remove.extend(unneeded.into_iter().map(|object| (0, object)));
        self.last_number = publication.number;
        self.published = self.published.max(up_to);
        self.counts.publications += 1;
        for change in &publication.folders {
            if change.claim == Claim::Made
                && let Some(held) = self.folders.get_mut(&change.folder)
            {
                held.claim = Claim::Held(Epoch(1));
            }
        }
        for folder in given_up {
            SharedNode::release_folder(self, folder);
        }
    }

    /// Whether the pending publication makes this folder.
    pub(super) fn is_being_made(&self, folder: FolderId) -> bool {
        self.pending.as_ref().is_some_and(|pending| {
            let mut changes = pending.publication.folders.iter();
            changes.any(|change| change.folder == folder && change.claim == Claim::Made)
        })
    }
}
