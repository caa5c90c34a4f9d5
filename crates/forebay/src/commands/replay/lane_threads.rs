//! Lanes as threads: they think, wait for each other, and act.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use forebay_plan::replay::{ReplayAction, ReplayScript, ReplayStep};
use rustix::io::Errno;

use super::lane_progress::{LaneProgress, LaneWait};
use super::step_execution::StepExecutor;
use crate::exit::CommandError;

/// A script that is being done.
#[derive(Debug)]
pub(super) struct ScriptPlayer<'s> {
    script: &'s ReplayScript,
    pub(super) doer: &'s StepExecutor,
    /// What the time between acts is multiplied by.
    think: f64,
    state: Mutex<LaneProgress>,
    moved: Condvar,
    /// Acts for which something was not there, or was there already.
    pub(super) missed: AtomicU64,
}

/// Less is not slept, but added to what comes.
const NAP: Duration = Duration::from_micros(500);

impl<'s> ScriptPlayer<'s> {
    pub(super) fn new(
        script: &'s ReplayScript,
        doer: &'s StepExecutor,
        think: f64,
    ) -> ScriptPlayer<'s> {
        let state = Mutex::new(LaneProgress::new(script));
        let (moved, missed) = Default::default();
        ScriptPlayer { script, doer, think, state, moved, missed }
    }

    fn lock_state(&self) -> MutexGuard<'_, LaneProgress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often one went on without what it waited for.
    pub(super) fn skipped_waits(&self) -> u64 {
        self.lock_state().past
    }

    /// Does all of it.
    pub(super) fn play_all(&self) -> Result<(), CommandError> {
        thread::scope(|scope| {
            let mut state = self.lock_state();
            while state.left > 0 && state.failed.is_none() {
                if let Some(turn) = state.next_turn(self.script) {
                    state.lane_begins();
                    drop(state);
                    self.begin_turn(scope, turn);
                    state = self.lock_state();
                } else if state.release_earliest() {
                    self.moved.notify_all();
                } else {
                    state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        });
        let next = "look at the directory: what was done until then is there";
        self.lock_state().failed.take().map_or(Ok(()), |why| Err(CommandError::new(1, why, next)))
    }

    fn begin_turn<'e>(&'e self, scope: &'e Scope<'e, '_>, turn: usize) {
        let go = &self.script.turns[turn];
        self.spawn_lane(scope, move || self.play_lane(scope, go.lane, Some(go.cores)));
    }

    fn spawn_lane<'e>(&'e self, scope: &'e Scope<'e, '_>, lane: impl FnOnce() + Send + 'e) {
        if let Err(error) = thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, lane) {
            self.fail(format!("a thread can't be started: {error}"));
        }
    }

    fn fail(&self, why: String) {
        self.lock_state().failed.get_or_insert(why);
        self.moved.notify_all();
    }

    /// One lane, from its first step to its last; that of a turn has cores to give back. Who begins it
    /// has counted it as moving.
    fn play_lane<'e>(&'e self, scope: &'e Scope<'e, '_>, lane: usize, cores: Option<u32>) {
        let mut owed = Duration::ZERO;
        for step in &self.script.lanes[lane].steps {
            owed += Duration::try_from_secs_f64(step.think.get() * self.think).unwrap_or_default();
            if owed >= NAP {
                owed = owed.saturating_sub(self.sleep_unless_failed(owed));
            }
            if let Some(before) = step.wait {
                self.wait_for(step, lane, LaneWait::Name(before));
            }
            match step.act {
                ReplayAction::Start(other) => {
                    self.lock_state().lane_begins();
                    self.spawn_lane(scope, move || self.play_lane(scope, other, None));
                }
                ReplayAction::Join(other) => self.wait_for(step, lane, LaneWait::Lane(other)),
                _ => self.perform_act(&step.act),
            }
            if let Some((name, changes)) = step.name {
                self.lock_state().record_done(
                    name,
                    changes,
                    matches!(step.act, ReplayAction::Open(..)),
                );
                self.moved.notify_all();
            }
            if self.lock_state().failed.is_some() {
                break;
            }
        }
        self.lock_state().lane_ends(lane, cores);
        self.moved.notify_all();
    }

    /// Sleeps, unless all of it has failed meanwhile; and how long it was.
    fn sleep_unless_failed(&self, time: Duration) -> Duration {
        let began = Instant::now();
        // In short pieces: nobody wakes those who sleep when something has failed.
        while let Some(left) = time.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
            thread::sleep(left.min(Duration::from_secs(1)));
            if self.lock_state().failed.is_some() {
                break;
            }
        }
        began.elapsed()
    }

    fn wait_for(&self, step: &ReplayStep, lane: usize, wait: LaneWait) {
        let mut state = self.lock_state();
        if state.is_satisfied(wait) {
            return;
        }
        // Times are positive, and positive numbers are in the order of their bits.
        let key = (step.at.get().max(0.0).to_bits(), lane);
        state.begin_wait(key, wait);
        self.moved.notify_all();
        while !state.may_go_on(key, wait) {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.end_wait(key);
    }

    fn perform_act(&self, act: &ReplayAction) {
        match self.doer.perform_act(act) {
            Ok(()) => {}
            Err(Errno::NOENT | Errno::EXIST | Errno::NOTDIR | Errno::ISDIR | Errno::NOTEMPTY) => {
                self.missed.fetch_add(1, Relaxed);
            }
            Err(error) => {
                let act = format!("{act:?}");
                let act = act.split('(').next().unwrap_or_default().to_lowercase();
                self.fail(format!("{act}: {error}"));
            }
        }
    }
}
