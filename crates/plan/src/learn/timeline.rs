//! When tasks ran: their order, how many at once, and how long the engine took to start one.

use crate::loaded_run::LoadedRun;
use forebay_model::run::TaskRow;
use std::collections::{BTreeMap, BTreeSet};

/// A task of the run, with its times in seconds.
#[derive(Clone, Debug)]
pub(super) struct TimedTask {
    /// Its place in `rows.tasks`.
    pub(super) row: usize,
    pub(super) start: f64,
    pub(super) end: f64,
    /// Cores that it took, at least 1.
    pub(super) cores: u32,
}

/// All tasks that are no drivers, in the order of their start.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    pub(super) ran: Vec<TimedTask>,
    /// The place in `ran`, by `tasks.task`.
    pub(super) place: BTreeMap<u32, usize>,
    /// The most cores that were taken at once, for longer than it takes to notice an end.
    pub(super) slots: u32,
    pub(super) makespan: f64,
    /// Tasks whose start or end nobody saw.
    pub(super) timeless: usize,
}

/// Ends of one task and starts of the next are noticed a little apart.
pub(crate) const SLACK: f64 = 0.05;

/// Starts are told in hundredths of a second, rounded down (proc(5), starttime).
pub(super) const ROUNDED: f64 = 0.01;

/// No site runs more at once; a file that says so is not worth the memory.
const SLOTS_MAX: u32 = 1 << 20;

impl Timeline {
    pub(super) fn from_rows(rows: &LoadedRun) -> Self {
        let mut line = Self::default();
        let work = rows.tasks.iter().enumerate().filter(|(_, task)| !task.driver);
        let cores = cores_of_kinds(rows);
        for (row, task) in work {
            line.timeless += usize::from(task.started.is_none() || task.ended.is_none());
            let start = task.started.or(task.ended).unwrap_or_default();
            let end = task.ended.unwrap_or(start).max(start);
            let cores = cores.get(task.name.as_str()).copied().unwrap_or(1);
            line.ran.push(TimedTask { row, start: start.as_secs(), end: end.as_secs(), cores });
        }
        let id = |ran: &TimedTask| rows.tasks[ran.row].id;
        line.ran.sort_by(|a, b| {
            a.start.total_cmp(&b.start).then(a.end.total_cmp(&b.end)).then(id(a).cmp(&id(b)))
        });
        line.place = line.ran.iter().enumerate().map(|(at, ran)| (id(ran), at)).collect();
        let last = line.ran.iter().map(|ran| ran.end).fold(0.0, f64::max);
        line.makespan = rows.ended.map_or(last, |end| end.at.as_secs().max(last));
        line.count_slots();
        line
    }

    /// A start that is told earlier than the end of what it waited for was later: what follows each
    /// other takes no time twice.
    pub(super) fn delay_starts(&mut self, after: &[BTreeSet<usize>]) {
        for (at, before) in after.iter().enumerate() {
            let ready = before.iter().map(|&before| self.ran[before].end).fold(0.0, f64::max);
            let ran = &mut self.ran[at];
            if ready <= ran.start + SLACK {
                ran.start = ran.start.max(ready.min(ran.end));
            }
        }
        // Short tasks, one after the other, looked like two at once until here.
        self.count_slots();
    }

    fn count_slots(&mut self) {
        let widest = self.ran.iter().map(|ran| ran.cores).max().unwrap_or(1);
        self.slots = self.usual_peak_cores().max(widest);
    }

    /// Every start and end in order of time, ends first, with the cores in use after it.
    fn core_usage_moments(&self) -> Vec<CoreUsageMoment> {
        let mut moments = Vec::with_capacity(2 * self.ran.len());
        for (task, ran) in self.ran.iter().enumerate() {
            // One that took no time would end before it starts, and take its core for ever.
            let end = if ran.end > ran.start { ran.end } else { ran.start + 1e-9 };
            moments.push(CoreUsageMoment { at: ran.start, starts: true, task, used: 0 });
            moments.push(CoreUsageMoment { at: end, starts: false, task, used: 0 });
        }
        let order = |m: &CoreUsageMoment| (m.starts, m.task);
        moments.sort_by(|a, b| a.at.total_cmp(&b.at).then(order(a).cmp(&order(b))));
        let mut used = 0u32;
        for moment in &mut moments {
            let cores = self.ran[moment.task].cores;
            used =
                if moment.starts { used.saturating_add(cores) } else { used.saturating_sub(cores) };
            moment.used = used;
        }
        moments
    }

    /// The most cores in use, but for moments: an end is noticed after the next task has started.
    pub(super) fn usual_peak_cores(&self) -> u32 {
        const MOMENTS_SHARE: f64 = 0.02;
        let moments = self.core_usage_moments();
        let mut times: BTreeMap<u32, f64> = BTreeMap::new();
        for pair in moments.windows(2) {
            *times.entry(pair[0].used).or_default() += pair[1].at - pair[0].at;
        }
        let busy: f64 = times.iter().filter(|(used, _)| **used > 0).map(|(_, secs)| secs).sum();
        let mut above = 0.0;
        for (&used, secs) in times.iter().rev() {
            above += secs;
            if above > busy * MOMENTS_SHARE {
                return used.max(1);
            }
        }
        moments.iter().map(|moment| moment.used).max().unwrap_or(1).max(1)
    }

    /// How long each task waited although all that it needed was done and its cores were free: the
    /// time that the engine took. `ready` is when each could have started.
    pub(super) fn engine_gaps(&self, ready: &[f64]) -> Vec<f64> {
        let mut gaps = vec![0.0; self.ran.len()];
        if self.slots > SLOTS_MAX {
            return gaps;
        }
        // For each number of cores, since when so many have been free.
        let mut free_since: Vec<Option<f64>> = vec![Some(0.0); self.slots as usize + 1];
        let mut used = 0;
        for moment in self.core_usage_moments() {
            if moment.starts {
                let ran = &self.ran[moment.task];
                let fits = free_since.get(ran.cores as usize).copied().flatten();
                gaps[moment.task] =
                    fits.map_or(0.0, |since| (ran.start - since.max(ready[moment.task])).max(0.0));
            }
            let changed = used.min(moment.used)..used.max(moment.used);
            used = moment.used;
            for cores in changed.map(|used| self.slots.saturating_sub(used) as usize) {
                free_since[cores] = (!moment.starts).then_some(moment.at);
            }
        }
        gaps
    }

    /// How long all tasks would take if cores were never idle.
    pub(super) fn work_over_width(&self) -> f64 {
        let work = |ran: &TimedTask| (ran.end - ran.start) * f64::from(ran.cores);
        self.ran.iter().map(work).sum::<f64>() / f64::from(self.slots)
    }

    /// Was the one done when the other started? Two that ran at the same time wait for nothing.
    pub(super) fn ended_before(&self, one: usize, other: usize) -> bool {
        one < other && self.ran[one].end <= self.ran[other].start + SLACK
    }

    /// From the start of the run to that of the first task.
    pub(super) fn first_start(&self) -> f64 {
        self.ran.first().map_or(0.0, |ran| ran.start)
    }

    pub(super) fn last_end(&self) -> f64 {
        self.ran.iter().map(|ran| ran.end).fold(0.0, f64::max)
    }
}

#[derive(Clone, Copy, Debug)]
struct CoreUsageMoment {
    at: f64,
    starts: bool,
    task: usize,
    used: u32,
}

/// The cores of each kind: as told, else as many as the busiest task of that name used. Never more
/// than the machine has.
fn cores_of_kinds(rows: &LoadedRun) -> BTreeMap<&str, u32> {
    let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
    let most = rows.header.cpus.unwrap_or(u32::MAX).max(1);
    for task in rows.tasks.iter().filter(|task| !task.driver) {
        let cores = task.cores.unwrap_or_else(|| busy_cores(task)).clamp(1, most);
        let kind = kinds.entry(&task.name).or_insert(1);
        *kind = cores.max(*kind);
    }
    kinds
}

/// How many cores a task kept busy, as CPU over wall time. CPU of short tasks is counted too
/// coarsely to tell.
fn busy_cores(task: &TaskRow) -> u32 {
    const WALL_MIN_SECS: f64 = 1.0;
    let wall = match (task.started, task.ended) {
        (Some(start), Some(end)) => end.since(start).as_secs(),
        _ => 0.0,
    };
    let cpu = task.cpu_user.unwrap_or_default() + task.cpu_system.unwrap_or_default();
    if wall < WALL_MIN_SECS { 1 } else { (cpu.as_secs() / wall).round() as u32 }
}
