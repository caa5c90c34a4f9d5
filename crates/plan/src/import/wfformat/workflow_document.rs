//! A workflow of version 1.5, as far as it is used.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Version {
    #[serde(rename = "schemaVersion")]
    pub(super) schema: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Document {
    #[serde(default)]
    pub(super) name: String,
    pub(super) workflow: Workflow,
}

#[derive(Debug, Deserialize)]
pub(super) struct Workflow {
    pub(super) specification: Specification,
    #[serde(default)]
    pub(super) execution: Option<Execution>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Specification {
    pub(super) tasks: Vec<Task>,
    #[serde(default)]
    pub(super) files: Vec<File>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Task {
    #[serde(default)]
    pub(super) name: String,
    pub(super) id: String,
    #[serde(default)]
    pub(super) parents: Vec<String>,
    #[serde(default)]
    pub(super) input_files: Vec<String>,
    #[serde(default)]
    pub(super) output_files: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct File {
    pub(super) id: String,
    pub(super) size_in_bytes: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Execution {
    #[serde(default)]
    pub(super) tasks: Vec<ExecutedTask>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExecutedTask {
    pub(super) id: String,
    pub(super) runtime_in_seconds: Option<f64>,
    pub(super) executed_at: Option<String>,
    pub(super) core_count: Option<f64>,
    #[serde(rename = "avgCPU")]
    pub(super) avg_cpu: Option<f64>,
    pub(super) memory_in_bytes: Option<f64>,
    pub(super) read_bytes: Option<f64>,
    pub(super) written_bytes: Option<f64>,
}
