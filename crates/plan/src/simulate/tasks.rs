//! The life of a task: ready, from step to step, done.

use super::{Sim, Watch};
use crate::scene::NotPossible;
use crate::share::Flows;
use crate::simulate::Seen;
use forebay_model::Seconds;
use forebay_model::workload::TaskId;

impl<F: Flows, W: Watch> Sim<'_, '_, F, W> {
    pub(super) fn number(&self) -> u32 {
        self.scene.workload.tasks.len() as u32
    }

    /// The pipeline and the task of a run.
    pub(super) fn of(&self, run: u32) -> (u32, u32) {
        (run / self.number(), run % self.number())
    }

    pub(super) fn arrive(&mut self, pipeline: u32) -> Result<(), NotPossible> {
        self.watch.see(Seconds(self.now), &Seen::Arrived { pipeline });
        for task in 0..self.number() {
            if self.scene.waits[task as usize] == 0 {
                self.ready(pipeline * self.number() + task)?;
            }
        }
        Ok(())
    }

    /// All that a task waited for is done.
    fn ready(&mut self, run: u32) -> Result<(), NotPossible> {
        let mut joins = vec![run];
        while let Some(run) = joins.pop() {
            let (_, task) = self.of(run);
            let kind = self.scene.workload.tasks[task as usize].kind;
            if self.scene.workload.kinds[kind.index()].cores > 0 {
                self.waiting.add(kind.0, run, self.now);
            } else {
                self.finish(run, &mut joins)?;
            }
        }
        Ok(())
    }

    /// A task is done: files are freed, and others may be ready.
    fn finish(&mut self, run: u32, ready: &mut Vec<u32>) -> Result<(), NotPossible> {
        let (pipeline, task) = self.of(run);
        self.undone -= 1;
        self.unfinished[pipeline as usize] -= 1;
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
        if self.unfinished[pipeline as usize] == 0 {
            self.come_home(pipeline)?;
        }
        Ok(())
    }

    pub(super) fn step_done(&mut self, flow: u32) -> Result<(), NotPossible> {
        let running = self.running[flow as usize];
        let (pipeline, task) = self.of(running.run);
        self.copies_made(flow, running.node);
        self.closed(running)?;
        let step = self.scene.first_step[task as usize] + running.step;
        for set in self.scene.step_frees.get(step as usize) {
            self.free(pipeline, *set);
        }
        self.running[flow as usize].step += 1;
        self.go_on(flow)
    }

    /// Begins the step of a task at which it is, or ends the task.
    pub(super) fn go_on(&mut self, flow: u32) -> Result<(), NotPossible> {
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
        self.running[flow as usize].live = false;
        self.spare.push(flow);
        self.watch.see(Seconds(self.now), &Seen::Ended { pipeline, task: TaskId(task) });
        let mut ready = Vec::new();
        self.finish(running.run, &mut ready)?;
        while let Some(run) = ready.pop() {
            self.ready(run)?;
        }
        Ok(())
    }
}
