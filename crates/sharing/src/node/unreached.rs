//! Holders that renew their leases and do not answer: they are asked by way of the book. Who holds a
//! folder hears with its next renewal who waits for it, and gives it up.

use std::fmt;
use std::time::Duration;

use forebay_book::{Epoch, FolderId, Holder, NodeId, Wanted};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::SharedNode;
use crate::environment::{Neighbour, Unanswered};
use crate::messages::{Answer, Question};

/// A node that was asked in vain is not asked again for so many times what that took: a message that
/// is lost on its way is waited for some seconds each time.
const REST: u32 = 4;
const REST_MOST: Duration = Duration::from_secs(5);
/// Who gave a folder up by way of the book does not take it again for so long: who waits for it looks
/// into the book a few times a second.
const TURN: Duration = Duration::from_secs(2);

/// Whom this node does not reach, and who does not reach this node.
#[derive(Debug, Default)]
pub(super) struct Unreached {
    /// Until when (nanoseconds of the node's clock) a node is not asked, and why.
    resting: Mutex<FxHashMap<NodeId, (u64, String)>>,
    /// Until when a folder is not taken.
    for_others: Mutex<FxHashMap<FolderId, u64>>,
}

/// Why a holder's answer is none.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// It does not answer at all.
    Unreached(String),
    /// It has none to give.
    Said(String),
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoAnswer::Unreached(why) => write!(f, "{why} (it is asked by way of the book)"),
            NoAnswer::Said(why) => f.write_str(why),
        }
    }
}

impl SharedNode {
    /// Asks a node, unless it has just been asked in vain.
    pub(super) fn ask_if_reached(
        &self,
        node: &Neighbour,
        question: &Question,
    ) -> Result<Answer, Unanswered> {
        let start = self.time.elapsed_nanos();
        if let Some((until, why)) = self.unreached.resting.lock().get(&node.node)
            && start < *until
        {
            return Err(Unanswered(why.clone()));
        }
        let asked = self.messages.ask(node, question);
        match &asked {
            Ok(_) => drop(self.unreached.resting.lock().remove(&node.node)),
            Err(Unanswered(why)) => {
                let now = self.time.elapsed_nanos();
                let took = Duration::from_nanos(now.saturating_sub(start));
                let until = now.saturating_add((took * REST).min(REST_MOST).as_nanos() as u64);
                self.unreached.resting.lock().insert(node.node, (until, why.clone()));
            }
        }
        asked
    }

    /// Asks the holder of a folder. One that does not answer is asked by way of the book: once by a
    /// request for each time that the folder has changed hands (`asked`).
    pub(super) fn ask_or_want(
        &self,
        folder: FolderId,
        holder: &Holder,
        question: &Question,
        asked: &mut Option<Epoch>,
    ) -> Result<Answer, NoAnswer> {
        let Holder { node, name, address, epoch } = holder;
        let neighbour = Neighbour { node: *node, name: name.clone(), address: address.clone() };
        match self.ask_if_reached(&neighbour, question) {
            Ok(Answer::NotHeld) => Err(NoAnswer::Said("it holds it no longer".to_owned())),
            Ok(Answer::Busy(why)) => Err(NoAnswer::Said(why)),
            Ok(answer) => Ok(answer),
            Err(Unanswered(why)) => {
                let member = self.state.lock().member;
                // If the book does not take it, the next attempt is soon.
                if *asked != Some(*epoch) && self.book.want(&member, folder).is_ok() {
                    *asked = Some(*epoch);
                }
                Err(NoAnswer::Unreached(why))
            }
        }
    }

    /// The book has said who waits for folders of this node.
    pub(super) fn note_wanted(&self, wanted: Vec<Wanted>) {
        if !wanted.is_empty() {
            self.state.lock().wanted = wanted;
            self.asked_for.notify_all();
        }
    }

    /// Gives up what others want who do not reach this node, until the node leaves. Its thread's work.
    pub fn give_up_wanted_while_serving(&self) {
        loop {
            let mut state = self.state.lock();
            while state.wanted.is_empty() && !state.is_over {
                self.asked_for.wait(&mut state);
            }
            if state.is_over {
                return;
            }
            drop(state);
            self.give_up_wanted();
        }
    }

    /// Publishes and gives up what others want who do not reach this node, as far as the last renewal
    /// has told. What can't be given up now the next renewal tells again.
    pub fn give_up_wanted(&self) {
        let wanted = std::mem::take(&mut self.state.lock().wanted);
        for Wanted { folder, name, address } in wanted {
            let why = match self.answer_give_up(folder) {
                Answer::GivenUp => {
                    self.leave_to_others(folder);
                    "it is given up".to_owned()
                }
                Answer::Busy(why) => format!("it is not given up yet: {why}"),
                _ => continue,
            };
            tracing::warn!(
                "node {name} ({address}) gets no answer from this node, {}, and waits for folder \
                 {folder} by way of the book: {why}; look at the network between the two",
                self.offer.name()
            );
        }
    }

    fn leave_to_others(&self, folder: FolderId) {
        let now = self.time.elapsed_nanos();
        let mut folders = self.unreached.for_others.lock();
        folders.retain(|_, until| now < *until);
        folders.insert(folder, now.saturating_add(TURN.as_nanos() as u64));
    }

    /// Lets who was waiting for a folder come first.
    pub(super) fn let_others_take(&self, folder: FolderId) {
        let until = self.unreached.for_others.lock().remove(&folder);
        let left = until.map_or(0, |until| until.saturating_sub(self.time.elapsed_nanos()));
        if left > 0 {
            self.time.wait(Duration::from_nanos(left));
        }
    }
}
