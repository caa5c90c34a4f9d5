//! The engine for searching: flows of one shape progress at one rate, so they are kept in the
//! order in which they will be done, and time passes for all of them at once.
//!
//! A step of one second alone takes `1 + sum of asks * extra` where `extra` is the wait that each
//! lane adds to a byte or an operation; a lane that is not full adds none. Links of nodes are not
//! told apart: those that are in use count as one, as if flows were spread evenly over them.

mod account;
mod class;
mod flows;
mod queue;
mod resource;
mod settle;

use super::{FlowShapes, ShapeId};
use crate::prepared_problem::ResourceLimit;
use class::FlowClass;
use resource::SharedResource;

/// Where a flow is.
#[derive(Clone, Copy, Debug, Default)]
struct FlowPosition {
    shape: ShapeId,
    node: u32,
}

/// The engine.
#[derive(Clone, Debug)]
pub(crate) struct FlowClassEngine {
    lanes: Vec<SharedResource>,
    /// The storage of each lane; those of one storage stand together.
    storage: Vec<usize>,
    /// Streams at each storage, and how much they and its fill take away.
    streams: Vec<u32>,
    growth: Vec<(f64, f64)>,
    classes: Vec<FlowClass>,
    /// Those with flows.
    active: Vec<ShapeId>,
    flows: Vec<FlowPosition>,
    /// Something started, stopped or filled since rates were worked out.
    changed: bool,
    /// Lanes with credits, and when the first of these will be gone.
    accounts: Vec<usize>,
    empties: f64,
}

impl FlowClassEngine {
    /// An engine for lanes of these storages.
    pub(super) fn with_lane_storages(
        limits: Vec<ResourceLimit>,
        storage: Vec<usize>,
        nodes: u32,
    ) -> Self {
        let storages = storage.last().map_or(0, |last| last + 1);
        let accounts = limits.iter().enumerate().filter(|(_, limit)| limit.credits.is_some());
        Self {
            accounts: accounts.map(|(lane, _)| lane).collect(),
            empties: f64::INFINITY,
            lanes: limits.into_iter().map(|limit| SharedResource::new(limit, nodes)).collect(),
            storage,
            streams: vec![0; storages],
            growth: vec![(0.0, 0.0); storages],
            classes: Vec::new(),
            active: Vec::new(),
            flows: Vec::new(),
            changed: false,
        }
    }

    fn activate_class(&mut self, now: f64, shape: ShapeId, shapes: &FlowShapes) {
        if self.classes.len() <= shape as usize {
            self.classes.resize_with(shapes.count(), FlowClass::default);
        }
        let class = &mut self.classes[shape as usize];
        if class.queue.is_empty() {
            *class = FlowClass {
                at: now,
                stretch: 1.0,
                queue: std::mem::take(&mut class.queue),
                ..FlowClass::default()
            };
            self.active.push(shape);
            for (lane, amount) in shapes.lane_demands(shape) {
                self.lanes[*lane as usize].add_member(shape, *amount);
                class.stretch += amount * self.lanes[*lane as usize].extra;
            }
        }
        class.advance_to(now);
    }

    fn adjust_stream_counts(&mut self, place: FlowPosition, more: bool, shapes: &FlowShapes) {
        let mut last = usize::MAX;
        for (lane, amount) in shapes.lane_demands(place.shape) {
            let lane = *lane as usize;
            self.changed = true;
            self.lanes[lane].adjust_flow_count(place.node, *amount, more);
            if self.storage[lane] != last {
                last = self.storage[lane];
                self.streams[last] =
                    if more { self.streams[last] + 1 } else { self.streams[last] - 1 };
            }
        }
    }

    fn deactivate_if_empty(&mut self, shape: ShapeId, shapes: &FlowShapes) {
        if self.classes[shape as usize].queue.is_empty() {
            self.active.retain(|other| *other != shape);
            for (lane, _) in shapes.lane_demands(shape) {
                self.lanes[*lane as usize].remove_member(shape);
            }
        }
    }
}
