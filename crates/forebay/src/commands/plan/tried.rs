//! What is tried beside placements: nodes, pipelines, stagger, order.

use forebay_model::Seconds;
use forebay_model::workload::TaskKindId;
use forebay_plan::PolicyId;
use forebay_plan::space::Frames;

use super::Args;
use super::ground::Ground;

/// More kinds of tasks in the queue of low priority are not tried.
const LOW_MAX: usize = 2;

impl Ground {
    /// What is tried beside placements.
    pub(super) fn frames(&self, args: &Args) -> Frames {
        let nodes = self.site.nodes();
        let (count, slots) = nodes.map_or((1, 1), |nodes| (nodes.count, nodes.slots));
        let mut counts = vec![count];
        counts.extend([count / 2, 1].into_iter().filter(|fewer| *fewer > 0 && *fewer < count));
        counts.dedup();
        let at_once = [1, 2, 3, 4, 8, 16].into_iter().filter(|many| *many <= args.samples);
        let mut policies = vec![(PolicyId("fifo"), vec![])];
        if args.samples > 1 {
            let low = self.low().into_iter().map(|kind| (PolicyId("low-priority"), vec![kind]));
            policies.extend(low);
            policies.push((PolicyId("capacity"), vec![]));
        }
        Frames {
            nodes: counts,
            slots: vec![slots],
            pipelines: at_once.collect(),
            staggers: vec![Seconds::ZERO, Seconds(300.0)],
            policies,
            split_pools: true,
        }
    }

    /// The kinds that take most of the slots' time: those that fill all of them and make others
    /// wait.
    fn low(&self) -> Vec<TaskKindId> {
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
