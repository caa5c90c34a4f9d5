//! Times that are sums over classes: work over width, and what goes through a storage over its rate.

use super::LowerBounds;
use crate::search_space::Configuration;

/// Something that takes `fixed + factor * sum over classes` seconds.
pub(super) struct TimeTerm<'b> {
    pub(super) fixed: f64,
    pub(super) of: &'b [Vec<f64>],
    pub(super) factor: f64,
}

impl LowerBounds {
    /// Work over width, and each storage's volume over its rate.
    pub(super) fn bound_rows(&self, frame: &Configuration) -> impl Iterator<Item = TimeTerm<'_>> {
        let pipelines = f64::from(frame.pipelines);
        let nodes = f64::from(frame.nodes);
        let width = nodes * f64::from(frame.slots) - self.reserved;
        let cores = nodes * self.cores_of_node;
        let compute: f64 = self.compute.iter().sum();
        let core_compute: f64 = self.compute.iter().zip(&self.cores).map(|(c, n)| c * n).sum();
        let work = TimeTerm {
            fixed: compute * pipelines / width,
            of: &self.work,
            factor: pipelines / width,
        };
        let core_work = TimeTerm {
            fixed: core_compute * pipelines / cores,
            of: &self.core_work,
            factor: pipelines / cores,
        };
        let storages = self.resources.iter().map(move |(resource, of)| {
            let volumes = if resource.everywhere { nodes } else { 1.0 };
            TimeTerm { fixed: 0.0, of, factor: pipelines / (resource.rate * volumes) }
        });
        [work, core_work].into_iter().chain(storages)
    }
}
