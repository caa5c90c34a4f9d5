//! Acts in their order become lanes: a task's processes, each with the time that it had to itself
//! between its acts. What the engine did goes before the task that it started next.

use super::process_lanes::{ActorSpan, process_lives};
use super::run_lookup::RunLookup;
use super::timed_act::{Actor, TimedAction};
use super::{LaneStart, ReplayAction, ReplayLane, ReplayScript, ReplayStep};
use forebay_model::{ProcessId, Seconds};
use std::collections::BTreeMap;

pub(super) fn lay_out_lanes(
    told: &RunLookup<'_>,
    acts: Vec<TimedAction>,
    script: &mut ReplayScript,
) {
    let all = &told.turns.all;
    let first = all.iter().map(|turn| turn.start).fold(told.turns.makespan, f64::min);
    let last = all.iter().map(|turn| turn.end).fold(0.0, f64::max);
    let tail = if all.is_empty() { 0.0 } else { (told.turns.makespan - last).max(0.0) };
    let mut starts: Vec<(f64, usize)> =
        all.iter().enumerate().map(|(at, turn)| (turn.start, at)).collect();
    starts.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut before, mut after): (Vec<TimedAction>, Vec<TimedAction>) = Default::default();
    let mut engine: Vec<Vec<TimedAction>> = vec![Vec::new(); all.len()];
    let mut own: Vec<BTreeMap<Option<ProcessId>, Vec<TimedAction>>> =
        vec![BTreeMap::new(); all.len()];
    for act in acts {
        match act.lane {
            Actor::Process(turn, id) => own[turn].entry(Some(id)).or_default().push(act),
            Actor::Task(turn) => own[turn].entry(None).or_default().push(act),
            Actor::Driver if act.since < first || all.is_empty() => before.push(act),
            Actor::Driver => {
                let next = starts.partition_point(|(start, _)| *start <= act.since);
                let list = starts.get(next).map_or(&mut after, |&(_, turn)| &mut engine[turn]);
                list.push(act);
            }
        }
    }
    let think = engine_think_share(told, first + tail);
    let life = ActorSpan { from: 0.0, to: first, ..ActorSpan::default() };
    let mut lane = steps_with_think_time(before, &life, &[], think);
    script.lanes.push(ReplayLane { steps: std::mem::take(&mut lane) });
    script.turns.push(LaneStart { lane: 0, after: Vec::new(), cores: 1 });
    for (turn, (prefix, own)) in engine.into_iter().zip(own).enumerate() {
        let lane = script.lanes.len();
        let told_turn = &all[turn];
        let mut head = vec![pause_step(told_turn.start, told_turn.engine * think)];
        head.extend(prefix.into_iter().map(|act| to_step(act, 0.0)));
        add_task_lanes(told, turn, own, head, script);
        let after = told_turn.after.iter().map(|before| before + 1).chain([0]).collect();
        script.turns.push(LaneStart {
            lane,
            after,
            cores: told_turn.cores.clamp(1, script.slots.max(1)),
        });
    }
    let mut steps: Vec<ReplayStep> = after.into_iter().map(|act| to_step(act, 0.0)).collect();
    steps.push(pause_step(told.turns.makespan, tail * think));
    let after = (0..script.turns.len()).collect();
    script.turns.push(LaneStart { lane: script.lanes.len(), after, cores: 1 });
    script.lanes.push(ReplayLane { steps });
    script.slots = script.slots.max(1);
}

/// Of the engine's own time, the part that was no operation.
fn engine_think_share(told: &RunLookup<'_>, ends: f64) -> f64 {
    let gaps: f64 = told.turns.all.iter().map(|turn| turn.engine).sum();
    let drivers = told.rows.tasks.iter().filter(|task| task.driver);
    let waited: f64 = drivers.filter_map(|task| task.waited).map(|waited| waited.as_secs()).sum();
    let all = gaps + ends;
    if all > 0.0 { (1.0 - waited / all).max(0.0) } else { 0.0 }
}

/// The lanes of a task; the first starts with what the engine did before it.
fn add_task_lanes(
    told: &RunLookup<'_>,
    turn: usize,
    mut own: BTreeMap<Option<ProcessId>, Vec<TimedAction>>,
    head: Vec<ReplayStep>,
    script: &mut ReplayScript,
) {
    let acted: BTreeMap<ProcessId, (f64, f64)> = own
        .iter()
        .filter_map(|(id, acts)| Some(((*id)?, (acts.first()?.at, acts.last()?.at))))
        .collect();
    let (mut lives, places) = process_lives(told, turn, &acted);
    let unknown = own.remove(&None).unwrap_or_default();
    // Whose it was: the youngest process that was there.
    let (mut unknown, mut guessed) = (unknown, Vec::new());
    if lives.len() > 1 {
        (guessed, unknown) =
            unknown.into_iter().partition(|act| youngest_process_at(&lives, act.at) > 0);
    }
    if let (Some(first), Some(last)) = (unknown.first(), unknown.last()) {
        lives[0].from = lives[0].from.min(first.at);
        lives[0].to = lives[0].to.max(last.at);
    }
    let base = script.lanes.len();
    let mut lists = vec![Vec::new(); lives.len()];
    lists[0] = std::mem::take(&mut unknown);
    for (id, acts) in own {
        lists[id.map_or(0, |id| places[&id])] = acts;
    }
    for act in guessed {
        lists[youngest_process_at(&lives, act.at)].push(act);
    }
    let mut head = Some(head);
    for (place, mut acts) in lists.into_iter().enumerate() {
        let life = &lives[place];
        let mut covers = Vec::new();
        for &child in &life.children {
            let (from, to) = (lives[child].from, lives[child].to.min(life.to));
            let lane = Actor::Task(turn);
            acts.push(TimedAction::new(from, lane, ReplayAction::Start(base + child)));
            acts.push(TimedAction::new(to.max(from), lane, ReplayAction::Join(base + child)));
            covers.push((from, to));
        }
        acts.sort_by(|a, b| a.at.total_cmp(&b.at));
        let covers = merge_overlapping(covers);
        let free = uncovered_time(life.from, life.to, &covers);
        let think = if free > 0.0 { (1.0 - life.waited / free).max(0.0) } else { 0.0 };
        let mut all = head.take().unwrap_or_default();
        all.extend(steps_with_think_time(acts, life, &covers, think));
        script.lanes.push(ReplayLane { steps: all });
    }
}

/// The place of the process that began last of those that were there; 0 is the task itself.
fn youngest_process_at(lives: &[ActorSpan], at: f64) -> usize {
    let there = |life: &&(usize, &ActorSpan)| life.1.from <= at && at <= life.1.to;
    let all = lives.iter().enumerate().skip(1);
    let last = all.filter(|life| there(&life)).max_by(|a, b| a.1.from.total_cmp(&b.1.from));
    last.map_or(0, |(place, _)| place)
}

/// Acts of one life, with the part `think` of the time between them that nobody else covers.
fn steps_with_think_time(
    acts: Vec<TimedAction>,
    life: &ActorSpan,
    covers: &[(f64, f64)],
    think: f64,
) -> Vec<ReplayStep> {
    let mut last = life.from;
    let mut steps: Vec<ReplayStep> = Vec::with_capacity(acts.len() + 1);
    for act in acts {
        // What an engine's file is for later is done in its own time, too.
        let at = act.at.min(life.to).max(last);
        steps.push(to_step(act, uncovered_time(last, at, covers) * think));
        last = at;
    }
    steps.push(pause_step(life.to, uncovered_time(last, life.to, covers) * think));
    steps
}

fn to_step(act: TimedAction, think: f64) -> ReplayStep {
    let TimedAction { at, act, wait, name, .. } = act;
    ReplayStep { at: Seconds(at), think: Seconds(think), wait, act, name }
}

fn pause_step(at: f64, think: f64) -> ReplayStep {
    ReplayStep {
        at: Seconds(at),
        think: Seconds(think),
        wait: None,
        act: ReplayAction::Pause,
        name: None,
    }
}

/// Times that overlap become one.
fn merge_overlapping(mut covers: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    covers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut all: Vec<(f64, f64)> = Vec::new();
    for (from, to) in covers {
        match all.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => all.push((from, to)),
        }
    }
    all
}

/// How much of a time is in none of these.
fn uncovered_time(from: f64, to: f64, covers: &[(f64, f64)]) -> f64 {
    let first = covers.partition_point(|(_, end)| *end <= from);
    let within = covers[first..].iter().take_while(|(start, _)| *start < to);
    let covered: f64 = within.map(|(start, end)| (end.min(to) - start.max(from)).max(0.0)).sum();
    (to - from - covered).max(0.0)
}
