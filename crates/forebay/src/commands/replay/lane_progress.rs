//! Who is where in a replay: which turns have begun, which lanes have ended, and who waits for what.

use std::collections::BTreeMap;

use forebay_plan::replay::{NamePrecondition, ReplayScript};

/// What a lane waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum LaneWait {
    /// What others do with a name.
    Name(NamePrecondition),
    /// The end of this lane.
    Lane(usize),
}

#[derive(Debug, Default)]
pub(super) struct LaneProgress {
    /// How often each name was changed, and opened.
    names: Vec<(u32, u32)>,
    ended: Vec<bool>,
    begun: Vec<bool>,
    /// The first turn that may not have begun.
    first: usize,
    /// Turns that have not ended.
    pub(super) left: usize,
    free: u32,
    /// Lanes that have begun, not ended, and do not wait.
    moving: usize,
    /// By the moment that they had in the run, then by lane.
    waiting: BTreeMap<(u64, usize), LaneWait>,
    /// Who waits for what will never come.
    pub(super) past: u64,
    pub(super) failed: Option<String>,
}

impl LaneProgress {
    pub(super) fn new(script: &ReplayScript) -> LaneProgress {
        LaneProgress {
            names: vec![(0, 0); script.names],
            ended: vec![false; script.lanes.len()],
            begun: vec![false; script.turns.len()],
            left: script.turns.len(),
            free: script.slots,
            ..LaneProgress::default()
        }
    }

    /// The next turn that may begin: of those that wait for nobody the first, if there is room.
    pub(super) fn next_turn(&mut self, script: &ReplayScript) -> Option<usize> {
        while self.begun.get(self.first).is_some_and(|begun| *begun) {
            self.first += 1;
        }
        let ready = |turn: &usize| {
            let after = &script.turns[*turn].after;
            !self.begun[*turn] && after.iter().all(|before| self.has_ended(script, *before))
        };
        let turn = (self.first..script.turns.len()).find(ready)?;
        let cores = script.turns[turn].cores;
        // Those that hold all room may wait for what is still to begin.
        if cores > self.free && !self.is_stuck() {
            return None;
        }
        self.begun[turn] = true;
        self.free = self.free.saturating_sub(cores);
        Some(turn)
    }

    fn has_ended(&self, script: &ReplayScript, turn: usize) -> bool {
        self.ended[script.turns[turn].lane]
    }

    pub(super) fn lane_begins(&mut self) {
        self.moving += 1;
    }

    /// With the cores of its turn, if it is that of one: at one moment, or nobody would seem to move
    /// while there is no room.
    pub(super) fn lane_ends(&mut self, lane: usize, cores: Option<u32>) {
        self.ended[lane] = true;
        self.moving -= 1;
        self.free += cores.unwrap_or(0);
        self.left -= usize::from(cores.is_some());
    }

    pub(super) fn record_done(&mut self, name: usize, changed: bool, opened: bool) {
        let (changes, opens) = &mut self.names[name];
        *changes += u32::from(changed);
        *opens += u32::from(opened);
    }

    pub(super) fn is_satisfied(&self, wait: LaneWait) -> bool {
        match wait {
            LaneWait::Name(before) => {
                let (changes, opens) = self.names[before.name];
                changes >= before.changes && opens >= before.opens
            }
            LaneWait::Lane(lane) => self.ended[lane],
        }
    }

    pub(super) fn begin_wait(&mut self, key: (u64, usize), wait: LaneWait) {
        self.waiting.insert(key, wait);
        self.moving -= 1;
    }

    /// May this one go on?
    pub(super) fn may_go_on(&self, key: (u64, usize), wait: LaneWait) -> bool {
        self.failed.is_some() || !self.waiting.contains_key(&key) || self.is_satisfied(wait)
    }

    pub(super) fn end_wait(&mut self, key: (u64, usize)) {
        self.waiting.remove(&key);
        self.moving += 1;
    }

    /// Nobody moves, and nobody who waits may go on.
    fn is_stuck(&self) -> bool {
        self.moving == 0 && !self.waiting.values().any(|wait| self.is_satisfied(*wait))
    }

    /// Nobody moves and nobody can begin: the earliest goes on, as if it had come. True if there was one.
    pub(super) fn release_earliest(&mut self) -> bool {
        let names = |(_, wait): &(&(u64, usize), &LaneWait)| matches!(wait, LaneWait::Name(_));
        let earliest = self.waiting.iter().find(names).map(|(key, _)| *key);
        let Some(key) = earliest.filter(|_| self.is_stuck()) else { return false };
        self.waiting.remove(&key);
        self.past += 1;
        true
    }
}
