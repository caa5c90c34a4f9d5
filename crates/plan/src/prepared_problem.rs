//! A workload on a site, looked at once: what waits for what, who makes and who frees each file,
//! which storage is behind each tier. Thousands of choices are then simulated on it.
//!
//! What it is not: a choice. Where files live and what runs when comes with each simulation.

mod choice_check;
mod lists;
mod own_cost;
mod reach;
mod step_cost;
mod tier_storages;

pub(crate) use choice_check::{ClassLocation, ResolvedChoice};
pub(crate) use lists::IndexLists;
pub use own_cost::ForebayOverhead;
pub(crate) use step_cost::{ResourceRates, StepCost, cached_read_share};
pub(crate) use tier_storages::{
    LANES, NAMES, READ, ResourceCredits, ResourceLimit, TierRow, TierStorage, WRITE,
};

use forebay_model::workload::DeletionPoint;
use forebay_model::{Nodes, Site, TierId, Workload};

/// Why something can't be simulated, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SimulationError(pub String);

/// What an access comes to, whatever the choice: one row for each access of each step of each task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessRow {
    /// The files.
    pub(crate) set: u32,
    /// By how much they grow when it writes: all that write to them share their size.
    pub(crate) grows: u64,
    /// Operations, of all kinds.
    pub(crate) operations: f64,
}

/// A workload on a site.
#[derive(Clone, Debug)]
pub struct PreparedProblem<'s> {
    /// The site.
    pub site: &'s Site,
    /// The workload.
    pub workload: &'s Workload,
    pub(crate) nodes: &'s Nodes,
    /// What Forebay costs where a choice needs it; `None`: nothing.
    pub(crate) own: Option<ForebayOverhead>,
    /// Tiers and pools, by name.
    pub(crate) tiers: Vec<TierRow>,
    /// What is behind them.
    pub(crate) storages: Vec<TierStorage<'s>>,
    /// Tasks that wait for a task.
    pub(crate) then: IndexLists,
    /// For how many tasks each waits.
    pub(crate) waits: Vec<u32>,
    /// Sets that are freed when a task is done.
    pub(crate) frees: IndexLists,
    /// For each class the part of its questions for attributes that is asked where answers count
    /// for a second; empty without Forebay.
    pub(crate) asked_shares: Vec<f64>,
    /// How many times a walk through all directories waits for storage; 0 without Forebay.
    pub(crate) walk_rounds: f64,
    /// Sets that are freed when a step is done.
    pub(crate) step_frees: IndexLists,
    /// Tasks that touch a set, in their order.
    pub(crate) users: IndexLists,
    /// Sets that some task makes; the others are inputs.
    pub(crate) made: Vec<bool>,
    /// The first step of each task among all steps; one more at the end.
    pub(crate) first_step: Vec<u32>,
    /// The first access of each step among all accesses; one more at the end.
    pub(crate) first_access: Vec<u32>,
    pub(crate) accesses: Vec<AccessRow>,
}

impl<'s> PreparedProblem<'s> {
    /// Looks at both.
    ///
    /// # Errors
    /// The workload is none, the site does not say what its nodes are, or no node can hold some
    /// task.
    pub fn new(site: &'s Site, workload: &'s Workload) -> Result<Self, SimulationError> {
        workload.ensure_valid().map_err(|why| SimulationError(why.to_string()))?;
        let nodes = site.nodes().ok_or_else(|| {
            SimulationError(
                "the site file has no table [nodes]: it must say how many cores a machine has"
                    .to_owned(),
            )
        })?;
        for kind in &workload.kinds {
            choice_check::check_fits_on_node(nodes, kind)?;
        }
        let (tiers, storages) = tier_storages::rows_and_storages(site);
        let then = workload.tasks.iter().enumerate().flat_map(|(number, task)| {
            task.after.iter().map(move |before| (before.index(), number as u32))
        });
        let frees =
            workload.files.iter().enumerate().filter_map(|(set, files)| match files.until {
                DeletionPoint::End | DeletionPoint::Step(..) => None,
                DeletionPoint::Task(task) => Some((task.index(), set as u32)),
            });
        let tasks = workload.tasks.len();
        let mut scene = Self {
            site,
            workload,
            nodes,
            own: None,
            asked_shares: Vec::new(),
            walk_rounds: 0.0,
            tiers,
            storages,
            then: IndexLists::from_pairs(tasks, then),
            waits: workload.tasks.iter().map(|task| task.after.len() as u32).collect(),
            frees: IndexLists::from_pairs(tasks, frees),
            step_frees: IndexLists::default(),
            users: IndexLists::default(),
            made: vec![false; workload.files.len()],
            first_step: vec![0],
            first_access: vec![0],
            accesses: Vec::new(),
        };
        scene.flatten_accesses();
        Ok(scene)
    }

    /// The same, where Forebay does what choices ask for.
    #[must_use]
    pub fn with_own_cost(self, own: ForebayOverhead) -> Self {
        let asked_shares = own_cost::asked_shares(self.workload);
        let walk_rounds = own_cost::walk_rounds(self.workload);
        Self { own: Some(own), asked_shares, walk_rounds, ..self }
    }

    /// Fills the flat lists of steps and accesses.
    fn flatten_accesses(&mut self) {
        let sets = &self.workload.files;
        let mut written = vec![0_u64; sets.len()];
        let mut users = Vec::new();
        for (number, task) in self.workload.tasks.iter().enumerate() {
            let mut touched: Vec<u32> = Vec::new();
            for access in task.steps.iter().flat_map(|step| &step.accesses) {
                let total = &mut written[access.files.index()];
                *total = total.saturating_add(access.written.get());
                touched.push(access.files.0);
            }
            touched.sort_unstable();
            touched.dedup();
            users.extend(touched.into_iter().map(|set| (set as usize, number as u32)));
        }
        self.users = IndexLists::from_pairs(sets.len(), users.into_iter());
        let mut so_far = vec![0_u64; sets.len()];
        for task in &self.workload.tasks {
            for step in &task.steps {
                for access in &step.accesses {
                    let set = access.files.index();
                    // What is known of the size counts; what was never whole is as large as what
                    // was written.
                    let whole = if sets[set].bytes.get() == 0 {
                        written[set]
                    } else {
                        sets[set].bytes.get()
                    };
                    let part = |up_to: u64| {
                        (u128::from(whole) * u128::from(up_to) / u128::from(written[set].max(1)))
                            as u64
                    };
                    let before = part(so_far[set]);
                    so_far[set] = so_far[set].saturating_add(access.written.get());
                    self.made[set] |= access.makes_files();
                    self.accesses.push(AccessRow {
                        set: access.files.0,
                        grows: part(so_far[set]) - before,
                        operations: access.ops.iter().map(|(_, count)| count).sum(),
                    });
                }
                self.first_access.push(self.accesses.len() as u32);
            }
            self.first_step.push(self.first_access.len() as u32 - 1);
        }
        let frees = sets.iter().enumerate().filter_map(|(set, files)| match files.until {
            DeletionPoint::End | DeletionPoint::Task(_) => None,
            DeletionPoint::Step(task, step) => {
                Some(((self.first_step[task.index()] + step) as usize, set as u32))
            }
        });
        self.step_frees = IndexLists::from_pairs(self.first_access.len() - 1, frees);
    }

    /// The row of a tier or pool.
    pub(crate) fn find_tier_row(&self, id: &TierId) -> Option<usize> {
        self.tiers.binary_search_by(|row| row.id.cmp(id)).ok()
    }
}
