//! Looks and changes of programs, which take several steps: others come in between.

use super::faults::Fault;
use super::model::{Event, Protocol};
use super::state::{Change, Content, FOLDERS, Flaw, Held, Look, Place, State, Step, Want};

impl Protocol {
    pub(crate) fn look_events(&self, state: &State, events: &mut Vec<Event>) {
        for (at, look) in state.looks.iter().enumerate() {
            let node = look.node;
            let mut step = |words, step, to: Option<State>| {
                let mut to = to.unwrap_or_else(|| state.clone());
                to.looks[at].step = step;
                events.push(Event { words, node, to });
            };
            match look.step {
                Step::Begin => self.begin_look(state, look, &mut step),
                Step::Ask(holder, epoch) => {
                    self.answer(state, look.folder, (holder, epoch), &mut step);
                    step("is not answered, and begins again", Step::Begin, None);
                }
                Step::Told(content, of_others) => {
                    events.push(self.seen(state, at, content, of_others));
                }
                Step::Read(content) => events.extend(self.read(state, at, content)),
            }
        }
    }

    fn begin_look(
        &self,
        state: &State,
        look: &Look,
        step: &mut dyn FnMut(&'static str, Step, Option<State>),
    ) {
        let node = state.node(look.node);
        if let Some(held) = state.held(look.node, look.folder) {
            if !node.has_stopped || self.has(Fault::LooksPastItsLease) {
                step("knows by itself", Step::Told(held.content, false), None);
            }
            return;
        }
        let found = state.folder(look.folder);
        match found.holder {
            _ if node.is_cut_off => {}
            Some(holder) if !self.has(Fault::LooksIntoTheBookOnly) => {
                if !state.has_lease[usize::from(holder)] {
                    let mut to = state.clone();
                    to.release(usize::from(look.folder));
                    step("takes away a hold that is over", Step::Begin, Some(to));
                } else if holder != look.node {
                    step("reads who holds the folder", Step::Ask(holder, found.epoch), None);
                }
            }
            _ => step("reads the book", Step::Told(found.content, true), None),
        }
    }

    /// Who holds a folder calculates the answer and publishes; then the answer goes.
    fn answer(
        &self,
        state: &State,
        folder: u8,
        (holder, epoch): (u8, u8),
        step: &mut dyn FnMut(&'static str, Step, Option<State>),
    ) {
        if !state.node(holder).lives {
            return;
        }
        let Some(held) = state.held(holder, folder).filter(|held| held.epoch == epoch) else {
            if self.has(Fault::BelievesAFormerHolder) {
                let content = Content {
                    version: 0,
                    place: Place::Nowhere,
                    has_name: folder == 0,
                    lockers: 0,
                };
                step("is told by one that holds it no longer", Step::Told(content, true), None);
            }
            return;
        };
        if state.node(holder).has_stopped {
            return;
        }
        if self.has(Fault::AnswersBeforePublishing) {
            step("is told what nobody has published", Step::Told(held.content, true), None);
        } else if let Some(to) = self.publish(state, holder, Some(folder)) {
            step("is told what was published just now", Step::Told(held.content, true), Some(to));
        }
    }

    /// A look has come to one folder's content.
    fn seen(&self, state: &State, at: usize, content: Content, of_others: bool) -> Event {
        let mut to = state.clone();
        let look = state.looks[at];
        let folder = usize::from(look.folder);
        if content.version < look.seen[folder] {
            to.flaw = Some(Flaw::SeenIsLost);
        } else if content.version < look.closed[folder] {
            to.flaw = Some(Flaw::Stale);
        }
        if of_others {
            to.seen[folder] = to.seen[folder].max(content.version);
        }
        let is_second = look.folder != look.first;
        if is_second && state.moves == look.moves && content.has_name == look.had_name {
            to.flaw = to.flaw.or(Some(Flaw::HalfARename));
        }
        match () {
            () if self.limits.uploads > 0 && look.folder == 0 && content.version > 0 => {
                to.looks[at].step = Step::Read(content);
            }
            () => self.go_on(&mut to, at, content),
        }
        Event { words: "sees a folder", node: look.node, to }
    }

    fn go_on(&self, to: &mut State, at: usize, content: Content) {
        let look = &mut to.looks[at];
        if look.folder == look.first && self.limits.moves > 0 {
            look.had_name = content.has_name;
            (look.folder, look.step) = (1 - look.folder, Step::Begin);
        } else {
            to.looks.remove(at);
        }
    }

    /// Reads the long file's bytes where its record says that they are.
    fn read(&self, state: &State, at: usize, content: Content) -> Option<Event> {
        let look = state.looks[at];
        let bit = 1 << content.version;
        let mut to = state.clone();
        let is_there = match content.place {
            Place::Nowhere => true,
            Place::Bucket => state.bucket & bit != 0,
            // Of a node that is gone: an error, and told.
            Place::OnNode(node) => !state.node(node).lives || state.node(node).disk & bit != 0,
        };
        // The file was changed, or went to the bucket: who reads looks again.
        let is_old = state.book[0].content.version > content.version
            || state.book[0].content.place != content.place;
        match () {
            () if is_there => self.go_on(&mut to, at, content),
            () if is_old && content.place != Place::Bucket => to.looks[at].step = Step::Begin,
            () => to.flaw = Some(Flaw::WrongBytes),
        }
        Some(Event { words: "reads bytes", node: look.node, to })
    }

    pub(crate) fn change_events(&self, state: &State, events: &mut Vec<Event>) {
        for (at, want) in state.wants.iter().enumerate() {
            match self.next_folder(want) {
                Some(folder) => self.pin(state, (at, want), folder, events),
                None if want.change == Change::Lock => self.lock(state, (at, want), events),
                None => events.extend(self.change(state, at)),
            }
        }
    }

    fn pin(&self, state: &State, (at, want): (usize, &Want), folder: u8, events: &mut Vec<Event>) {
        let node = want.node;
        let mut event = |words, to| events.push(Event { words, node, to });
        let (now, found) = (state.node(node), state.folder(folder));
        let pinned = |mut to: State| {
            to.wants[at].pinned[usize::from(folder)] = true;
            to.wants[at].asks = None;
            to
        };
        if state.held(node, folder).is_some() {
            if !now.has_stopped {
                event("pins a folder", pinned(state.clone()));
            }
            return;
        }
        let Some((asked, epoch)) = want.asks else {
            if now.is_cut_off || !state.has_lease[usize::from(node)] || now.has_stopped {
                return;
            }
            let mut to = state.clone();
            match found.holder {
                None if found.is_common => to.wants[at].asks = Some((None, found.epoch)),
                None => {
                    let epoch = found.epoch + 1;
                    let content = found.content;
                    let after = &mut to.book[usize::from(folder)];
                    (after.holder, after.epoch) = (Some(node), epoch);
                    let held = Some(Held { epoch, content });
                    to.node_mut(node).held[usize::from(folder)] = held;
                    // Nobody gets it before the change is made.
                    to = pinned(to);
                }
                Some(holder) if !state.has_lease[usize::from(holder)] => {
                    to.release(usize::from(folder));
                }
                Some(holder) if holder == node => return,
                Some(holder) => to.wants[at].asks = Some((Some(holder), found.epoch)),
            }
            event("asks the book for a folder", to);
            return;
        };
        let mut again = state.clone();
        again.wants[at].asks = None;
        match asked {
            Some(holder) => {
                if let Some(to) = self.give_up(state, folder, (holder, epoch)) {
                    event("has a folder given up", to);
                }
                event("is not answered, and asks the book again", again);
            }
            // The folder is common: whether it still is, the transaction looks.
            None if !now.is_cut_off => {
                let is_so = found.is_common && found.epoch == epoch;
                if is_so || self.has(Fault::CommonWithoutALook) {
                    if let Some(to) = self.change_common(state, at) {
                        event("changes a common folder", to);
                    }
                } else {
                    event("finds that a folder is common no longer", again);
                }
            }
            None => {}
        }
    }

    /// Who holds a folder publishes all, and gives it up in the same transaction.
    fn give_up(&self, state: &State, folder: u8, (holder, epoch): (u8, u8)) -> Option<State> {
        let at = usize::from(folder);
        let held = state.held(holder, folder).filter(|held| held.epoch == epoch)?;
        let is_pinned = state.wants.iter().any(|want| want.node == holder && want.pinned[at]);
        if is_pinned && !self.has(Fault::GivesUpWhatARenamePins)
            || !state.speaks(holder, folder, held)
        {
            return None;
        }
        let mut to = self.publish(state, holder, Some(folder))?;
        if self.has(Fault::GivesUpWithoutPublishing) {
            to.book[at].content = state.book[at].content;
        }
        if self.has(Fault::ForgetsLockersWhenGivingUp) {
            to.book[at].content.lockers = 0;
        }
        to.book[at].holder = None;
        to.book[at].epoch += 1;
        to.node_mut(holder).held[at] = None;
        Some(to)
    }

    /// All folders are pinned: the change happens, in memory.
    fn change(&self, state: &State, at: usize) -> Option<Event> {
        let want = state.wants[at];
        let node = want.node;
        if state.node(node).has_stopped {
            return None;
        }
        let mut to = state.clone();
        to.wants.remove(at);
        let holds = |folder: usize| {
            state
                .held(node, folder as u8)
                .is_some_and(|held| state.speaks(node, folder as u8, held))
        };
        match want.change {
            Change::Write(folder) => {
                let folder = usize::from(folder);
                to.written[folder] += 1;
                let version = to.written[folder];
                if holds(folder) {
                    to.closed[folder] = version;
                }
                let after = to.node_mut(node);
                after.held[folder].as_mut()?.content.version = version;
                if folder == 0 && self.limits.uploads > 0 {
                    after.held[0].as_mut()?.content.place = Place::OnNode(node);
                    after.disk |= 1 << version;
                }
            }
            Change::Lock => return None,
            Change::Move(folder) => {
                let source = usize::from(1 - folder);
                let moves = to.node(node).held[source].is_some_and(|held| held.content.has_name);
                to.moves += u8::from(moves);
                for at in (0..FOLDERS).filter(|_| moves) {
                    if let Some(held) = to.node_mut(node).held[at].as_mut() {
                        held.content.has_name = at != source;
                    }
                }
            }
        }
        Some(Event { words: "changes what it holds", node, to })
    }

    /// One transaction that changes the common folder 1, and publishes what the node holds besides.
    fn change_common(&self, state: &State, at: usize) -> Option<State> {
        let want = state.wants[at];
        let mut to = self.publish(state, want.node, None)?;
        to.wants.remove(at);
        match want.change {
            Change::Write(_) => {
                to.written[1] += 1;
                to.book[1].content.version = to.written[1];
                to.closed[1] = to.written[1];
            }
            Change::Lock => return None,
            Change::Move(folder) => {
                let mut held = state.held(want.node, 0)?;
                let is_there = match folder {
                    0 => to.book[1].content.has_name,
                    _ => held.content.has_name,
                };
                if is_there {
                    to.moves += 1;
                    held.content.has_name = folder == 0;
                    to.node_mut(want.node).held[0] = Some(held);
                    to.book[1].content.has_name = folder == 1;
                    if !self.has(Fault::MovesIntoCommonByHalves) {
                        to.book[0].content.has_name = folder == 0;
                    }
                }
            }
        }
        Some(to)
    }
}
