//! A batch as the simulator sees it: a task for each thread, all on one node, in place.

use super::Batch;
use crate::choice::Choice;
use crate::prepared_problem::{PreparedProblem, SimulationError};
use crate::simulate::simulate;
use forebay_model::workload::{
    DeletionPoint, FileClass, FileClassId, FileSet, FileSetAccess, FileSetId, Task, TaskKind,
    TaskKindId, TaskStep,
};
use forebay_model::{
    ByteCount, Nodes, Reach, Seconds, Site, StorageProfile, Tier, TierId, Workload,
};

/// How long the simulator says that a batch takes on such a storage.
///
/// # Errors
/// The batch is no work: it has no thread.
pub fn simulate_batch(
    profile: &StorageProfile,
    reach: Reach,
    batch: &Batch,
) -> Result<Seconds, SimulationError> {
    let id = TierId("probed".to_owned());
    let nodes = Nodes {
        count: 1,
        slots: batch.threads,
        cores: batch.threads,
        // Memory would answer what a probe takes care to ask of the storage.
        memory: None,
        instance: None,
        reserved: 0,
        speed: 1.0,
    };
    let tier = Tier {
        id: id.clone(),
        path: None,
        bucket: None,
        reach,
        capacity: None,
        pool_of: None,
        profile: Some(profile.clone()),
        price: None,
    };
    let (site, workload) = (Site::from_tiers([tier], Some(nodes)), batch_workload(batch));
    let choice = Choice::all_in_place(&site, &workload, id)
        .ok_or_else(|| SimulationError("a batch needs a node".to_owned()))?;
    Ok(simulate(&PreparedProblem::new(&site, &workload)?, &choice, 0)?.makespan)
}

fn batch_workload(batch: &Batch) -> Workload {
    let access = |thread| FileSetAccess {
        files: FileSetId(thread),
        ops: batch.ops.clone(),
        read: batch.read,
        written: batch.written,
    };
    let task = |thread| Task {
        kind: TaskKindId(0),
        key: None,
        after: Vec::new(),
        steps: vec![TaskStep {
            name: batch.name.clone(),
            compute: Seconds::ZERO,
            accesses: vec![access(thread)],
        }],
    };
    let bytes = ByteCount(batch.read.get().max(batch.written.get()));
    let class = FileClassId(0);
    let files = |_| FileSet { class, count: 1, bytes, until: DeletionPoint::End };
    Workload {
        name: batch.name.clone(),
        classes: vec![FileClass::new("#".to_owned(), b"0".to_vec())],
        files: (0..batch.threads).map(files).collect(),
        kinds: vec![TaskKind { name: batch.name.clone(), cores: 1, memory: None }],
        tasks: (0..batch.threads).map(task).collect(),
        ordered: false,
        doubts: Vec::new(),
    }
}
