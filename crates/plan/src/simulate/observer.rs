//! What a simulation decides, told to whoever wants to know: `explain` and the run file do, a
//! search does not and pays nothing.

use forebay_model::workload::{FileSetId, TaskId};
use forebay_model::{ByteCount, Seconds, TierId};

/// Something that happened or was decided.
#[derive(Clone, Debug, PartialEq)]
pub enum SimulationEvent<'a> {
    /// A pipeline began.
    Arrived {
        /// Which, from 0.
        pipeline: u32,
    },
    /// A task got a slot.
    Started {
        /// Its pipeline.
        pipeline: u32,
        /// Which.
        task: TaskId,
        /// Where.
        node: u32,
        /// How long it waited for the slot.
        queued: Seconds,
    },
    /// A step of a task began.
    Step {
        /// Its pipeline.
        pipeline: u32,
        /// Which task.
        task: TaskId,
        /// Which of its steps.
        step: u32,
        /// How long it takes if nobody else is there.
        alone: Seconds,
    },
    /// A task was done.
    Ended {
        /// Its pipeline.
        pipeline: u32,
        /// Which.
        task: TaskId,
    },
    /// A tier was full: files went to the project's directory.
    Spilled {
        /// Its pipeline.
        pipeline: u32,
        /// The task that wrote them.
        task: TaskId,
        /// The files.
        files: FileSetId,
        /// The tier that was full.
        tier: &'a TierId,
        /// How much did not fit.
        bytes: ByteCount,
    },
    /// Files were copied to a cache.
    Cached {
        /// The files.
        files: FileSetId,
        /// The tier of the cache.
        tier: &'a TierId,
        /// The node, for a cache of one node's reach.
        node: u32,
        /// How much.
        bytes: ByteCount,
    },
    /// A copy made room for others.
    Evicted {
        /// The files.
        files: FileSetId,
        /// The tier of the cache.
        tier: &'a TierId,
        /// How much.
        bytes: ByteCount,
    },
    /// Files were freed.
    Freed {
        /// Their pipeline.
        pipeline: u32,
        /// The files.
        files: FileSetId,
        /// How much.
        bytes: ByteCount,
    },
    /// Files set out for their place.
    Leaves {
        /// Their pipeline.
        pipeline: u32,
        /// The files.
        files: FileSetId,
        /// The tier where they were.
        tier: &'a TierId,
        /// The node that carries them.
        node: u32,
        /// How much.
        bytes: ByteCount,
    },
    /// Files were used again or deleted before they were home: they stay where they are.
    Stays {
        /// Their pipeline.
        pipeline: u32,
        /// The files.
        files: FileSetId,
    },
    /// Files are home.
    Landed {
        /// Their pipeline.
        pipeline: u32,
        /// The files.
        files: FileSetId,
        /// The tier that they left.
        tier: &'a TierId,
        /// How much.
        bytes: ByteCount,
    },
    /// A machine was taken away, and the tasks on it with it.
    Interrupted {
        /// The node.
        node: u32,
        /// How many tasks begin again.
        tasks: u32,
    },
}

/// Who is told.
pub trait SimulationObserver {
    /// Something happened.
    fn on_event(&mut self, at: Seconds, what: &SimulationEvent<'_>);
}

/// Nobody.
impl SimulationObserver for () {
    #[inline(always)]
    fn on_event(&mut self, _: Seconds, _: &SimulationEvent<'_>) {}
}

impl<F: FnMut(Seconds, &SimulationEvent<'_>)> SimulationObserver for F {
    fn on_event(&mut self, at: Seconds, what: &SimulationEvent<'_>) {
        self(at, what);
    }
}
