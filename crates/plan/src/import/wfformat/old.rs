//! WfFormat before 1.5: one list of tasks, in which files, run times and links stand together.

use super::workflow_document::{
    Document, ExecutedTask, Execution, File, Specification, Task, Workflow,
};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct OldDocument {
    #[serde(default)]
    name: String,
    workflow: OldWorkflow,
}

#[derive(Debug, Deserialize)]
struct OldWorkflow {
    #[serde(alias = "jobs")]
    tasks: Vec<OldTask>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OldTask {
    name: String,
    id: Option<String>,
    #[serde(default)]
    parents: Vec<String>,
    #[serde(default)]
    files: Vec<OldFile>,
    #[serde(alias = "runtime")]
    runtime_in_seconds: Option<f64>,
    cores: Option<f64>,
    #[serde(rename = "avgCPU")]
    avg_cpu: Option<f64>,
    #[serde(alias = "memory")]
    memory_in_bytes: Option<f64>,
    #[serde(alias = "bytesRead")]
    read_bytes: Option<f64>,
    #[serde(alias = "bytesWritten")]
    written_bytes: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OldFile {
    name: String,
    #[serde(alias = "size")]
    size_in_bytes: Option<f64>,
    link: String,
}

/// The same document as a 1.5 would have it.
pub(super) fn read_old_version(content: &[u8]) -> serde_json::Result<Document> {
    let old: OldDocument = serde_json::from_slice(content)?;
    let (mut tasks, mut files, mut ran) = (Vec::new(), Vec::new(), Vec::new());
    for task in old.workflow.tasks {
        let names = |link: &str| -> Vec<String> {
            let linked = task.files.iter().filter(|file| file.link == link);
            linked.map(|file| file.name.clone()).collect()
        };
        // Parents are told by name in these versions; names are unique there.
        tasks.push(Task {
            name: task.name.clone(),
            id: task.name.clone(),
            parents: task.parents,
            input_files: names("input"),
            output_files: names("output"),
        });
        ran.push(ExecutedTask {
            id: task.name,
            runtime_in_seconds: task.runtime_in_seconds,
            executed_at: None,
            core_count: task.cores,
            avg_cpu: task.avg_cpu,
            memory_in_bytes: task.memory_in_bytes,
            read_bytes: task.read_bytes,
            written_bytes: task.written_bytes,
        });
        files.extend(
            task.files
                .into_iter()
                .map(|file| File { id: file.name, size_in_bytes: file.size_in_bytes }),
        );
        drop(task.id);
    }
    let specification = Specification { tasks, files };
    let execution = Some(Execution { tasks: ran });
    Ok(Document { name: old.name, workflow: Workflow { specification, execution } })
}
