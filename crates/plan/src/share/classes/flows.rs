//! The engine as a simulation uses it.

use super::{Classes, Place};
use crate::scene::{LANES, Limit};
use crate::share::{Flows, ShapeId, Shapes};

impl Flows for Classes {
    fn new(limits: Vec<Limit>, nodes: u32) -> Self {
        let storage = (0..limits.len()).map(|lane| lane / LANES).collect();
        Self::over(limits, storage, nodes)
    }

    fn contend(&mut self, storage: usize, fill: f64, streams: f64) {
        self.growth[storage] = (fill, streams);
        self.changed = true;
    }

    fn start(
        &mut self,
        now: f64,
        flow: u32,
        node: u32,
        shape: ShapeId,
        alone: f64,
        shapes: &Shapes,
    ) {
        self.enter(now, shape, shapes);
        let place = Place { shape, node };
        self.count(place, true, shapes);
        let class = &mut self.classes[shape as usize];
        class.queue.push(class.done + alone, flow);
        class.look_ahead();
        if self.flows.len() <= flow as usize {
            self.flows.resize(flow as usize + 1, Place::default());
        }
        self.flows[flow as usize] = place;
    }

    fn stop(&mut self, now: f64, flow: u32, shapes: &Shapes) {
        let place = self.flows[flow as usize];
        let class = &mut self.classes[place.shape as usize];
        class.pass(now);
        class.queue.remove(flow);
        class.look_ahead();
        self.count(place, false, shapes);
        self.leave(place.shape, shapes);
    }

    fn next(&mut self, now: f64, _: &Shapes) -> f64 {
        if self.changed || now >= self.empties {
            self.settle(now);
        }
        let next = self.active.iter().map(|shape| self.classes[*shape as usize].next);
        let next = next.fold(f64::INFINITY, f64::min);
        // Nobody waits for an account to be empty.
        if next == f64::INFINITY { next } else { next.min(self.empties) }
    }

    fn done(&mut self, now: f64, flows: &mut Vec<u32>, shapes: &Shapes) {
        let from = flows.len();
        for number in 0..self.active.len() {
            let class = &mut self.classes[self.active[number] as usize];
            if class.next > now {
                continue;
            }
            class.pass(now);
            // A billionth of a second is no time: what ends together is taken out together.
            let until = class.queue.first().map_or(0.0, |end| class.done.max(end)) + 1e-9;
            while let Some(flow) = class.queue.pop(until) {
                flows.push(flow);
            }
            class.look_ahead();
        }
        for flow in &flows[from..] {
            let place = self.flows[*flow as usize];
            self.count(place, false, shapes);
            self.leave(place.shape, shapes);
        }
        flows[from..].sort_unstable();
    }
}
