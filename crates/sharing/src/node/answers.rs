//! Answers to other nodes: what is told is published before.

use forebay_book::{Entry, EntryName, FolderId, InodeNumber};

use super::state::{Stage, State};
use super::{PATIENCE_OF_ANSWERS, SharedNode};
use crate::messages::{Answer, BYTES_MOST, Question};

impl SharedNode {
    /// Answers another node. It may wait for the book, some seconds at most.
    pub fn answer(&self, question: &Question) -> Answer {
        match question {
            Question::Look { folder, name } => self.answer_look(*folder, |state| match name {
                Some(name) => look_at_name(state, *folder, name),
                None => look_at(state, folder.inode()),
            }),
            Question::List { folder } => self.answer_look(*folder, |state| list(state, *folder)),
            Question::GiveUp { folder } => self.answer_give_up(*folder),
            Question::IsWritten { file } => {
                let state = self.state.lock();
                let file = state.files.get(file);
                Answer::Written(
                    file.is_some_and(|file| file.away || file.is_being_written(state.settled)),
                )
            }
            Question::Locks { of, file, wanted, waits } => {
                self.answer_locks((*of, *file), wanted, *waits)
            }
            Question::Bytes { file, offset, length } => {
                match self.read_here(*file, *offset, (*length).min(BYTES_MOST) as usize) {
                    Ok(bytes) => Answer::Bytes(bytes),
                    Err(_) => Answer::NoBytes,
                }
            }
        }
    }

    fn answer_look(&self, folder: FolderId, look: impl Fn(&mut State) -> Answer) -> Answer {
        let deadline = self.deadline(PATIENCE_OF_ANSWERS);
        let mut state = self.state.lock();
        let Some(held) = state.folders.get(&folder) else { return Answer::NotHeld };
        if held.stage == Stage::Sent || state.is_over {
            return Answer::Busy("it is just giving it up".to_owned());
        }
        if !self.lease.may_change() {
            return Answer::Busy("the book has not renewed its lease".to_owned());
        }
        // The answer is of this moment, and it counts once the book has all that it tells of.
        let up_to = held.last_change;
        let (answer, lost) = (look(&mut state), state.counts.lost);
        if state.published >= up_to {
            return answer;
        }
        drop(state);
        match self.publish_until(|state| state.published >= up_to, deadline) {
            Ok(()) if self.state.lock().counts.lost == lost => answer,
            _ => Answer::Busy("the book does not take its publication".to_owned()),
        }
    }
}

fn look_at_name(state: &mut State, folder: FolderId, name: &EntryName) -> Answer {
    let held = state.folders.get(&folder);
    match held.and_then(|held| held.names.get(name).copied()) {
        Some(number) => look_at(state, number),
        None => Answer::Absent,
    }
}

fn look_at(state: &mut State, number: InodeNumber) -> Answer {
    let me = state.me();
    let Some(file) = state.files.get_mut(&number) else {
        // Better no answer than a wrong one.
        return Answer::Busy(format!("it has lost sight of file {number}"));
    };
    // As it is about to be published: the same bytes, and the same length.
    let is_folder = file.is_folder();
    let file = Box::new(file.record_now(me, false));
    let is_known = !is_folder || state.folders.contains_key(&FolderId(number.0));
    Answer::Found { file, is_known }
}

fn list(state: &mut State, folder: FolderId) -> Answer {
    let Some(held) = state.folders.get(&folder) else { return Answer::NotHeld };
    let names: Vec<(EntryName, InodeNumber)> =
        held.names.iter().map(|(name, number)| (name.clone(), *number)).collect();
    let entry = |(name, number)| match look_at(state, number) {
        // Whoever lists reads names and kinds; bodies come when they are looked at.
        Answer::Found { mut file, .. } => {
            if let forebay_book::FileBytes::InBook(_) = file.bytes {
                file.bytes = forebay_book::FileBytes::None;
            }
            Some(Entry { name, file: *file })
        }
        _ => None,
    };
    Answer::Names(names.into_iter().filter_map(entry).collect())
}
