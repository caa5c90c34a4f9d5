//! What a plan decides: where each class of files lives, how many nodes, what runs when.

use forebay_model::workload::{FileClass, TaskKindId};
use forebay_model::{
    ByteCount, FileLayout, FileLocation, FsyncMode, FullTierPolicy, Placement, Rules, RunEndAction,
    Seconds, Site, TierId, Workload, WriteBackTrigger,
};
use std::collections::BTreeMap;

/// One way to run a workload on a site.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// For each class of the workload, where its files live.
    pub placements: Vec<Placement>,
    /// The tier that "in place" means: where the project's directory is.
    pub project: TierId,
    /// How capacities are split, where that differs from the site: a pool and its bytes, counted as
    /// in the site file: on each node for a tier of one node's reach, of all for the others.
    pub pools: BTreeMap<TierId, ByteCount>,
    /// Nodes that are used, at most those of the site.
    pub nodes: u32,
    /// Tasks that one node runs at a time, at most those of the site.
    pub slots: u32,
    /// How many times the workload is run at once, each with its own files; inputs that no task
    /// makes are shared.
    pub pipelines: u32,
    /// From the start of one pipeline to that of the next.
    pub stagger: Seconds,
    /// Which waiting task gets a free slot.
    pub policy: PolicyId,
    /// Kinds that the policy puts into its queue of low priority.
    pub low: Vec<TaskKindId>,
    /// How often machines are taken away; `None`: never.
    pub spot: Option<SpotMachines>,
}

/// Machines that may be taken away while they work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpotMachines {
    /// How often that happens to one node in an hour.
    pub per_hour: f64,
    /// How long it takes until another node is in its place.
    pub replaced: Seconds,
}

impl SpotMachines {
    /// Until another machine works in place of one that was taken away: it is bought, starts, and
    /// mounts what it needs. Nobody publishes a figure.
    pub const USUALLY_REPLACED: Seconds = Seconds(120.0);
}

impl Choice {
    /// The site as it is: everything in place, all nodes and slots, one pipeline, first come first
    /// served. `None`: the site does not say what its nodes are.
    pub fn all_in_place(site: &Site, workload: &Workload, project: TierId) -> Option<Self> {
        let nodes = site.nodes()?;
        Some(Self {
            placements: placements_by_rules(&Rules::none(), workload),
            project,
            pools: BTreeMap::new(),
            nodes: nodes.count,
            slots: nodes.slots,
            pipelines: 1,
            stagger: Seconds::ZERO,
            policy: PolicyId("fifo"),
            low: Vec::new(),
            spot: None,
        })
    }
}

/// The name of an entry of the table of policies, such as `fifo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId(pub &'static str);

/// What these rules say of each class: the same function decides here and in a volume. A rule that
/// asks for a task is asked with none.
pub fn placements_by_rules(rules: &Rules, workload: &Workload) -> Vec<Placement> {
    let place = |class: &FileClass| rules.placement_for_path(&class.example, None).clone();
    workload.classes.iter().map(place).collect()
}

/// What happens to files that no rule is for.
pub fn in_place_placement() -> Placement {
    Placement {
        home: FileLocation::Here,
        layout: FileLayout::Plain,
        full: FullTierPolicy::Spill,
        fsync: FsyncMode::Durable,
        after: RunEndAction::Restore,
        drain: WriteBackTrigger::End,
        publish: None,
        cache: None,
        rule: None,
    }
}
