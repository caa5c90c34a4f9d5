//! What nodes do by themselves: leases, publications, deaths, uploads, programs that begin something.

use forebay_book::{Epoch, FolderId, LEASE, NO_CHANGES_AFTER, NodeId, may_speak};

use super::faults::Fault;
use super::model::{Event, Protocol};
use super::state::{Change, FOLDERS, Held, Look, Place, State, Step, Want};

impl State {
    /// Whether the book takes what this node says of a folder: by the rule of the book itself.
    pub(crate) fn speaks(&self, node: u8, folder: u8, held: Held) -> bool {
        let found = self.folder(folder);
        let holder = found.holder.map(|holder| NodeId(i64::from(holder)));
        let claim = (NodeId(i64::from(node)), Epoch(i64::from(held.epoch)));
        let found = (holder, Epoch(i64::from(found.epoch)));
        may_speak(FolderId(i64::from(folder) + 1), claim, found).is_ok()
    }

    /// The book has what there is: what was closed besides is lost, and told.
    pub(crate) fn tell_loss(&mut self, folder: usize) {
        let version = self.book[folder].content.version;
        self.closed[folder] = self.closed[folder].min(version);
        for look in &mut self.looks {
            look.closed[folder] = look.closed[folder].min(version);
        }
        self.moves += 1;
    }

    /// Nobody holds the folder any longer.
    pub(crate) fn release(&mut self, folder: usize) {
        self.book[folder].holder = None;
        self.book[folder].epoch += 1;
        self.tell_loss(folder);
    }

    fn forget_requests(&mut self, node: u8) {
        self.looks.retain(|look| look.node != node);
        self.wants.retain(|want| want.node != node);
    }
}

impl Protocol {
    pub(crate) fn lease_events(&self, state: &State, node: u8, events: &mut Vec<Event>) {
        let at = usize::from(node);
        let now = state.node(node);
        let mut event = |words, to| events.push(Event { words, node, to });
        // A node stops sooner than its lease ends: by the times that nodes and book have.
        let stops_first = NO_CHANGES_AFTER < LEASE && !self.has(Fault::LeaseEndsEarly);
        if state.has_lease[at] && (!now.lives || now.has_stopped || !stops_first) {
            let mut to = state.clone();
            to.has_lease[at] = false;
            event("the lease ends", to);
        }
        if !now.lives {
            return;
        }
        if now.is_cut_off && !now.has_stopped && !self.has(Fault::ChangesPastItsLease) {
            let mut to = state.clone();
            to.node_mut(node).has_stopped = true;
            event("takes no changes any more", to);
        }
        if self.has(Fault::ChangesPastItsLease) && now.is_cut_off && state.has_lease[at] {
            let mut to = state.clone();
            to.has_lease[at] = false;
            event("the lease ends, and the node does not know", to);
        }
        if state.left.deaths > 0 {
            let mut to = state.clone();
            to.left.deaths -= 1;
            to.forget_requests(node);
            for folder in 0..FOLDERS {
                if state.book[folder].holder == Some(node) {
                    to.tell_loss(folder);
                }
            }
            let dead = to.node_mut(node);
            (dead.lives, dead.held, dead.disk, dead.uploads) = (false, [None; FOLDERS], 0, None);
            dead.has_lock = false;
            event("dies, with its disk", to);
        }
        if state.left.cuts > 0 && !now.is_cut_off {
            let mut to = state.clone();
            to.left.cuts -= 1;
            to.node_mut(node).is_cut_off = true;
            event("is cut off from the book", to);
        }
        if now.is_cut_off {
            let mut to = state.clone();
            to.node_mut(node).is_cut_off = false;
            event("reaches the book", to);
        }
        if !now.is_cut_off && (now.has_stopped || !state.has_lease[at]) {
            let mut to = state.clone();
            if !state.has_lease[at] {
                self.rejoin(&mut to, node);
            }
            to.has_lease[at] = true;
            to.node_mut(node).has_stopped = false;
            event("has a lease again", to);
        }
    }

    /// It keeps all that it held if nobody has taken anything; else it keeps nothing.
    fn rejoin(&self, state: &mut State, node: u8) {
        let held = state.node(node).held;
        let own =
            |folder: usize| held[folder].is_none_or(|held| state.speaks(node, folder as u8, held));
        let mine: Vec<bool> = (0..FOLDERS).map(own).collect();
        // A lock stays where nobody can have taken the folder meanwhile.
        let keeps = held[0].is_some() && mine.iter().all(|own| *own);
        state.node_mut(node).has_lock &= keeps || self.has(Fault::KeepsLocksPastItsLease);
        if mine.iter().all(|own| *own) {
            return;
        }
        for (folder, own) in mine.into_iter().enumerate() {
            if own && self.has(Fault::KeepsTheRestAfterALoss) {
                continue;
            }
            state.node_mut(node).held[folder] = None;
            if own && held[folder].is_some() {
                state.release(folder);
            }
        }
        for want in state.wants.iter_mut().filter(|want| want.node == node) {
            if want.change == Change::Lock && self.has(Fault::LocksWhatItHoldsNoLonger) {
                continue;
            }
            (want.pinned, want.asks, want.asked) = ([false; FOLDERS], None, 0);
        }
    }

    /// All that this node has changed, as one transaction; `None`: the book refuses it, or is not
    /// reached. `only`: a fault leaves out the others.
    pub(crate) fn publish(&self, state: &State, node: u8, only: Option<u8>) -> Option<State> {
        let now = state.node(node);
        if now.is_cut_off || !(state.has_lease[usize::from(node)] || self.has(Fault::NoEpochCheck))
        {
            return None;
        }
        let mut to = state.clone();
        let one = only.filter(|_| self.has(Fault::PublishesOneFolder));
        for folder in
            (0..FOLDERS).filter(|folder| one.is_none_or(|one| usize::from(one) == *folder))
        {
            let Some(held) = now.held[folder] else { continue };
            if !state.speaks(node, folder as u8, held) && !self.has(Fault::NoEpochCheck) {
                return None;
            }
            to.book[folder].content = held.content;
        }
        Some(to)
    }

    pub(crate) fn publication(&self, state: &State, node: u8, events: &mut Vec<Event>) {
        if !state.node(node).lives {
            return;
        }
        if let Some(to) = self.publish(state, node, Some(0))
            && to != *state
        {
            events.push(Event { words: "publishes", node, to });
        }
    }

    /// The long file of folder 0 goes to the bucket, and its bytes from the disk when the book says so.
    pub(crate) fn upload_events(&self, state: &State, node: u8, events: &mut Vec<Event>) {
        let now = state.node(node);
        if !now.lives {
            return;
        }
        let here = |held: &Held| held.content.place == Place::OnNode(node);
        let held = now.held[0].filter(|_| !now.has_stopped);
        if let Some(held) = held.filter(here)
            && now.uploads.is_none()
            && state.left.uploads > 0
        {
            let mut to = state.clone();
            to.left.uploads -= 1;
            let after = to.node_mut(node);
            after.uploads = Some(held.content.version);
            if self.has(Fault::PlaceBeforeUpload) {
                after.held[0] = Some(in_bucket(held));
            }
            events.push(Event { words: "begins an upload", node, to });
        }
        if let Some(version) = now.uploads {
            let mut to = state.clone();
            match self.has(Fault::UploadsUnderOneKey) {
                true => to.bucket = 1 << version,
                false => to.bucket |= 1 << version,
            }
            let after = to.node_mut(node);
            after.uploads = None;
            if let Some(held) = held.filter(here).filter(|held| held.content.version == version) {
                after.held[0] = Some(in_bucket(held));
            }
            events.push(Event { words: "ends an upload", node, to });
        }
        // What has a newer version, or is in the bucket by the book, is not needed here.
        let of_book = state.book[0].content;
        for version in (1..8).filter(|version| now.disk & (1 << version) != 0) {
            let is_kept_elsewhere = match self.has(Fault::BytesGoBeforeThePlaceIsPublished) {
                true => state.bucket & (1 << version) != 0,
                false => {
                    of_book.version > version
                        || of_book.version == version && of_book.place == Place::Bucket
                }
            };
            if is_kept_elsewhere {
                let mut to = state.clone();
                to.node_mut(node).disk &= !(1 << version);
                events.push(Event { words: "removes bytes from its disk", node, to });
            }
        }
    }

    /// Programs begin to look or to change something.
    pub(crate) fn new_requests(&self, state: &State, node: u8, events: &mut Vec<Event>) {
        if !state.node(node).lives {
            return;
        }
        if state.left.looks > 0 && !state.looks.iter().any(|look| look.node == node) {
            let firsts = if self.limits.moves > 0 || self.limits.switches > 0 { 2 } else { 1 };
            for first in 0..firsts {
                let mut to = state.clone();
                to.left.looks -= 1;
                let (closed, seen, moves) = (state.closed, state.seen, state.moves);
                let step = Step::Begin;
                let folder = first;
                let had_name = false;
                to.looks.push(Look { node, first, folder, step, closed, seen, moves, had_name });
                events.push(Event { words: "begins to look", node, to });
            }
        }
        if state.wants.iter().any(|want| want.node == node) {
            return;
        }
        let mut want = |change, left: &dyn Fn(&mut State)| {
            let mut to = state.clone();
            left(&mut to);
            to.wants.push(Want { node, change, pinned: [false; FOLDERS], asks: None, asked: 0 });
            events.push(Event { words: "wants to change something", node, to });
        };
        if state.left.writes > 0 {
            want(Change::Write(0), &|to| to.left.writes -= 1);
            if self.limits.switches > 0 {
                want(Change::Write(1), &|to| to.left.writes -= 1);
            }
        }
        if state.left.locks > 0 && !state.node(node).has_lock {
            want(Change::Lock, &|to| to.left.locks -= 1);
        }
        if state.left.moves > 0 {
            for folder in 0..FOLDERS as u8 {
                want(Change::Move(folder), &|to| to.left.moves -= 1);
            }
        }
    }

    /// A folder that nobody holds becomes common, or quiet again.
    pub(crate) fn switches(&self, state: &State, events: &mut Vec<Event>) {
        if state.left.switches == 0 || state.book[1].holder.is_some() {
            return;
        }
        let mut to = state.clone();
        to.left.switches -= 1;
        let folder = &mut to.book[1];
        (folder.is_common, folder.epoch) = (!folder.is_common, folder.epoch + 1);
        events.push(Event { words: "a folder becomes common or quiet", node: 0, to });
    }
}

fn in_bucket(mut held: Held) -> Held {
    held.content.place = Place::Bucket;
    held
}
