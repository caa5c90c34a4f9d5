//! Lower bounds: what no placement can beat, so that a plan says how far it may be from the best.
//!
//! Three things bound the time: the longest chain of tasks, all work over all slots, and for each
//! storage and direction what goes through it over what it can do. Each is a sum over tasks of the
//! least time of each access, so each is linear in the placements, and their relaxation
//! ([`LowerBounds::relaxed_bound`]) bounds all placements at once. All of it is proven in the model
//! only. What it is not: an estimate; nothing waits for anything here.

mod aim;
mod capacity_constraints;
mod dual;
mod floor;
mod time_bounds;

pub use aim::Objective;

use crate::prepared_problem::PreparedProblem;
use crate::search_space::{Configuration, SearchSpace, class_facts};
use floor::{MinimumCostModel, SharedLimit};

/// The least that each task does with the files of one class.
#[derive(Clone, Debug)]
struct ClassMinimum {
    class: usize,
    /// Seconds, for each placement of the class.
    seconds: Vec<f64>,
    least: f64,
}

/// Bounds of one workload on one site.
#[derive(Clone, Debug)]
pub struct LowerBounds {
    compute: Vec<f64>,
    cores: Vec<f64>,
    after: Vec<Vec<usize>>,
    parts: Vec<Vec<ClassMinimum>>,
    /// For each class and placement: seconds of slots, and of cores.
    work: Vec<Vec<f64>>,
    core_work: Vec<Vec<f64>>,
    /// What is shared, with how much of it each class and placement takes.
    resources: Vec<(SharedLimit, Vec<Vec<f64>>)>,
    rooms: Vec<capacity_constraints::CapacityConstraint>,
    bytes: Vec<f64>,
    cores_of_node: f64,
    /// Slots of the site that the workflow engine takes.
    reserved: f64,
}

impl LowerBounds {
    /// Looks at each access of the workload with each placement of its class.
    pub fn new(scene: &PreparedProblem<'_>, space: &SearchSpace) -> Self {
        let (site, workload) = (scene.site, scene.workload);
        let alone = space.frames.iter().all(|frame| frame.pipelines == 1);
        let floor = MinimumCostModel::new(scene, &space.project, alone);
        let zero = || space.options.iter().map(|all| vec![0.0; all.len()]).collect::<Vec<_>>();
        let mut bounds = Self {
            compute: Vec::new(),
            cores: Vec::new(),
            after: Vec::new(),
            parts: Vec::new(),
            work: zero(),
            core_work: zero(),
            resources: Vec::new(),
            rooms: capacity_constraints::room_constraints(site, workload, space),
            bytes: class_facts(workload).iter().map(|class| class.bytes.get() as f64).collect(),
            cores_of_node: f64::from(scene.nodes.cores),
            reserved: f64::from(scene.nodes.reserved),
        };
        for task in &workload.tasks {
            let cores = f64::from(workload.kinds[task.kind.index()].cores);
            let compute: f64 = task.steps.iter().map(|step| step.compute.get()).sum();
            bounds.compute.push(compute / scene.nodes.speed);
            bounds.cores.push(cores);
            bounds.after.push(task.after.iter().map(|before| before.index()).collect());
            let mut parts: Vec<ClassMinimum> = Vec::new();
            for access in task.steps.iter().flat_map(|step| &step.accesses) {
                let class = workload.files[access.files.index()].class.index();
                let options = &space.options[class];
                let at = parts.iter().position(|part| part.class == class).unwrap_or_else(|| {
                    parts.push(ClassMinimum {
                        class,
                        seconds: vec![0.0; options.len()],
                        least: 0.0,
                    });
                    parts.len() - 1
                });
                for (option, placement) in options.iter().enumerate() {
                    let least = floor.least_cost(access, placement);
                    parts[at].seconds[option] += least.seconds;
                    for (resource, amount) in least.uses {
                        bounds.add_usage(resource, class, option, amount, &zero);
                    }
                }
            }
            for part in &mut parts {
                part.least = part.seconds.iter().copied().fold(f64::INFINITY, f64::min);
                for (option, seconds) in part.seconds.iter().enumerate() {
                    bounds.work[part.class][option] += seconds;
                    bounds.core_work[part.class][option] += seconds * cores;
                }
            }
            bounds.parts.push(parts);
        }
        bounds
    }

    fn add_usage(
        &mut self,
        resource: SharedLimit,
        class: usize,
        option: usize,
        amount: f64,
        zero: &dyn Fn() -> Vec<Vec<f64>>,
    ) {
        let found = self.resources.iter().position(|(known, _)| *known == resource);
        let at = found.unwrap_or_else(|| {
            self.resources.push((resource, zero()));
            self.resources.len() - 1
        });
        self.resources[at].1[class][option] += amount;
    }

    /// Seconds of waiting that one pipeline has at least with this class in this placement.
    pub fn waiting_seconds(&self, class: usize, option: usize) -> f64 {
        self.work[class][option]
    }

    /// What this class alone adds to a goal with this placement, if its waits were in nobody's
    /// shadow: for an order, not for a bound.
    pub(crate) fn weighted_cost(&self, aim: &Objective, class: usize, option: usize) -> f64 {
        aim.time * self.work[class][option] + aim.placement_toll(class, option)
    }

    /// Bytes of this class that one pipeline has.
    pub(crate) fn class_bytes(&self, class: usize) -> f64 {
        self.bytes[class]
    }

    /// What no choice of this frame beats that has these placements; `None`: any.
    pub fn partial_bound(
        &self,
        frame: &Configuration,
        picks: &[Option<u8>],
        aim: &Objective,
    ) -> f64 {
        let mut best = self.critical_path(frame, picks);
        for row in self.bound_rows(frame) {
            let sum: f64 = (0..picks.len()).map(|class| least_amount(row.of, class, picks)).sum();
            best = best.max(row.fixed + sum * row.factor);
        }
        let toll = |class: usize| match picks[class] {
            Some(pick) => aim.placement_toll(class, usize::from(pick)),
            None => (0..self.work[class].len())
                .map(|option| aim.placement_toll(class, option))
                .fold(f64::INFINITY, f64::min),
        };
        aim.time * best + (0..picks.len()).map(toll).sum::<f64>()
    }

    /// The longest chain of tasks, each with its least time.
    fn critical_path(&self, frame: &Configuration, picks: &[Option<u8>]) -> f64 {
        let mut done = Vec::with_capacity(self.compute.len());
        let mut last = 0.0_f64;
        for (task, compute) in self.compute.iter().enumerate() {
            let start = self.after[task].iter().map(|before| done[*before]).fold(0.0, f64::max);
            let io = self.parts[task].iter().map(|part| match picks[part.class] {
                Some(pick) => part.seconds[usize::from(pick)],
                None => part.least,
            });
            let end = start + compute + io.sum::<f64>();
            last = last.max(end);
            done.push(end);
        }
        last + stagger_delay(frame)
    }
}

fn least_amount(of: &[Vec<f64>], class: usize, picks: &[Option<u8>]) -> f64 {
    match picks[class] {
        Some(pick) => of[class][usize::from(pick)],
        None => of[class].iter().copied().fold(f64::INFINITY, f64::min),
    }
}

/// The last pipeline starts so much later.
fn stagger_delay(frame: &Configuration) -> f64 {
    frame.stagger.get() * f64::from(frame.pipelines.saturating_sub(1))
}

#[cfg(test)]
mod tests;
