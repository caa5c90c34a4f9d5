//! The life of a task: ready, started, from step to step, done.

use super::{Running, Sim, Watch};
use crate::outcome::TaskOutcome;
use crate::policies::{Admission, Head};
use crate::scene::NotPossible;
use crate::share::Flows;
use crate::simulate::Seen;
use forebay_model::Seconds;
use forebay_model::workload::TaskId;

impl<F: Flows, W: Watch> Sim<'_, '_, F, W> {
    fn number(&self) -> u32 {
        self.scene.workload.tasks.len() as u32
    }

    /// The pipeline and the task of a run.
    pub(super) fn of(&self, run: u32) -> (u32, u32) {
        (run / self.number(), run % self.number())
    }

    pub(super) fn arrive(&mut self, pipeline: u32) {
        self.watch.see(Seconds(self.now), &Seen::Arrived { pipeline });
        for task in 0..self.number() {
            if self.scene.waits[task as usize] == 0 {
                self.ready(pipeline * self.number() + task);
            }
        }
    }

    /// All that a task waited for is done.
    fn ready(&mut self, run: u32) {
        let mut joins = vec![run];
        while let Some(run) = joins.pop() {
            let (_, task) = self.of(run);
            let kind = self.scene.workload.tasks[task as usize].kind;
            if self.scene.workload.kinds[kind.index()].cores > 0 {
                self.waiting.add(kind.0, run, self.now);
            } else {
                self.finish(run, &mut joins);
            }
        }
    }

    /// A task is done: files are freed, and others may be ready.
    fn finish(&mut self, run: u32, ready: &mut Vec<u32>) {
        let (pipeline, task) = self.of(run);
        self.undone -= 1;
        self.done[run as usize] = true;
        for set in self.scene.frees.get(task as usize) {
            self.free(pipeline, *set);
        }
        let first = ready.len();
        for then in self.scene.then.get(task as usize) {
            let then = pipeline * self.number() + then;
            self.left[then as usize] -= 1;
            if self.left[then as usize] == 0 {
                ready.push(then);
            }
        }
        // The last is taken first; those that come first in the workload should be.
        ready[first..].reverse();
    }

    /// Starts tasks for as long as the policy names one.
    pub(super) fn start_all(&mut self) -> Result<(), NotPossible> {
        while self.room.free > 0 && !self.waiting.heads().is_empty() {
            let picked = (self.policy.pick)(self.waiting.heads(), &mut |head| self.could(head));
            let Some(head) = picked else { break };
            self.start(&head)?;
        }
        Ok(())
    }

    fn could(&self, head: &Head) -> bool {
        let kind = &self.scene.workload.kinds[head.kind as usize];
        let Some(node) = self.room.node_for(kind) else { return false };
        match self.policy.admission {
            Admission::Any => true,
            Admission::Peak => {
                self.waiting.first(head.kind).is_some_and(|waiter| self.has_room(waiter.run, node))
            }
            Admission::Pipeline => {
                self.admitted[head.pipeline as usize] || self.has_room_for_pipeline()
            }
        }
    }

    fn start(&mut self, head: &Head) -> Result<(), NotPossible> {
        let kind = &self.scene.workload.kinds[head.kind as usize];
        let Some(node) = self.room.node_for(kind) else { return Ok(()) };
        let Some(waiter) = self.waiting.take(head.kind) else { return Ok(()) };
        self.admitted[head.pipeline as usize] = true;
        self.room.take(node, kind);
        let (pipeline, task) = self.of(waiter.run);
        if self.policy.admission == Admission::Peak {
            self.promise(waiter.run);
        }
        let queued = Seconds(self.now - waiter.ready);
        let task = TaskId(task);
        self.watch.see(Seconds(self.now), &Seen::Started { pipeline, task, node, queued });
        let place = self.tasks.len() as u32;
        self.tasks.push(TaskOutcome {
            pipeline,
            task,
            node,
            ready: Seconds(waiter.ready),
            started: Seconds(self.now),
            ended: Seconds(self.now),
            waited: Seconds::ZERO,
        });
        let running = Running { run: waiter.run, step: 0, node, place, compute: 0.0 };
        let flow = match self.spare.pop() {
            Some(flow) => {
                self.running[flow as usize] = running;
                flow
            }
            None => {
                self.running.push(running);
                self.running.len() as u32 - 1
            }
        };
        self.go_on(flow)
    }

    pub(super) fn step_done(&mut self, flow: u32) -> Result<(), NotPossible> {
        let running = self.running[flow as usize];
        let (pipeline, task) = self.of(running.run);
        self.copies_made(flow, running.node);
        let step = self.scene.first_step[task as usize] + running.step;
        for set in self.scene.step_frees.get(step as usize) {
            self.free(pipeline, *set);
        }
        self.running[flow as usize].step += 1;
        self.go_on(flow)
    }

    /// Begins the step of a task at which it is, or ends the task.
    fn go_on(&mut self, flow: u32) -> Result<(), NotPossible> {
        let running = self.running[flow as usize];
        let (pipeline, task) = self.of(running.run);
        let steps = self.scene.first_step[task as usize]..self.scene.first_step[task as usize + 1];
        let step = steps.start + running.step;
        if step < steps.end {
            let work = self.enter(flow, running, step)?;
            self.running[flow as usize].compute += work.compute;
            let (task, alone) = (TaskId(task), Seconds(work.alone));
            let seen = Seen::Step { pipeline, task, step: running.step, alone };
            self.watch.see(Seconds(self.now), &seen);
            self.flows.start(self.now, flow, running.node, work.shape, work.alone, &self.shapes);
            return Ok(());
        }
        let outcome = &mut self.tasks[running.place as usize];
        outcome.ended = Seconds(self.now);
        let waited = self.now - outcome.started.get() - running.compute;
        outcome.waited = Seconds(waited.max(0.0));
        let kind = self.scene.workload.tasks[task as usize].kind;
        self.room.give(running.node, &self.scene.workload.kinds[kind.index()]);
        self.spare.push(flow);
        self.watch.see(Seconds(self.now), &Seen::Ended { pipeline, task: TaskId(task) });
        let mut ready = Vec::new();
        self.finish(running.run, &mut ready);
        while let Some(run) = ready.pop() {
            self.ready(run);
        }
        Ok(())
    }

    /// Why some tasks never ran.
    pub(super) fn stuck(&self) -> NotPossible {
        let Some(head) = self.waiting.heads().iter().min_by_key(|head| head.turn) else {
            return NotPossible("tasks wait for each other for ever".to_owned());
        };
        let name = &self.scene.workload.kinds[head.kind as usize].name;
        let why = match self.policy.admission {
            Admission::Any => "no node can take it".to_owned(),
            Admission::Peak => {
                self.waiting.first(head.kind).map_or(String::new(), |waiter| self.lacks(waiter.run))
            }
            Admission::Pipeline => {
                "what its pipeline holds at once does not fit on its tiers".to_owned()
            }
        };
        NotPossible(format!("task {name:?} of pipeline {} never starts: {why}", head.pipeline + 1))
    }
}
