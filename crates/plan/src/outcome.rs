//! What came of a simulated run, for people and for `--json`.

use forebay_model::workload::TaskId;
use forebay_model::{ByteCount, Seconds, TierId};
use serde::Serialize;
use std::collections::BTreeMap;

/// One simulated run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// From the start of the first pipeline until the last task is done and its files are home.
    pub makespan: Seconds,
    /// Of that, how long after the last task files still come home.
    pub homecoming: Seconds,
    /// Each task of each pipeline, in the order in which they started; one whose machine was taken
    /// away is there once for each attempt.
    pub tasks: Vec<TaskOutcome>,
    /// What happened on each tier.
    pub tiers: BTreeMap<TierId, TierOutcome>,
    /// Slots that had a task, as a share of all that there were from start to end, 0 to 1.
    pub utilisation: f64,
}

/// One task of one pipeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskOutcome {
    /// Which pipeline, from 0.
    pub pipeline: u32,
    /// Which task of the workload.
    pub task: TaskId,
    /// The node that it ran on.
    pub node: u32,
    /// When all that it waited for was done.
    pub ready: Seconds,
    /// When it got a slot.
    pub started: Seconds,
    /// When it was done.
    pub ended: Seconds,
    /// Of that time, how long it waited for storage.
    pub waited: Seconds,
    /// Its node was taken away before it was done: it begins again.
    pub lost: bool,
}

/// What was begun again because nodes were taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rework {
    /// Tasks that began again, each as often as it did.
    pub tasks: usize,
    /// How long they had run until then, together.
    pub lost: Seconds,
}

impl Outcome {
    /// What was begun again.
    pub fn rework(&self) -> Rework {
        self.tasks.iter().filter(|task| task.lost).fold(Rework::default(), |all, task| Rework {
            tasks: all.tasks + 1,
            lost: all.lost + (task.ended - task.started),
        })
    }
}

/// One tier over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TierOutcome {
    /// Bytes that were read from it, by tasks or on their way home; what the memory of a node
    /// answered is not in it.
    pub read_bytes: ByteCount,
    /// Bytes of its files that tasks read from the memory of their node: they never reached it.
    pub memory_bytes: ByteCount,
    /// The same in operations; they are in no other number.
    pub memory_operations: f64,
    /// Bytes that were written to it, by tasks or as they came home.
    pub written_bytes: ByteCount,
    /// Bytes that came home from it.
    pub drained_bytes: ByteCount,
    /// Operations that reached it, bytes or not.
    pub operations: f64,
    /// The most that it held at one moment, on all nodes together.
    pub peak_bytes: ByteCount,
    /// The same by node: of the fullest one for a tier of one node's reach, of the average for
    /// shared ones.
    pub peak_bytes_per_node: f64,
}
