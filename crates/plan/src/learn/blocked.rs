//! How long a task stood still for storage, when its processes ran beside each other.
//!
//! A process waits for its operations one after the other; of two in a pipe the one that waits
//! more holds up both. So waits are spread over the time in which a process itself was at work
//! (not its children), and at each moment the most held-up process counts. What its requests took
//! on their way to Forebay and back is waited for as well, and no other run has it.

use super::timeline::Timeline;
use crate::loaded_run::LoadedRun;
use forebay_model::ProcessId;
use std::collections::BTreeMap;

/// The kernel tells when a process started in ticks of so many seconds (proc_pid_stat(5), `starttime`).
const TICK: f64 = 0.01;

/// A piece of a process's life, and the part of it that was spent waiting, 0 to 1.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: f64,
    to: f64,
    waiting: f64,
}

/// How storage held a task up.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockedTime {
    /// Seconds that it stood still.
    pub(super) seconds: f64,
    /// For which part of its operations it waits: of those that run beside each other, for one at a
    /// time. It comes from their counts, since what quick ones take is mostly chance; `None` where
    /// nobody counted them process by process.
    pub(super) part: Option<f64>,
}

/// How each task of the timeline was blocked.
pub(super) fn blocked_time_by_task(rows: &LoadedRun, line: &Timeline) -> Vec<BlockedTime> {
    let mut opened: BTreeMap<ProcessId, f64> = BTreeMap::new();
    for open in &rows.opens {
        let at = open.at.as_secs();
        opened.entry(open.process).and_modify(|first| *first = first.min(at)).or_insert(at);
    }
    let mut lives: BTreeMap<usize, Vec<(ProcessLife, f64)>> = BTreeMap::new();
    for process in &rows.processes {
        let Some(&task) = process.task.and_then(|task| line.place.get(&task)) else { continue };
        let ran = &line.ran[task];
        let first = opened.get(&process.id).copied();
        let from = process.started.map_or(ran.start, |at| start_in_tick(at.as_secs(), first));
        let to = process.ended.map_or(ran.end, |at| at.as_secs()).max(from);
        let waited = rows.io_wait_seconds(process.id);
        let life = ProcessLife { id: process.id, parent: process.parent, from, to, waited };
        lives.entry(task).or_default().push((life, rows.requests_of(process.id)));
    }
    let of = |(at, ran): (usize, &super::timeline::TimedTask)| {
        let wall = ran.end - ran.start;
        let counted = lives.get(&at).map_or(&[][..], Vec::as_slice);
        let lives: Vec<ProcessLife> = counted.iter().map(|(life, _)| *life).collect();
        let seen: f64 = lives.iter().map(|life| life.waited).sum();
        // Without processes there is one sum for the whole task.
        let told = rows.tasks[ran.row].waited.map_or(0.0, |waited| waited.as_secs());
        let blocked = if seen > 0.0 { integrate_maximum(own_life_pieces(&lives)) } else { told };
        BlockedTime { seconds: blocked.min(wall), part: awaited_part(counted) }
    };
    line.ran.iter().enumerate().map(of).collect()
}

/// When a process started, as far as its waits matter: in the tick that the kernel tells, and before it
/// opened a file. Else one that another followed at once would seem to run beside it.
fn start_in_tick(tick: f64, first_open: Option<f64>) -> f64 {
    first_open.map_or(tick, |first| first.clamp(tick, tick + TICK))
}

/// The part of all operations for which the most held-up process waits, moment by moment, if each
/// took as long as any other.
fn awaited_part(counted: &[(ProcessLife, f64)]) -> Option<f64> {
    /// So short that a life has room for all of them.
    const EACH: f64 = 1e-12;
    let all: f64 = counted.iter().map(|(_, requests)| requests).sum();
    let lives: Vec<ProcessLife> = counted
        .iter()
        .map(|(life, requests)| ProcessLife { waited: requests * EACH, ..*life })
        .collect();
    (all > 0.0).then(|| (integrate_maximum(own_life_pieces(&lives)) / (all * EACH)).min(1.0))
}

#[derive(Clone, Copy, Debug)]
struct ProcessLife {
    id: ProcessId,
    parent: Option<ProcessId>,
    from: f64,
    to: f64,
    waited: f64,
}

/// Each process's life without the lives of its children, with its waits spread over it.
fn own_life_pieces(lives: &[ProcessLife]) -> Vec<Piece> {
    let mut children: BTreeMap<ProcessId, Vec<(f64, f64)>> = BTreeMap::new();
    for life in lives {
        if let Some(parent) = life.parent {
            children.entry(parent).or_default().push((life.from, life.to));
        }
    }
    let mut pieces = Vec::new();
    for life in lives.iter().filter(|life| life.waited > 0.0) {
        let mut own = Vec::new();
        let mut at = life.from;
        let mut others = children.remove(&life.id).unwrap_or_default();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (from, to) in others {
            if from.min(life.to) > at {
                own.push((at, from.min(life.to)));
            }
            at = at.max(to);
        }
        if life.to > at {
            own.push((at, life.to));
        }
        let mut length: f64 = own.iter().map(|(from, to)| to - from).sum();
        if length < life.waited {
            // It waited beside its children, or was met after its first wait.
            own = vec![(life.from, life.to.max(life.from + life.waited))];
            length = own[0].1 - own[0].0;
        }
        let waiting = (life.waited / length).min(1.0);
        pieces.extend(own.into_iter().map(|(from, to)| Piece { from, to, waiting }));
    }
    pieces
}

/// The integral of the highest of all pieces.
fn integrate_maximum(pieces: Vec<Piece>) -> f64 {
    // Positive numbers are in the order of their bits, so these can be counted in a map.
    let mut events: Vec<(f64, bool, u64)> = Vec::with_capacity(pieces.len() * 2);
    for piece in pieces {
        events.push((piece.from, true, piece.waiting.to_bits()));
        events.push((piece.to, false, piece.waiting.to_bits()));
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut alive: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut blocked, mut last) = (0.0, 0.0);
    for (at, begins, bits) in events {
        let highest = alive.last_key_value().map_or(0.0, |(&bits, _)| f64::from_bits(bits));
        blocked += highest * (at - last);
        last = at;
        let count = alive.entry(bits).or_default();
        if begins {
            *count += 1;
        } else {
            *count = count.saturating_sub(1);
        }
        if *count == 0 {
            alive.remove(&bits);
        }
    }
    blocked
}

#[cfg(test)]
mod tests {
    //! If these fail, a pipe's waits are counted twice, and a plan promises twice what it can save.
    use super::*;

    fn life(id: u32, parent: Option<u32>, from: f64, to: f64, waited: f64) -> ProcessLife {
        ProcessLife { id: ProcessId(id), parent: parent.map(ProcessId), from, to, waited }
    }

    fn of(lives: &[ProcessLife]) -> f64 {
        (integrate_maximum(own_life_pieces(lives)) * 1e6).round() / 1e6
    }

    #[test]
    fn one_after_the_other_adds_up_and_side_by_side_the_slower_counts() {
        let shell = life(1, None, 0.0, 10.0, 0.0);
        let first = life(2, Some(1), 0.0, 5.0, 2.0);
        assert_eq!(of(&[shell, first, life(3, Some(1), 5.0, 10.0, 1.0)]), 3.0);
        assert_eq!(of(&[shell, first, life(3, Some(1), 0.0, 5.0, 1.0)]), 2.0);
    }

    #[test]
    fn a_parent_waits_in_its_own_time() {
        // Four seconds of its own, in which it waits all the time.
        let shell = life(1, None, 0.0, 10.0, 4.0);
        assert_eq!(of(&[shell, life(2, Some(1), 2.0, 8.0, 3.0)]), 7.0);
    }

    #[test]
    fn of_operations_beside_each_other_one_at_a_time_is_waited_for() {
        let alone = life(2, Some(1), 0.0, 5.0, 2.0);
        let part = |counted: &[(ProcessLife, f64)]| {
            awaited_part(counted).map(|part| (part * 1e6).round() / 1e6)
        };
        assert_eq!(part(&[(alone, 1_000.0)]), Some(1.0), "however little it waited");
        let beside = life(3, Some(1), 0.0, 5.0, 0.0);
        assert_eq!(part(&[(alone, 300.0), (beside, 100.0)]), Some(0.75));
        let after = life(4, Some(1), 5.0, 9.0, 0.0);
        assert_eq!(part(&[(alone, 300.0), (after, 100.0)]), Some(1.0));
        assert_eq!(part(&[(alone, 0.0)]), None, "nobody counted");
    }

    #[test]
    fn who_follows_in_the_same_tick_does_not_run_beside_the_one_before() {
        // Told to have started at 0.01 and 0.01, they ran one after the other.
        let first = life(2, Some(1), start_in_tick(0.01, Some(0.012)), 0.015, 0.0);
        let next = life(3, Some(1), start_in_tick(0.01, Some(0.016)), 0.019, 0.0);
        let part = awaited_part(&[(first, 50.0), (next, 50.0)]).expect("they asked");
        assert!((part - 1.0).abs() < 1e-9, "{part}");
        assert_eq!(start_in_tick(0.01, None), 0.01);
        assert_eq!(start_in_tick(0.01, Some(3.0)), 0.02, "no later than the tick ends");
        assert_eq!(start_in_tick(0.01, Some(0.0)), 0.01, "nor earlier than it begins");
    }

    #[test]
    fn threads_that_wait_at_once_never_block_longer_than_they_live() {
        assert_eq!(of(&[life(1, None, 1.0, 3.0, 50.0)]), 50.0, "bounded by the task's wall time");
        assert_eq!(of(&[]), 0.0);
    }
}
