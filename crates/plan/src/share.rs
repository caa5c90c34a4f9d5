//! How streams share what a tier has. Each step that runs is a flow: it computes and does I/O by
//! turns, so it is at one lane at a time, and each lane is shared equally among the flows that are
//! at it at that moment.
//!
//! Two engines, one interface. [`flow_classes`] groups flows of one shape, which all progress at
//! one rate: it is for searching. [`per_server_engine`] knows every node's link and every server's
//! disk: it judges what the search has chosen. What it is not: it knows nothing of tasks, files and
//! queues.

pub(crate) mod flow_classes;
pub(crate) mod per_server_engine;
mod shapes;

pub(crate) use shapes::{FlowShapes, ShapeId};

use crate::prepared_problem::ResourceLimit;

/// The flows of a simulation.
pub(crate) trait FlowEngine {
    /// An engine for lanes with these limits; four for each storage.
    fn new(limits: Vec<ResourceLimit>, nodes: u32) -> Self;

    /// What is left of the limits of a storage, 0 to 1, as it fills; and by how much less is left
    /// with each further stream.
    fn set_contention(&mut self, storage: usize, fill: f64, streams: f64);

    /// A flow begins that takes so many seconds when it is alone.
    fn start_flow(
        &mut self,
        now: f64,
        flow: u32,
        node: u32,
        shape: ShapeId,
        alone: f64,
        shapes: &FlowShapes,
    );

    /// A flow ends before it is done.
    fn stop_flow(&mut self, now: f64, flow: u32, shapes: &FlowShapes);

    /// When the first flow is done, if nothing starts or stops before; infinity: there is none.
    fn next_completion(&mut self, now: f64, shapes: &FlowShapes) -> f64;

    /// Takes the flows out that are done by then, in an order that the same calls always give.
    fn take_completed(&mut self, now: f64, flows: &mut Vec<u32>, shapes: &FlowShapes);
}
