//! What is tried beside placements: nodes, pipelines, stagger, order.

use forebay_model::Seconds;
use forebay_model::workload::TaskKindId;
use forebay_plan::search_space::ConfigurationGrid;
use forebay_plan::{PolicyId, SpotMachines};

use super::plan_inputs::PlanInputs;
use super::{Args, NO_PLAN};
use crate::exit::CommandError;

/// More kinds of tasks in the queue of low priority are not tried.
const LOW_MAX: usize = 2;

impl PlanInputs {
    /// What is tried beside placements.
    pub(super) fn configurations_to_try(
        &self,
        args: &Args,
    ) -> Result<ConfigurationGrid, CommandError> {
        let nodes = self.site.nodes();
        let (count, slots) = nodes.map_or((1, 1), |nodes| (nodes.count, nodes.slots));
        let mut counts = vec![count];
        counts.extend([count / 2, 1].into_iter().filter(|fewer| *fewer > 0 && *fewer < count));
        counts.dedup();
        let at_once = [1, 2, 3, 4, 8, 16].into_iter().filter(|many| *many <= args.samples);
        let mut policies = vec![(PolicyId("fifo"), vec![])];
        if args.samples > 1 {
            let low = self
                .busiest_task_kinds()
                .into_iter()
                .map(|kind| (PolicyId("low-priority"), vec![kind]));
            policies.extend(low);
            policies.push((PolicyId("capacity"), vec![]));
        }
        Ok(ConfigurationGrid {
            nodes: counts,
            slots: vec![slots],
            pipelines: at_once.collect(),
            staggers: vec![Seconds::ZERO, Seconds(300.0)],
            policies,
            spots: self.purchase_options(args)?,
            split_pools: true,
        })
    }

    /// Machines as they are bought: those that stay first, if they may be chosen.
    fn purchase_options(&self, args: &Args) -> Result<Vec<Option<SpotMachines>>, CommandError> {
        let instance = self.site.nodes().and_then(|nodes| nodes.instance.as_ref());
        let sold = self.prices.spot.as_ref().zip(instance).map(|(spot, _)| SpotMachines {
            per_hour: spot.interrupted_per_month * 3600.0 / self.prices.month.get(),
            replaced: SpotMachines::USUALLY_REPLACED,
        });
        match (sold, args.spot, args.on_demand) {
            (Some(_), true, _) => Ok(vec![sold]),
            (Some(_), false, false) => Ok(vec![None, sold]),
            (_, false, _) => Ok(vec![None]),
            (None, true, _) => {
                let sheet = &self.prices.sheet;
                let why = format!("--spot: sheet {sheet} has no [spot], or the site no instance");
                Err(CommandError::new(
                    NO_PLAN,
                    why,
                    "`forebay manual formats site` says how machines are named",
                ))
            }
        }
    }

    /// The kinds that take most of the slots' time: those that fill all of them and make others
    /// wait.
    fn busiest_task_kinds(&self) -> Vec<TaskKindId> {
        let mut times = vec![(0.0, 0_u32); self.workload.kinds.len()];
        for task in &self.workload.tasks {
            let time: f64 = task.steps.iter().map(|step| step.compute.get()).sum();
            let kind = &mut times[task.kind.index()];
            kind.0 += time;
            kind.1 += 1;
        }
        let mut kinds: Vec<usize> = (0..times.len()).filter(|kind| times[*kind].1 > 1).collect();
        kinds.sort_by(|a, b| times[*b].0.total_cmp(&times[*a].0).then(a.cmp(b)));
        kinds.into_iter().take(LOW_MAX).map(|kind| TaskKindId(kind as u32)).collect()
    }
}
