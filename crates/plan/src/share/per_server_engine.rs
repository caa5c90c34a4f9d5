//! The engine that judges: every node's link to a storage and every server of it is a lane of its
//! own, every flow is at its own node's link and at the servers that its file is spread over.
//!
//! It shares by the same rule as the engine for searching, which takes links and servers for evenly
//! loaded; how far that is wrong is what this one shows. It is slower by the number of lanes.

use super::flow_classes::FlowClassEngine;
use super::{FlowEngine, FlowShapes, ShapeId};
use crate::prepared_problem::{LANES, ResourceCredits, ResourceLimit};

/// Where the parts of a lane are among all.
#[derive(Clone, Copy, Debug)]
struct ResourceParts {
    /// The link of the first node, if links have a limit.
    links: Option<usize>,
    /// The first server, if there is a limit for all.
    servers: Option<usize>,
    limit: ResourceLimit,
}

/// The engine.
#[derive(Clone, Debug)]
pub(crate) struct PerServerEngine {
    inner: FlowClassEngine,
    /// Shapes over the parts.
    shapes: FlowShapes,
    parts: Vec<ResourceParts>,
    asks: Vec<f64>,
    limited: Vec<bool>,
    /// Where files begin on the servers: each flow's one further on.
    turn: u32,
}

impl FlowEngine for PerServerEngine {
    fn new(limits: Vec<ResourceLimit>, nodes: u32) -> Self {
        let (mut parts, mut lanes, mut storage) = (Vec::new(), Vec::new(), Vec::new());
        for (number, limit) in limits.into_iter().enumerate() {
            let mut add = |count: u32, each: f64, credits: Option<ResourceCredits>| {
                let first = lanes.len();
                let node = f64::INFINITY;
                let part = ResourceLimit { total: each, node, servers: 1, spread: 1, credits };
                lanes.extend((0..count).map(|_| part));
                storage.extend((0..count).map(|_| number / LANES));
                each.is_finite().then_some(first)
            };
            let of_node = limit.credits.filter(|credits| credits.of_node);
            let of_all = limit.credits.filter(|credits| !credits.of_node);
            let of_node = of_node.map(|credits| ResourceCredits { of_node: false, ..credits });
            let servers = f64::from(limit.servers);
            let of_one =
                of_all.map(|credits| ResourceCredits { full: credits.full / servers, ..credits });
            let links = add(if limit.node.is_finite() { nodes } else { 0 }, limit.node, of_node);
            // One lane at least, so that each storage has its place.
            let servers = add(limit.servers, limit.total / servers, of_one);
            parts.push(ResourceParts { links, servers, limit });
        }
        Self {
            asks: vec![0.0; lanes.len()],
            limited: lanes.iter().map(|limit| limit.total.is_finite()).collect(),
            inner: FlowClassEngine::with_lane_storages(lanes, storage, nodes),
            shapes: FlowShapes::without_merging(),
            parts,
            turn: 0,
        }
    }

    fn set_contention(&mut self, storage: usize, fill: f64, streams: f64) {
        self.inner.set_contention(storage, fill, streams);
    }

    fn start_flow(
        &mut self,
        now: f64,
        flow: u32,
        node: u32,
        shape: ShapeId,
        alone: f64,
        shapes: &FlowShapes,
    ) {
        self.asks.fill(0.0);
        for (lane, amount) in shapes.lane_demands(shape) {
            let parts = self.parts[*lane as usize];
            if let Some(first) = parts.links {
                self.asks[first + node as usize] += amount;
            }
            if let Some(first) = parts.servers {
                let (servers, spread) = (parts.limit.servers, parts.limit.spread);
                for stripe in 0..spread {
                    let server = (self.turn + stripe) % servers;
                    self.asks[first + server as usize] += amount / f64::from(spread);
                }
            }
        }
        self.turn = self.turn.wrapping_add(1) % (1 << 20);
        let own = self.shapes.intern_demands(1.0, &self.asks, &self.limited);
        self.inner.start_flow(now, flow, node, own, alone, &self.shapes);
    }

    fn stop_flow(&mut self, now: f64, flow: u32, _: &FlowShapes) {
        self.inner.stop_flow(now, flow, &self.shapes);
    }

    fn next_completion(&mut self, now: f64, _: &FlowShapes) -> f64 {
        self.inner.next_completion(now, &self.shapes)
    }

    fn take_completed(&mut self, now: f64, flows: &mut Vec<u32>, _: &FlowShapes) {
        self.inner.take_completed(now, flows, &self.shapes);
    }
}
