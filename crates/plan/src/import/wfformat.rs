//! WfCommons' WfFormat, versions 1.4 and 1.5: JSON with tasks, files and what waits for what. Run
//! times in it include whatever storage took.

mod old;
mod workflow_document;
mod workflow_writer;

pub use workflow_writer::to_wfformat_json;

use super::amount_parsing::parse_timestamp;
use super::{ImportError, ImportSource, ImportedFileUse, ImportedRun, ImportedTask, Importer};
use std::collections::BTreeMap;
use workflow_document::{Document, ExecutedTask, Specification, Version};

pub(super) const IMPORTER: Importer = Importer {
    name: "wfformat",
    reads: "a workflow of WfCommons, WfFormat 1.4 or 1.5",
    wanted: |path| path.ends_with(b".json"),
    read: read_workflows,
};

fn read_workflows(sources: &[ImportSource]) -> Result<ImportedRun, ImportError> {
    let mut told = ImportedRun::default();
    for source in sources {
        let json = |error: serde_json::Error| {
            ImportError::new(source, error.line(), format!("it is no WfFormat: {error}"))
        };
        let version: Version = serde_json::from_slice(&source.content).map_err(json)?;
        let version = version.schema.unwrap_or_default();
        let document = match version.as_str() {
            "1.5" => serde_json::from_slice(&source.content).map_err(json)?,
            "1.4" | "1.3" => old::read_old_version(&source.content).map_err(json)?,
            other => {
                let why = format!("its schemaVersion is {other:?}; 1.3 to 1.5 are known");
                return Err(ImportError::new(source, None, why));
            }
        };
        add_document(source, document, &mut told)?;
    }
    Ok(told)
}

fn add_document(
    source: &ImportSource,
    document: Document,
    told: &mut ImportedRun,
) -> Result<(), ImportError> {
    let Specification { tasks, files } = document.workflow.specification;
    let flaw = |why: String| ImportError::new(source, None, why);
    let amount = |of: Option<f64>| of.filter(|n| (0.0..1e19).contains(n)).map(|n| n as u64);
    let sizes: BTreeMap<&str, Option<u64>> =
        files.iter().map(|file| (file.id.as_str(), amount(file.size_in_bytes))).collect();
    let ran = document.workflow.execution.map_or(Vec::new(), |execution| execution.tasks);
    let ran: BTreeMap<&str, &ExecutedTask> = ran.iter().map(|ran| (ran.id.as_str(), ran)).collect();
    let base = told.tasks.len();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, task) in tasks.iter().enumerate() {
        if places.insert(&task.id, base + at).is_some() {
            return Err(flaw(format!("there are two tasks {:?}", task.id)));
        }
    }
    if told.name.is_empty() {
        told.name.clone_from(&document.name);
    }
    for task in &tasks {
        let mut after = Vec::new();
        for parent in &task.parents {
            let place = places.get(parent.as_str()).ok_or_else(|| {
                flaw(format!("task {:?} waits for {parent:?}, which is not there", task.id))
            })?;
            after.push(*place);
        }
        let uses = |paths: &[String], write| -> Vec<ImportedFileUse> {
            let size = |path: &str| sizes.get(path).copied().flatten();
            let one =
                |path: &String| ImportedFileUse { path: path.clone(), size: size(path), write };
            paths.iter().map(one).collect()
        };
        let ran = ran.get(task.id.as_str());
        let lasted = match ran.and_then(|ran| ran.runtime_in_seconds) {
            Some(seconds) if !(0.0..1e9).contains(&seconds) => {
                return Err(flaw(format!("task {:?} ran for {seconds} seconds", task.id)));
            }
            seconds => seconds.map(|seconds| (seconds * 1e6).round() as i64),
        };
        let started = ran.and_then(|ran| parse_timestamp(ran.executed_at.as_deref()?));
        let cores = ran.and_then(|ran| ran.core_count).filter(|n| (1.0..1e6).contains(n));
        let share = ran.and_then(|ran| ran.avg_cpu).filter(|share| (0.0..1e9).contains(share));
        let cpu = share.zip(lasted).map(|(share, lasted)| (share / 100.0 * lasted as f64) as u64);
        let name = if task.name.is_empty() { &task.id } else { &task.name };
        told.tasks.push(ImportedTask {
            name: strip_task_number(name).to_owned(),
            key: Some(task.id.clone()),
            started,
            ended: started.zip(lasted).and_then(|(at, lasted)| at.checked_add(lasted)),
            lasted,
            cpu,
            cores: cores.map(|cores| cores.ceil() as u32),
            memory: ran.and_then(|ran| amount(ran.memory_in_bytes)),
            rchar: ran.and_then(|ran| amount(ran.read_bytes)),
            wchar: ran.and_then(|ran| amount(ran.written_bytes)),
            after,
            files: [uses(&task.input_files, false), uses(&task.output_files, true)].concat(),
            ..ImportedTask::default()
        });
    }
    Ok(())
}

/// Names are often numbered (`individuals_ID0000007`): tasks of one kind differ in that only.
fn strip_task_number(name: &str) -> &str {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let bare = bare.strip_suffix("_ID").or_else(|| bare.strip_suffix('_')).unwrap_or(bare);
    if bare.is_empty() { name } else { bare }
}
