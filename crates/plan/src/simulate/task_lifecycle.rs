//! The life of a task: ready, from step to step, done.

use super::{Simulation, SimulationObserver};
use crate::prepared_problem::SimulationError;
use crate::share::FlowEngine;
use crate::simulate::SimulationEvent;
use forebay_model::Seconds;
use forebay_model::workload::TaskId;

impl<F: FlowEngine, W: SimulationObserver> Simulation<'_, '_, F, W> {
    pub(super) fn task_count(&self) -> u32 {
        self.scene.workload.tasks.len() as u32
    }

    /// The pipeline and the task of a run.
    pub(super) fn pipeline_and_task(&self, run: u32) -> (u32, u32) {
        (run / self.task_count(), run % self.task_count())
    }

    pub(super) fn admit_pipeline(&mut self, pipeline: u32) -> Result<(), SimulationError> {
        self.watch.on_event(Seconds(self.now), &SimulationEvent::Arrived { pipeline });
        for task in 0..self.task_count() {
            if self.scene.waits[task as usize] == 0 {
                self.queue_ready_task(pipeline * self.task_count() + task)?;
            }
        }
        Ok(())
    }

    /// All that a task waited for is done.
    fn queue_ready_task(&mut self, run: u32) -> Result<(), SimulationError> {
        let mut joins = vec![run];
        while let Some(run) = joins.pop() {
            let (_, task) = self.pipeline_and_task(run);
            let kind = self.scene.workload.tasks[task as usize].kind;
            if self.scene.workload.kinds[kind.index()].cores > 0 {
                self.waiting.enqueue_task(kind.0, run, self.now);
            } else {
                self.finish_task(run, &mut joins)?;
            }
        }
        Ok(())
    }

    /// A task is done: files are freed, and others may be ready.
    fn finish_task(&mut self, run: u32, ready: &mut Vec<u32>) -> Result<(), SimulationError> {
        let (pipeline, task) = self.pipeline_and_task(run);
        self.undone -= 1;
        self.unfinished[pipeline as usize] -= 1;
        self.done[run as usize] = true;
        for set in self.scene.frees.get(task as usize) {
            self.free_files(pipeline, *set);
        }
        let first = ready.len();
        for then in self.scene.then.get(task as usize) {
            let then = pipeline * self.task_count() + then;
            self.left[then as usize] -= 1;
            if self.left[then as usize] == 0 {
                ready.push(then);
            }
        }
        // The last is taken first; those that come first in the workload should be.
        ready[first..].reverse();
        if self.unfinished[pipeline as usize] == 0 {
            self.write_back_pipeline(pipeline)?;
        }
        Ok(())
    }

    pub(super) fn finish_step(&mut self, flow: u32) -> Result<(), SimulationError> {
        let running = self.running[flow as usize];
        let (pipeline, task) = self.pipeline_and_task(running.run);
        self.commit_coming_copies(flow, running.node);
        self.close_step_files(running)?;
        let step = self.scene.first_step[task as usize] + running.step;
        for set in self.scene.step_frees.get(step as usize) {
            self.free_files(pipeline, *set);
        }
        self.running[flow as usize].step += 1;
        self.advance_task(flow)
    }

    /// Begins the step of a task at which it is, or ends the task.
    pub(super) fn advance_task(&mut self, flow: u32) -> Result<(), SimulationError> {
        let running = self.running[flow as usize];
        let (pipeline, task) = self.pipeline_and_task(running.run);
        let steps = self.scene.first_step[task as usize]..self.scene.first_step[task as usize + 1];
        let step = steps.start + running.step;
        if step < steps.end {
            let work = self.begin_step(flow, running, step)?;
            self.running[flow as usize].compute += work.compute;
            let (task, alone) = (TaskId(task), Seconds(work.alone));
            let seen = SimulationEvent::Step { pipeline, task, step: running.step, alone };
            self.watch.on_event(Seconds(self.now), &seen);
            self.flows.start_flow(
                self.now,
                flow,
                running.node,
                work.shape,
                work.alone,
                &self.shapes,
            );
            return Ok(());
        }
        let outcome = &mut self.tasks[running.place as usize];
        outcome.ended = Seconds(self.now);
        let waited = self.now - outcome.started.get() - running.compute;
        outcome.waited = Seconds(waited.max(0.0));
        let kind = self.scene.workload.tasks[task as usize].kind;
        self.room.release_slot(running.node, &self.scene.workload.kinds[kind.index()]);
        self.running[flow as usize].live = false;
        self.spare.push(flow);
        self.watch
            .on_event(Seconds(self.now), &SimulationEvent::Ended { pipeline, task: TaskId(task) });
        let mut ready = Vec::new();
        self.finish_task(running.run, &mut ready)?;
        while let Some(run) = ready.pop() {
            self.queue_ready_task(run)?;
        }
        Ok(())
    }
}
