//! The engine for searching: flows of one shape progress at one rate, so they are kept in the
//! order in which they will be done, and time passes for all of them at once.
//!
//! A step of one second alone takes `1 + sum of asks * extra` where `extra` is the wait that each
//! lane adds to a byte or an operation; a lane that is not full adds none. Links of nodes are not
//! told apart: those that are in use count as one, as if flows were spread evenly over them.

mod lane;
mod queue;

use super::{Flows, ShapeId, Shapes};
use crate::scene::{LANES, Limit};
use lane::Lane;
use queue::Queue;

/// All flows of one shape.
#[derive(Clone, Debug, Default)]
struct Class {
    /// Seconds alone that each of its flows has done since the class was last empty.
    done: f64,
    /// When that was true.
    at: f64,
    /// Seconds that one second alone takes.
    stretch: f64,
    /// Flows by what `done` is when they are done.
    queue: Queue,
    /// When the first of them is done.
    next: f64,
    /// Its stretch has changed since `next` was worked out.
    moved: bool,
}

impl Class {
    fn pass(&mut self, now: f64) {
        if now > self.at {
            self.done += (now - self.at) / self.stretch;
        }
        self.at = now;
    }

    fn look_ahead(&mut self) {
        self.moved = false;
        self.next = match self.queue.first() {
            Some(end) => self.at + (end - self.done).max(0.0) * self.stretch,
            None => f64::INFINITY,
        };
    }
}

/// Where a flow is.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    shape: ShapeId,
    node: u32,
}

/// The engine.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    lanes: Vec<Lane>,
    /// Streams at each storage, and how much they and its fill take away.
    streams: Vec<u32>,
    growth: Vec<(f64, f64)>,
    classes: Vec<Class>,
    /// Those with flows.
    active: Vec<ShapeId>,
    flows: Vec<Place>,
    /// Something started, stopped or filled since rates were worked out.
    changed: bool,
}

impl Classes {
    fn enter(&mut self, now: f64, shape: ShapeId, shapes: &Shapes) {
        if self.classes.len() <= shape as usize {
            self.classes.resize_with(shapes.count(), Class::default);
        }
        let class = &mut self.classes[shape as usize];
        if class.queue.is_empty() {
            *class = Class {
                at: now,
                stretch: 1.0,
                queue: std::mem::take(&mut class.queue),
                ..Class::default()
            };
            self.active.push(shape);
            for (lane, amount) in shapes.asks(shape) {
                self.lanes[*lane as usize].join(shape, *amount);
                class.stretch += amount * self.lanes[*lane as usize].extra;
            }
        }
        class.pass(now);
    }

    fn count(&mut self, place: Place, more: bool, shapes: &Shapes) {
        let mut last = usize::MAX;
        for (lane, amount) in shapes.asks(place.shape) {
            let lane = *lane as usize;
            self.changed = true;
            self.lanes[lane].count(place.node, *amount, more);
            if lane / LANES != last {
                last = lane / LANES;
                self.streams[last] =
                    if more { self.streams[last] + 1 } else { self.streams[last] - 1 };
            }
        }
    }

    fn leave(&mut self, shape: ShapeId, shapes: &Shapes) {
        if self.classes[shape as usize].queue.is_empty() {
            self.active.retain(|other| *other != shape);
            for (lane, _) in shapes.asks(shape) {
                self.lanes[*lane as usize].part(shape);
            }
        }
    }

    /// Works out what each lane adds, until no lane is asked for more than it has.
    fn settle(&mut self, now: f64) {
        self.changed = false;
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            let (fill, streams) = self.growth[number / LANES];
            let others = f64::from(self.streams[number / LANES].saturating_sub(1));
            lane.left = 1.0 / (1.0 + fill + streams * others);
        }
        if self.lanes.iter().all(Lane::is_idle) {
            return;
        }
        // One lane after the other, each with what the others add: what they add together has one
        // answer, and this comes nearer to it with each round.
        for _ in 0..100 {
            let mut moved = false;
            for number in 0..self.lanes.len() {
                let Some(extra) = self.lanes[number].wanted(&self.classes) else { continue };
                let step = extra - self.lanes[number].extra;
                self.lanes[number].extra = extra;
                for (shape, amount) in &self.lanes[number].members {
                    let class = &mut self.classes[*shape as usize];
                    class.pass(now);
                    class.moved = true;
                    moved |= (amount * step).abs() > 1e-9 * class.stretch;
                    class.stretch = (class.stretch + amount * step).max(1.0);
                }
            }
            if !moved {
                break;
            }
        }
        for shape in &self.active {
            if self.classes[*shape as usize].moved {
                self.classes[*shape as usize].look_ahead();
            }
        }
    }
}

impl Flows for Classes {
    fn new(limits: Vec<Limit>, nodes: u32) -> Self {
        let storages = limits.len() / LANES;
        Self {
            lanes: limits.into_iter().map(|limit| Lane::new(limit, nodes)).collect(),
            streams: vec![0; storages],
            growth: vec![(0.0, 0.0); storages],
            classes: Vec::new(),
            active: Vec::new(),
            flows: Vec::new(),
            changed: false,
        }
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
        if self.changed {
            self.settle(now);
        }
        let next = self.active.iter().map(|shape| self.classes[*shape as usize].next);
        next.fold(f64::INFINITY, f64::min)
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
        for number in from..flows.len() {
            let place = self.flows[flows[number] as usize];
            self.count(place, false, shapes);
            self.leave(place.shape, shapes);
        }
        flows[from..].sort_unstable();
    }
}
