//! A workload as WfFormat 1.5, for the tools of WfCommons, WRENCH and SimGrid.

use forebay_model::Workload;
use forebay_model::workload::{FileSetId, Task, TaskId};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// One JSON document. Sets of files are files here; run times are times of computing, without
/// storage, since that is what a simulator adds. `note` stands in the description.
pub fn to_wfformat_json(work: &Workload, note: &str) -> String {
    let id = |task: TaskId| format!("t{}", task.0);
    let mut children: Vec<Vec<String>> = vec![Vec::new(); work.tasks.len()];
    for (number, task) in work.tasks.iter().enumerate() {
        for before in &task.after {
            children[before.index()].push(format!("t{number}"));
        }
    }
    let file = |set: FileSetId| {
        let class = work.files[set.index()].class;
        format!("{}#{}", work.classes[class.index()].pattern, set.0)
    };
    let used = |task: &Task, write: bool| -> Vec<String> {
        let accesses = task.steps.iter().flat_map(|step| &step.accesses);
        let moved = accesses.filter(|a| if write { a.written.get() > 0 } else { a.read.get() > 0 });
        let sets: BTreeSet<FileSetId> = moved.map(|access| access.files).collect();
        sets.into_iter().map(file).collect()
    };
    let (mut tasks, mut ran): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    for (number, task) in work.tasks.iter().enumerate() {
        let kind = &work.kinds[task.kind.index()];
        let own = id(TaskId(number as u32));
        tasks.push(json!({
            "name": kind.name,
            "id": own,
            "parents": task.after.iter().map(|&before| id(before)).collect::<Vec<_>>(),
            "children": children[number],
            "inputFiles": used(task, false),
            "outputFiles": used(task, true),
        }));
        let compute: f64 = task.steps.iter().map(|step| step.compute.get()).sum();
        let accesses = || task.steps.iter().flat_map(|step| &step.accesses);
        ran.push(json!({
            "id": own,
            "runtimeInSeconds": compute,
            "coreCount": kind.cores.max(1),
            "readBytes": accesses().map(|access| access.read.get()).sum::<u64>(),
            "writtenBytes": accesses().map(|access| access.written.get()).sum::<u64>(),
            "memoryInBytes": kind.memory.map(forebay_model::ByteCount::get),
        }));
    }
    let sets = (0..work.files.len() as u32).map(FileSetId);
    let sets = sets.filter(|set| work.files[set.index()].count > 0);
    let files: Vec<Value> = sets
        .map(|set| json!({ "id": file(set), "sizeInBytes": work.files[set.index()].bytes.get() }))
        .collect();
    let mut document = json!({
        "name": work.name,
        "description": format!("learnt by Forebay; run times are without storage; {note}"),
        "schemaVersion": "1.5",
        "workflow": {
            "specification": { "tasks": tasks, "files": files },
            "execution": { "makespanInSeconds": 0.0, "executedAt": "1970-01-01T00:00:00Z",
                           "tasks": ran, "machines": [] },
        },
    });
    // The schema knows numbers there, or nothing.
    if let Some(ran) = document["workflow"]["execution"]["tasks"].as_array_mut() {
        for task in ran.iter_mut().filter_map(Value::as_object_mut) {
            task.retain(|_, value| !value.is_null());
        }
    }
    document.to_string()
}
