//! Disks that go with their machines are emptied before the machines go.

use super::requests::Requests;
use crate::Choice;
use forebay_model::profile::Lane;
use forebay_model::{After, Home, Rate, Reach, Seconds, Site};

/// How long machines are kept after the last task, because results lie on their own disks.
pub(super) fn time(site: &Site, classes: &[Requests], choice: &Choice) -> Seconds {
    let Some(project) = site.tier(&choice.project).filter(|to| to.reach != Reach::Node) else {
        return Seconds::ZERO;
    };
    let (nodes, pipelines) = (f64::from(choice.nodes), f64::from(choice.pipelines));
    let leaving = classes.iter().zip(&choice.placements).filter_map(|(class, placement)| {
        let Home::Tier(id) = &placement.home else { return None };
        let from = site.tier(id).filter(|tier| tier.reach == Reach::Node)?;
        if placement.after == After::Discard {
            return None;
        }
        let (from, to) = (from.profile.as_ref()?, project.profile.as_ref()?);
        let each = least(from.read, true).min(least(to.write, false));
        let rate = (each * nodes).min(limit(to.write.total));
        let bytes = class.results.get() as f64 * pipelines;
        Some(Seconds(if rate.is_finite() { bytes / rate } else { 0.0 }))
    });
    leaving.sum()
}

/// What one node gets; the `total` of a node's own disk is its own.
fn least(lane: Lane, own: bool) -> f64 {
    let total = if own { limit(lane.total) } else { f64::INFINITY };
    limit(lane.node).min(limit(lane.stream)).min(total)
}

fn limit(rate: Option<Rate>) -> f64 {
    rate.map_or(f64::INFINITY, Rate::get)
}
