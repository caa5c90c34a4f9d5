//! Sites that are completed by what somebody knows beside the file.

use super::{Nodes, Site, Tier};

impl Site {
    /// The site with one more tier, or with another one of that name.
    #[must_use]
    pub fn with_tier(mut self, tier: Tier) -> Self {
        self.tiers.insert(tier.id.clone(), tier);
        self
    }

    /// The site with these machines.
    #[must_use]
    pub fn with_nodes(mut self, nodes: Nodes) -> Self {
        self.nodes = Some(nodes);
        self
    }
}
