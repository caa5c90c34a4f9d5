//! A machine is taken away: the tasks on it begin again, with all that they wrote, as soon as the
//! engine has noticed. Files that live on tiers of its own do not outlive it, so nobody else may need
//! them (`check_survives_loss`); what is on its way home from there at that moment arrives all the same.

use super::sim::Simulation;
use super::{RunningTask, SimulationEvent, SimulationObserver};
use crate::interruptions::NodeChange;
use crate::policies::Admission;
use crate::prepared_problem::SimulationError;
use crate::share::FlowEngine;
use forebay_model::Seconds;

impl<F: FlowEngine, W: SimulationObserver> Simulation<'_, '_, F, W> {
    /// When something happens next to a node, or somebody notices; infinity: never.
    pub(super) fn next_interruption_time(&self) -> f64 {
        self.interruptions.next_change_time().min(self.undetected.next_due_time())
    }

    /// Does what happens to nodes by now.
    pub(super) fn apply_interruptions(&mut self) -> Result<(), SimulationError> {
        while let Some(change) = self.interruptions.take_due_change(self.now) {
            let NodeChange { node, away, .. } = change;
            self.room.set_node_away(node, away);
            if !away {
                continue;
            }
            let flows = 0..self.running.len() as u32;
            let here = |flow: &u32| {
                let running = &self.running[*flow as usize];
                running.live && running.node == node
            };
            let lost: Vec<u32> = flows.filter(here).collect();
            for flow in &lost {
                self.restart_task(*flow)?;
            }
            self.drop_copies_of_node(node);
            let tasks = lost.len() as u32;
            self.attempts += lost.len();
            self.watch.on_event(Seconds(self.now), &SimulationEvent::Interrupted { node, tasks });
            if self.attempts > 1000 + 100 * self.done.len() {
                let why = "machines are taken away so often that the work never ends";
                return Err(SimulationError(why.to_owned()));
            }
        }
        self.requeue_detected_tasks();
        Ok(())
    }

    /// The engine has noticed that these tasks are gone: they wait for a slot again.
    fn requeue_detected_tasks(&mut self) {
        while let Some(run) = self.undetected.take_noticed(self.now) {
            let (_, task) = self.pipeline_and_task(run);
            let kind = self.scene.workload.tasks[task as usize].kind;
            self.waiting.requeue_task(kind.0, run, self.now);
        }
    }

    fn restart_task(&mut self, flow: u32) -> Result<(), SimulationError> {
        let running = self.running[flow as usize];
        self.flows.stop_flow(self.now, flow, &self.shapes);
        self.discard_coming_copies(flow);
        self.undo_writes(running);
        self.close_step_files(running)?;
        let (_, task) = self.pipeline_and_task(running.run);
        let kind = self.scene.workload.tasks[task as usize].kind;
        self.room.release_slot(running.node, &self.scene.workload.kinds[kind.index()]);
        self.running[flow as usize].live = false;
        self.spare.push(flow);
        let outcome = &mut self.tasks[running.place as usize];
        outcome.ended = Seconds(self.now);
        outcome.lost = true;
        let computed = running.compute.min(self.now - outcome.started.get());
        outcome.waited = Seconds(self.now - outcome.started.get() - computed);
        let noticed = self.now + self.interruptions.detection();
        self.undetected.push_lost_task(noticed, running.run);
        Ok(())
    }

    /// Gives back the room of what a task wrote, and what it was promised for more.
    fn undo_writes(&mut self, running: RunningTask) {
        let (pipeline, task) = self.pipeline_and_task(running.run);
        let scene = self.scene;
        let steps = scene.first_step[task as usize]..scene.first_step[task as usize + 1];
        for (number, step) in steps.enumerate() {
            let rows = scene.first_access[step as usize]..scene.first_access[step as usize + 1];
            for row in rows {
                let row = scene.accesses[row as usize];
                let home =
                    self.homes.of_class[scene.workload.files[row.set as usize].class.index()];
                if number as u32 > running.step {
                    if self.policy.admission == Admission::Peak {
                        self.used[home.row].promised -= row.grows;
                    }
                    continue;
                }
                let place = self.held_index(pipeline, row.set);
                self.cancel_write_back(place as u32);
                let held = &mut self.held[place];
                let from_home = row.grows.min(held.home);
                let from_place = (row.grows - from_home).min(held.in_place);
                held.home -= from_home;
                held.in_place -= from_place;
                self.used[home.row].release_bytes(running.node, from_home);
                self.used[self.homes.project].release_bytes(running.node, from_place);
                self.update_contention(scene.tiers[home.row].storage);
            }
        }
    }
}
