//! Which waiting tasks start, and where: the policy names one, and asks whether it could.

use super::{RunningTask, Simulation, SimulationObserver};
use crate::outcome::TaskOutcome;
use crate::policies::{Admission, NodePreference, QueueHead};
use crate::prepared_problem::SimulationError;
use crate::share::FlowEngine;
use crate::simulate::SimulationEvent;
use forebay_model::Seconds;
use forebay_model::workload::{TaskId, TaskKind};

impl<F: FlowEngine, W: SimulationObserver> Simulation<'_, '_, F, W> {
    /// Starts tasks for as long as the policy names one.
    pub(super) fn start_waiting_tasks(&mut self) -> Result<(), SimulationError> {
        while self.room.free > 0 && !self.waiting.heads().is_empty() {
            let picked = (self.policy.pick)(self.waiting.heads(), &mut |head| self.can_start(head));
            let Some(head) = picked else { break };
            self.start_task(&head)?;
        }
        Ok(())
    }

    fn can_start(&self, head: &QueueHead) -> bool {
        let kind = &self.scene.workload.kinds[head.kind as usize];
        let Some(node) = self.room.emptiest_node_for(kind) else { return false };
        match self.policy.admission {
            // A pipeline that is there was admitted.
            Admission::Any | Admission::Pipeline => true,
            Admission::Peak => self
                .waiting
                .peek_first(head.kind)
                .is_some_and(|waiter| self.has_room_for_task(waiter.run, node)),
        }
    }

    fn start_task(&mut self, head: &QueueHead) -> Result<(), SimulationError> {
        let kind = &self.scene.workload.kinds[head.kind as usize];
        let Some(first) = self.room.emptiest_node_for(kind) else { return Ok(()) };
        let Some(waiter) = self.waiting.dequeue_first(head.kind) else { return Ok(()) };
        let node = match self.policy.place {
            NodePreference::Emptiest => first,
            NodePreference::NearInputs => self.nearest_node(waiter.run, kind).unwrap_or(first),
        };
        self.room.allocate_slot(node, kind);
        let (pipeline, task) = self.pipeline_and_task(waiter.run);
        if self.policy.admission == Admission::Peak {
            self.promise_space(waiter.run);
        }
        let queued = Seconds(self.now - waiter.ready);
        let task = TaskId(task);
        self.watch.on_event(
            Seconds(self.now),
            &SimulationEvent::Started { pipeline, task, node, queued },
        );
        let place = self.tasks.len() as u32;
        self.tasks.push(TaskOutcome {
            pipeline,
            task,
            node,
            ready: Seconds(waiter.ready),
            started: Seconds(self.now),
            ended: Seconds(self.now),
            waited: Seconds::ZERO,
            lost: false,
        });
        let running =
            RunningTask { run: waiter.run, step: 0, node, place, live: true, compute: 0.0 };
        let flow = self.allocate_flow(running);
        self.advance_task(flow)
    }

    /// The node that has most of what a task reads; of equals, the one with most free slots.
    fn nearest_node(&self, run: u32, kind: &TaskKind) -> Option<u32> {
        let mut best: Option<(u64, u32)> = None;
        for node in self.room.nodes_with_room_for(kind) {
            let has = self.bytes_near_node(run, node);
            if best.is_none_or(|(most, _)| has > most) {
                best = Some((has, node));
            }
        }
        best.map(|(_, node)| node)
    }

    /// A number for a flow that begins.
    pub(super) fn allocate_flow(&mut self, running: RunningTask) -> u32 {
        if let Some(flow) = self.spare.pop() {
            self.running[flow as usize] = running;
            return flow;
        }
        self.running.push(running);
        self.running.len() as u32 - 1
    }

    /// Why some tasks never ran.
    pub(super) fn explain_stuck_task(&self) -> SimulationError {
        let some = self.admitted.iter().position(|admitted| !admitted);
        if let (Admission::Pipeline, Some(pipeline)) = (self.policy.admission, some) {
            let why = "what it holds at once does not fit on its tiers";
            return SimulationError(format!("pipeline {} never starts: {why}", pipeline + 1));
        }
        let Some(head) = self.waiting.heads().iter().min_by_key(|head| head.turn) else {
            return SimulationError("tasks wait for each other for ever".to_owned());
        };
        let name = &self.scene.workload.kinds[head.kind as usize].name;
        let why = match self.policy.admission {
            Admission::Any | Admission::Pipeline => "no node can take it".to_owned(),
            Admission::Peak => self
                .waiting
                .peek_first(head.kind)
                .map_or(String::new(), |waiter| self.describe_missing_space(waiter.run)),
        };
        SimulationError(format!(
            "task {name:?} of pipeline {} never starts: {why}",
            head.pipeline + 1
        ))
    }
}
