//! Whether files are within reach of those who use them, outlive machines, and fit their pools.

use super::choice_check::ClassLocation;
use super::{PreparedProblem, SimulationError};
use crate::{Choice, SpotMachines};
use forebay_model::workload::DeletionPoint;
use forebay_model::{Reach, WriteBackTrigger};

impl PreparedProblem<'_> {
    /// No task may need files that another node has to itself.
    pub(super) fn check_within_reach(
        &self,
        nodes: u32,
        homes: &[ClassLocation],
    ) -> Result<(), SimulationError> {
        if nodes == 1 {
            return Ok(());
        }
        for (set, files) in self.workload.files.iter().enumerate() {
            let class = files.class.index();
            let row = &self.tiers[homes[class].row];
            if row.reach == Reach::Node && (self.users.get(set).len() > 1 || !self.made[set]) {
                return Err(SimulationError(format!(
                    "files {:?} would live on tier {:?}, which only one node reaches, but tasks on \
                     {nodes} nodes use them: give them a shared home",
                    self.workload.classes[class].pattern,
                    row.id.as_str()
                )));
            }
        }
        Ok(())
    }

    /// How often machines may be taken away.
    pub(super) fn check_spot(&self, spot: SpotMachines) -> Result<(), SimulationError> {
        let (often, back) = (spot.per_hour, spot.replaced.get());
        if !(0.0..=3600.0).contains(&often) || !(0.0..1e9).contains(&back) {
            return Err(SimulationError(format!(
                "machines can't be taken away {often} times an hour and be back after {back} s"
            )));
        }
        Ok(())
    }

    /// What a machine that is taken away has to itself is lost with it: what others need of a task,
    /// and results that would come home at the end.
    pub(crate) fn check_survives_loss(
        &self,
        homes: &[ClassLocation],
    ) -> Result<(), SimulationError> {
        for (set, files) in self.workload.files.iter().enumerate() {
            let class = files.class.index();
            let row = &self.tiers[homes[class].row];
            let is_result = files.until == DeletionPoint::End
                && homes[class].comes == Some(WriteBackTrigger::End);
            let is_needed = self.users.get(set).len() > 1 || is_result;
            if row.reach == Reach::Node && self.made[set] && is_needed {
                return Err(SimulationError(format!(
                    "files {:?} would be lost with a machine that is taken away: tier {:?} is its \
                     own; give them a shared home",
                    self.workload.classes[class].pattern,
                    row.id.as_str()
                )));
            }
        }
        Ok(())
    }

    /// Capacities, with the pools that the choice sets.
    pub(super) fn resolve_capacities(
        &self,
        choice: &Choice,
    ) -> Result<Vec<Option<u64>>, SimulationError> {
        let mut all: Vec<Option<u64>> = self.tiers.iter().map(|row| row.capacity).collect();
        for (pool, bytes) in &choice.pools {
            let row = self.require_profiled_tier(pool, "a pool")?;
            all[row] = Some(bytes.get());
        }
        for (storage, whole) in self.storages.iter().enumerate() {
            let rows = || (0..all.len()).filter(|row| self.tiers[*row].storage == storage);
            let sum: u64 = rows().filter_map(|row| all[row]).fold(0, u64::saturating_add);
            if whole.capacity.is_some_and(|has| sum > has) && !choice.pools.is_empty() {
                let name = rows().next().map_or("", |row| self.tiers[row].id.as_str());
                return Err(SimulationError(format!(
                    "the pools of tier {name:?} take {sum} bytes, more than it has"
                )));
            }
        }
        Ok(all)
    }
}
