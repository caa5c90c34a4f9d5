//! The run once more, simulated: its workload on its own storage, with as many slots as it had. If
//! that does not come to the measured time, no prediction of anything else can be believed.

use super::LearntRun;
use crate::{Choice, Outcome, PreparedProblem, SimulationError, simulate};
use forebay_model::{Nodes, Reach, Site, StorageProfile, Tier, TierId};

/// The tier that stands for the covered directory.
const PROJECT: &str = "here";

impl LearntRun {
    /// The machine as it was during the run: its storages with what was fitted to them, one node.
    /// Without operations in the run, storage costs nothing here: all of it counts as computing.
    pub fn fitted_site(&self) -> Site {
        let tier = |id: &str, profile: StorageProfile| Tier {
            id: TierId(id.to_owned()),
            path: None,
            bucket: None,
            reach: Reach::Node,
            capacity: None,
            pool_of: None,
            profile: Some(profile),
            price: None,
        };
        let places = self.storages.iter().filter(|storage| storage.tier.is_none());
        let project = places.max_by_key(|storage| storage.fitted);
        let profile = project
            .map_or_else(|| StorageProfile::zero_cost("nothing was seen"), |s| s.profile.clone());
        let mut tiers = vec![tier(PROJECT, profile)];
        for storage in &self.storages {
            tiers.extend(storage.tier.as_ref().map(|id| tier(id, storage.profile.clone())));
        }
        let slots = self.measured.slots;
        let nodes = Nodes {
            count: 1,
            slots,
            cores: slots,
            memory: None,
            instance: None,
            reserved: 0,
            speed: 1.0,
        };
        Site::from_tiers(tiers, Some(nodes))
    }

    /// Simulates the run as it was.
    ///
    /// # Errors
    /// As `simulate`.
    pub fn simulate_rerun(&self) -> Result<Outcome, SimulationError> {
        let site = self.fitted_site();
        let scene = PreparedProblem::new(&site, &self.workload)?;
        let project = TierId(PROJECT.to_owned());
        let choice = Choice::all_in_place(&site, &self.workload, project)
            .ok_or_else(|| SimulationError("the run had no machine".to_owned()))?;
        simulate(&scene, &choice, 0)
    }
}
