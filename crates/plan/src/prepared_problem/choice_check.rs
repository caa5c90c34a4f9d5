//! What a choice means on a scene, or why it can't be.

use super::{PreparedProblem, SimulationError};
use crate::Choice;
use forebay_model::rules::FileLocation;
use forebay_model::workload::TaskKind;
use forebay_model::{
    FileLayout, FsyncMode, FullTierPolicy, Nodes, Placement, PrefetchMode, RunEndAction, TierId,
    WriteBackTrigger,
};

/// Whether one task of a kind fits on an empty node.
pub(super) fn check_fits_on_node(nodes: &Nodes, kind: &TaskKind) -> Result<(), SimulationError> {
    if kind.cores > nodes.cores {
        return Err(SimulationError(format!(
            "a task {:?} takes {} cores, but a node of the site has {}",
            kind.name, kind.cores, nodes.cores
        )));
    }
    match (kind.memory, nodes.memory) {
        (Some(takes), Some(has)) if takes > has => Err(SimulationError(format!(
            "a task {:?} takes {takes} of memory, but a node of the site has {has}",
            kind.name
        ))),
        _ => Ok(()),
    }
}

/// Where the files of one class live; numbers are rows of tiers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassLocation {
    pub(crate) row: usize,
    /// Where files go when that is full; `None`: their writer fails.
    pub(crate) spill: Option<usize>,
    pub(crate) layout: FileLayout,
    /// Files live elsewhere than in place; this is the storage where their names are.
    pub(crate) names: Option<usize>,
    /// An fsync waits until bytes are safe.
    pub(crate) durable: bool,
    pub(crate) cache: Option<(usize, PrefetchMode)>,
    /// When files come home from here; `None`: they stay, are discarded, or are in place.
    pub(crate) comes: Option<WriteBackTrigger>,
}

/// A choice in numbers.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedChoice {
    /// The row that "in place" means.
    pub(crate) project: usize,
    pub(crate) of_class: Vec<ClassLocation>,
    /// Of each row, in bytes.
    pub(crate) capacity: Vec<Option<u64>>,
}

impl PreparedProblem<'_> {
    /// Whether a choice can be simulated.
    ///
    /// # Errors
    /// What is wrong, with the name of the class, tier or policy.
    pub fn check_choice(&self, choice: &Choice) -> Result<(), SimulationError> {
        self.resolve_class_homes(choice).map(drop)
    }

    pub(crate) fn resolve_class_homes(
        &self,
        choice: &Choice,
    ) -> Result<ResolvedChoice, SimulationError> {
        let no = |why: String| Err(SimulationError(why));
        let (nodes, slots) = (self.nodes.count, self.nodes.slots);
        for (what, has, most) in
            [("nodes", choice.nodes, nodes), ("slots on each node", choice.slots, slots)]
        {
            if has == 0 || has > most {
                return no(format!("{has} {what} are asked for: the site has 1 to {most}"));
            }
        }
        if choice.nodes * choice.slots <= self.nodes.reserved {
            return no("the workflow engine takes all slots, none is left for tasks".to_owned());
        }
        if choice.pipelines == 0 {
            return no("0 pipelines are nothing to simulate".to_owned());
        }
        if !(0.0..1e9).contains(&choice.stagger.get()) {
            return no(format!("pipelines can't start {} s apart", choice.stagger.get()));
        }
        if choice.placements.len() != self.workload.classes.len() {
            let (has, needs) = (choice.placements.len(), self.workload.classes.len());
            return no(format!("{has} placements are given for {needs} classes of files"));
        }
        let project = self.require_profiled_tier(&choice.project, "the project's directory")?;
        let placed = self.workload.classes.iter().zip(&choice.placements);
        let of_class = placed
            .map(|(class, placement)| self.resolve_class_home(placement, project, &class.pattern))
            .collect::<Result<Vec<_>, _>>()?;
        self.check_within_reach(choice.nodes, &of_class)?;
        if let Some(spot) = choice.spot {
            self.check_spot(spot)?;
            self.check_survives_loss(&of_class)?;
        }
        Ok(ResolvedChoice { project, of_class, capacity: self.resolve_capacities(choice)? })
    }

    pub(super) fn require_profiled_tier(
        &self,
        id: &TierId,
        whose: &str,
    ) -> Result<usize, SimulationError> {
        let row = self.find_tier_row(id).ok_or_else(|| {
            SimulationError(format!(
                "the site has no tier {:?}, where {whose} should be",
                id.as_str()
            ))
        })?;
        if self.storages[self.tiers[row].storage].profile.is_none() {
            return Err(SimulationError(format!(
                "tier {:?}, where {whose} should be, has no profile: `forebay probe` measures one",
                id.as_str()
            )));
        }
        Ok(row)
    }

    fn resolve_class_home(
        &self,
        placement: &Placement,
        project: usize,
        class: &str,
    ) -> Result<ClassLocation, SimulationError> {
        let row = match &placement.home {
            FileLocation::Here => project,
            FileLocation::Tier(id) => self.require_profiled_tier(id, class)?,
        };
        let cache = placement.cache.as_ref();
        let cache = cache
            .map(|cache| Ok((self.require_profiled_tier(&cache.tier, class)?, cache.ahead)))
            .transpose()?;
        let comes = (row != project && placement.after == RunEndAction::Restore).then(|| {
            // Packed names stand before those that came home until the run ends.
            if placement.layout.is_packed() { WriteBackTrigger::End } else { placement.drain }
        });
        let whole = placement.layout == FileLayout::Whole;
        Ok(ClassLocation {
            row,
            comes,
            // The file system of a whole folder has no other place for what it has no room for.
            spill: (placement.full == FullTierPolicy::Spill && row != project && !whole)
                .then_some(project),
            layout: placement.layout,
            names: (row != project && !whole).then_some(self.tiers[project].storage),
            durable: placement.fsync == FsyncMode::Durable,
            cache,
        })
    }
}
