//! Taking hold of folders, and giving them up.

use std::time::Duration;

use forebay_book::{
    Claim, Entry, Epoch, ErrorKind, FileBytes, FolderId, Holder, InodeNumber, Taken,
};
use rustix::io::Errno;

use super::state::{Body, File, HeldFolder, Stage, State, root_record};
use super::{Deadline, PATIENCE_OF_ANSWERS, SharedNode, UNPUBLISHED_MOST, said_by_book};
use crate::Result;
use crate::messages::{Answer, Question};

/// Between two questions to a holder that does not give up: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Folders that are held here for as long as this lives: nobody gets them.
#[derive(Debug)]
pub(super) struct Pins<'n> {
    node: &'n SharedNode,
    folders: Vec<FolderId>,
}

impl Drop for Pins<'_> {
    fn drop(&mut self) {
        let mut state = self.node.state.lock();
        for folder in &self.folders {
            if let Some(held) = state.folders.get_mut(folder) {
                held.pins = held.pins.saturating_sub(1);
            }
        }
        drop(state);
        self.node.changed.notify_all();
    }
}

impl SharedNode {
    /// Holds these folders for a change: those that are not held are taken, in the order of their
    /// numbers, so that two nodes do not wait for each other.
    ///
    /// # Errors
    /// ESTALE: there is no such folder any more. ETIMEDOUT: another node does not give one up, or
    /// the book does not answer. EIO: the book refuses.
    pub(super) fn pin(&self, folders: &[FolderId]) -> Result<Pins<'_>> {
        let mut wanted = folders.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let deadline = self.deadline(self.patience());
        let mut state = self.state.lock();
        while state.change - state.collected > UNPUBLISHED_MOST && !state.is_over {
            self.dirtied.notify_one();
            self.nap_until(&mut state, deadline, &"the book takes changes too slowly")?;
        }
        drop(state);
        let mut pins = Pins { node: self, folders: Vec::new() };
        for folder in wanted {
            self.pin_one(folder, deadline)?;
            pins.folders.push(folder);
        }
        Ok(pins)
    }

    fn pin_one(&self, folder: FolderId, deadline: Deadline) -> Result<()> {
        let mut state = self.state.lock();
        loop {
            if state.is_over {
                return Err(Errno::IO);
            }
            let stage = match state.folders.get_mut(&folder) {
                Some(held) if held.stage == Stage::Held && self.lease.may_change() => {
                    held.pins += 1;
                    return Ok(());
                }
                Some(held) => Some(held.stage),
                None => None,
            };
            match stage {
                Some(Stage::Held) => {
                    let what = "the book has not renewed this node's lease";
                    self.nap_until(&mut state, deadline, &what)?;
                }
                Some(_) => {
                    let what = format_args!("folder {folder} is being given up");
                    self.nap_until(&mut state, deadline, &what)?;
                }
                None if state.taking.contains(&folder) => {
                    let what = format_args!("folder {folder} is being taken");
                    self.nap_until(&mut state, deadline, &what)?;
                }
                None => {
                    state.taking.insert(folder);
                    drop(state);
                    let taken = self.take(folder, deadline);
                    state = self.state.lock();
                    state.taking.remove(&folder);
                    self.changed.notify_all();
                    taken?;
                }
            }
        }
    }

    /// Takes a folder that nobody here holds, from whoever holds it.
    fn take(&self, folder: FolderId, deadline: Deadline) -> Result<()> {
        let mut pause = FIRST_PAUSE;
        let mut asked = None;
        self.let_others_take(folder);
        loop {
            let member = self.state.lock().member;
            let waits_for = match self.book.take(&member, &[folder]) {
                Ok(Taken::All(taken)) => {
                    let epoch = taken.first().map_or(Epoch(0), |(_, epoch)| *epoch);
                    match self.install(folder, epoch) {
                        Ok(()) => return Ok(()),
                        Err(error) if error.is_passing() => said_by_book(&error),
                        Err(error) => return Err(self.refused(&error)),
                    }
                }
                Ok(Taken::HeldBy(others)) => {
                    let Some((_, holder)) = others.into_iter().next() else { continue };
                    let question = Question::GiveUp { folder };
                    match self.ask_or_want(folder, &holder, &question, &mut asked) {
                        Ok(Answer::GivenUp) if !self.is_over(deadline) => {
                            pause = FIRST_PAUSE;
                            continue;
                        }
                        Ok(_) => format!(
                            "node {} ({}) does not give up folder {folder}, whatever it says",
                            holder.name, holder.address
                        ),
                        Err(why) => {
                            let Holder { name, address, .. } = holder;
                            format!("node {name} ({address}), which holds folder {folder}: {why}")
                        }
                    }
                }
                Err(error) => match error.kind {
                    ErrorKind::LeaseExpired | ErrorKind::Fenced => {
                        self.rejoin(member)?;
                        continue;
                    }
                    ErrorKind::Inconsistent => {
                        tracing::debug!("folder {folder} can't be taken: {error}");
                        return Err(Errno::STALE);
                    }
                    _ if error.is_passing() => said_by_book(&error),
                    _ => return Err(self.refused(&error)),
                },
            };
            if self.is_over(deadline) {
                return Err(self.give_up_waiting(&waits_for));
            }
            self.time.wait(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// The folder is this node's: what is in it is read from the book.
    fn install(&self, folder: FolderId, epoch: Epoch) -> forebay_book::Result<()> {
        let names = self.book.list(self.volume, folder)?;
        let own = self.book.file(self.volume, folder.inode())?;
        let own = own.or_else(|| (folder == FolderId::ROOT).then(|| root_record(self.owner)));
        let mut state = self.state.lock();
        if names
            .holder
            .as_ref()
            .is_none_or(|holder| holder.epoch != epoch || holder.node != state.me())
        {
            // The lease ended in between, and others came: it is asked for anew.
            return Ok(());
        }
        if let Some(own) = own {
            state.learn(own, None);
        }
        let mut held = HeldFolder::new(Claim::Held(epoch));
        let mut back: Vec<InodeNumber> = Vec::new();
        for Entry { name, file } in names.published {
            let number = file.inode;
            let me = state.me();
            let known = state.files.get_mut(&number);
            let is_overtaken = known.is_some_and(|known| {
                known.take_lockers(&file);
                // It was published as being here when it went: somebody has changed it since.
                let is_overtaken = known.away && file.bytes != FileBytes::OnNode(me);
                known.away &= !is_overtaken;
                is_overtaken
            });
            state.learn(file, Some((folder, name.clone())));
            if let Some(file) = state.files.get_mut(&number).filter(|_| is_overtaken) {
                file.is_lost = true;
                tracing::error!(
                    "what was written of file {number} is lost: others have changed it"
                );
            }
            if state.files.get(&number).is_some_and(|file| file.away) {
                back.push(number);
            }
            held.names.insert(name, number);
        }
        state.folders.insert(folder, held);
        state.hints.remove(&folder);
        state.counts.taken += 1;
        for number in back {
            if let Some(file) = state.files.get_mut(&number) {
                file.away = false;
            }
            state.note_file_change(number);
        }
        drop(state);
        self.dirtied.notify_one();
        Ok(())
    }

    /// Publishes a folder and gives it up, because another node asks for it.
    pub(super) fn answer_give_up(&self, folder: FolderId) -> Answer {
        let deadline = self.deadline(PATIENCE_OF_ANSWERS);
        let mut state = self.state.lock();
        if state.taking.contains(&folder) {
            return Answer::Busy("it is just taking it".to_owned());
        }
        match state.folders.get_mut(&folder) {
            None => {
                drop(state);
                return self.give_up_unknown(folder);
            }
            Some(held) if held.stage == Stage::Held => held.stage = Stage::Leaving,
            // Another node asked at the same time.
            Some(_) => {}
        }
        drop(state);
        self.forget_folders_in_kernel(&[folder]);
        let mut state = self.state.lock();
        loop {
            match state.folders.get_mut(&folder) {
                None => return Answer::GivenUp,
                Some(held) if held.stage == Stage::Leaving && held.pins == 0 => {
                    held.stage = Stage::Ready;
                    held.is_dirty = true;
                    break;
                }
                Some(held) if held.stage == Stage::Leaving && self.is_over(deadline) => {
                    held.stage = Stage::Held;
                    self.changed.notify_all();
                    return Answer::Busy("a request there changes it".to_owned());
                }
                Some(held) if held.stage == Stage::Leaving => self.nap(&mut state),
                Some(_) => break,
            }
        }
        state.counts.given_up += 1;
        drop(state);
        match self.publish_until(|state| !state.folders.contains_key(&folder), deadline) {
            Ok(()) => Answer::GivenUp,
            Err(_) => Answer::Busy("the book does not take its publication".to_owned()),
        }
    }

    /// The book may know of a hold that this node does not, if an answer of the book was lost: it is
    /// made known, and the other node asks again.
    fn give_up_unknown(&self, folder: FolderId) -> Answer {
        let holds = self.book.list(self.volume, folder).ok().and_then(|look| look.holder);
        let mine = holds.is_some_and(|holder| holder.node == self.state.lock().me());
        if mine && self.pin(&[folder]).is_ok() {
            return Answer::Busy("it did not know that it holds it".to_owned());
        }
        Answer::NotHeld
    }

    /// Nothing that the kernel was told of these folders may be believed any longer.
    pub(super) fn forget_folders_in_kernel(&self, folders: &[FolderId]) {
        let Some(caches) = self.caches.get().filter(|caches| caches.can_forget()) else { return };
        let mut known: Vec<InodeNumber> = Vec::new();
        let state = self.state.lock();
        for folder in folders {
            known.push(folder.inode());
            let Some(held) = state.folders.get(folder) else { continue };
            let in_kernel = |number: &&InodeNumber| {
                state.files.get(*number).is_some_and(|file| file.kernel > 0 && !file.is_locked())
            };
            known.extend(held.names.values().filter(in_kernel));
        }
        drop(state);
        caches.forget(&known);
    }

    /// A folder is another's now, or nobody's.
    pub(super) fn release_folder(state: &mut State, folder: FolderId) {
        let Some(held) = state.folders.remove(&folder) else { return };
        let settled = state.settled;
        for number in held.names.into_values() {
            if let Some(file) = state.files.get_mut(&number) {
                if file.is_being_written(settled) {
                    file.away = true;
                    state.away.insert(number);
                }
                file.note_folder_gone();
            }
            settle_body(state.files.get_mut(&number));
            state.forget_if_unused(number);
        }
        state.forget_if_unused(folder.inode());
    }
}

/// What is published need not be kept a second time.
fn settle_body(file: Option<&mut File>) {
    if let Some(file) = file
        && !file.away
    {
        file.body = Body::Published;
        if file.opens == 0 {
            file.local = None;
        }
    }
}
