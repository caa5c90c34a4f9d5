//! Files that are there at the same moment, whatever the schedule: they must fit together.

use crate::search_space::{Configuration, SearchSpace};
use forebay_model::workload::{DeletionPoint, TaskId};
use forebay_model::{ByteCount, FileLocation, Reach, Site, TierId, Workload, WriteBackTrigger};
use std::collections::BTreeMap;

/// More tasks add little: the largest ones bind.
const TASKS_MAX: usize = 12;

/// Bytes that are on one tier at one moment.
#[derive(Clone, Debug)]
pub(super) struct CapacityConstraint {
    tier: TierId,
    capacity: ByteCount,
    everywhere: bool,
    /// All pipelines have theirs there at that moment.
    all_pipelines: bool,
    /// For each class and placement.
    pub(super) bytes: Vec<Vec<f64>>,
}

impl CapacityConstraint {
    pub(super) fn per_pipeline_limit(&self, frame: &Configuration) -> f64 {
        let capacity = frame.pools.get(&self.tier).copied().unwrap_or(self.capacity);
        let nodes = if self.everywhere { f64::from(frame.nodes) } else { 1.0 };
        let pipelines = if self.all_pipelines { f64::from(frame.pipelines) } else { 1.0 };
        capacity.get() as f64 * nodes / pipelines
    }
}

/// For each tier with a capacity: what is there in the end, and what the largest tasks have around
/// them when they are done.
pub(super) fn room_constraints(
    site: &Site,
    workload: &Workload,
    space: &SearchSpace,
) -> Vec<CapacityConstraint> {
    let written = |task: &forebay_model::workload::Task| {
        let accesses = task.steps.iter().flat_map(|step| &step.accesses);
        let written = accesses.filter(|access| access.written > ByteCount::ZERO);
        written.map(|access| access.files.index()).collect::<Vec<_>>()
    };
    let mut moments: Vec<(bool, BTreeMap<usize, f64>)> = Vec::new();
    let mut last: BTreeMap<usize, f64> = BTreeMap::new();
    let mut made = vec![false; workload.files.len()];
    for (number, task) in workload.tasks.iter().enumerate() {
        let mut there: BTreeMap<usize, f64> = BTreeMap::new();
        let mut sets = written(task);
        sets.sort_unstable();
        sets.dedup();
        for set in sets {
            let file = &workload.files[set];
            if file.until == DeletionPoint::End && !made[set] {
                *last.entry(file.class.index()).or_default() += file.bytes.get() as f64;
            }
            made[set] = true;
            // Freed by somebody who waits for this task, by this task itself, or never.
            let waits =
                |end: TaskId| workload.tasks[end.index()].after.contains(&TaskId(number as u32));
            let stays = match file.until {
                DeletionPoint::End => true,
                DeletionPoint::Task(end) => end.index() == number || waits(end),
                DeletionPoint::Step(end, _) => waits(end),
            };
            if stays {
                *there.entry(file.class.index()).or_default() += file.bytes.get() as f64;
            }
        }
        moments.push((false, there));
    }
    moments.sort_by(|a, b| b.1.values().sum::<f64>().total_cmp(&a.1.values().sum()));
    moments.dedup_by(|a, b| a.1 == b.1);
    moments.truncate(TASKS_MAX);
    moments.push((true, last));
    let mut rooms = Vec::new();
    for tier in site.tiers() {
        let Some(capacity) = tier.capacity else { continue };
        for (all_pipelines, there) in &moments {
            let on = |class: usize| {
                let bytes = there.get(&class).copied().unwrap_or(0.0);
                let home = move |placement: &forebay_model::Placement| {
                    let here = matches!(&placement.home, FileLocation::Tier(id) if *id == tier.id);
                    // What goes home when it is closed is there at no moment for sure.
                    if here && placement.drain == WriteBackTrigger::End { bytes } else { 0.0 }
                };
                space.options[class].iter().map(home).collect::<Vec<_>>()
            };
            let bytes: Vec<Vec<f64>> = (0..space.options.len()).map(on).collect();
            if bytes.iter().flatten().any(|bytes| *bytes > 0.0) {
                rooms.push(CapacityConstraint {
                    tier: tier.id.clone(),
                    capacity,
                    everywhere: tier.reach == Reach::Node,
                    all_pipelines: *all_pipelines,
                    bytes,
                });
            }
        }
    }
    rooms
}
