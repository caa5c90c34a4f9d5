//! The engine as a simulation uses it.

use super::{FlowClassEngine, FlowPosition};
use crate::prepared_problem::{LANES, ResourceLimit};
use crate::share::{FlowEngine, FlowShapes, ShapeId};

impl FlowEngine for FlowClassEngine {
    fn new(limits: Vec<ResourceLimit>, nodes: u32) -> Self {
        let storage = (0..limits.len()).map(|lane| lane / LANES).collect();
        Self::with_lane_storages(limits, storage, nodes)
    }

    fn set_contention(&mut self, storage: usize, fill: f64, streams: f64) {
        self.growth[storage] = (fill, streams);
        self.changed = true;
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
        self.activate_class(now, shape, shapes);
        let place = FlowPosition { shape, node };
        self.adjust_stream_counts(place, true, shapes);
        let class = &mut self.classes[shape as usize];
        class.queue.push(class.done + alone, flow);
        class.predict_next_completion();
        if self.flows.len() <= flow as usize {
            self.flows.resize(flow as usize + 1, FlowPosition::default());
        }
        self.flows[flow as usize] = place;
    }

    fn stop_flow(&mut self, now: f64, flow: u32, shapes: &FlowShapes) {
        let place = self.flows[flow as usize];
        let class = &mut self.classes[place.shape as usize];
        class.advance_to(now);
        class.queue.remove(flow);
        class.predict_next_completion();
        self.adjust_stream_counts(place, false, shapes);
        self.deactivate_if_empty(place.shape, shapes);
    }

    fn next_completion(&mut self, now: f64, _: &FlowShapes) -> f64 {
        if self.changed || now >= self.empties {
            self.update_lane_waits(now);
        }
        let next = self.active.iter().map(|shape| self.classes[*shape as usize].next);
        let next = next.fold(f64::INFINITY, f64::min);
        // Nobody waits for an account to be empty.
        if next == f64::INFINITY { next } else { next.min(self.empties) }
    }

    fn take_completed(&mut self, now: f64, flows: &mut Vec<u32>, shapes: &FlowShapes) {
        let from = flows.len();
        for number in 0..self.active.len() {
            let class = &mut self.classes[self.active[number] as usize];
            if class.next > now {
                continue;
            }
            class.advance_to(now);
            // A billionth of a second is no time: what ends together is taken out together.
            let until = class.queue.first_end().map_or(0.0, |end| class.done.max(end)) + 1e-9;
            while let Some(flow) = class.queue.pop_if_due(until) {
                flows.push(flow);
            }
            class.predict_next_completion();
        }
        for flow in &flows[from..] {
            let place = self.flows[*flow as usize];
            self.adjust_stream_counts(place, false, shapes);
            self.deactivate_if_empty(place.shape, shapes);
        }
        flows[from..].sort_unstable();
    }
}
