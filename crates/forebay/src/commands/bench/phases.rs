//! Parts of a run: kinds of tasks of a workflow engine, or what the engine's own log tells.

use std::collections::BTreeMap;
use std::path::Path;

use forebay_model::Micros;
use forebay_model::run::TaskRow;
use forebay_plan::import::{ImportSource, Importer};
use serde::{Deserialize, Serialize};

/// The engine of what was told by this file.
pub(super) const TIMING: &str = "Trinity.timing";
/// Below the fresh directory it lies no deeper.
const DEEPEST: u32 = 3;
/// Tasks that no engine named are the programs themselves.
const NO_ENGINE: &str = "processes";

/// One part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Phase {
    pub(super) name: String,
    pub(super) engine: String,
    /// In which at least one of its tasks ran.
    pub(super) seconds: f64,
}

/// Kinds of tasks that an engine named.
pub(super) fn task_phases(tasks: &[TaskRow]) -> Vec<Phase> {
    let mut kinds: BTreeMap<(&str, &str), Vec<(Micros, Micros)>> = BTreeMap::new();
    for task in tasks.iter().filter(|task| !task.driver && task.engine != NO_ENGINE) {
        if let (Some(started), Some(ended)) = (task.started, task.ended) {
            kinds.entry((&task.engine, &task.name)).or_default().push((started, ended));
        }
    }
    let phase = |((engine, name), times): ((&str, &str), Vec<_>)| {
        let (name, engine) = (name.to_owned(), engine.to_owned());
        Phase { name, engine, seconds: union_duration(times).as_secs() }
    };
    kinds.into_iter().map(phase).collect()
}

/// How long at least one of them lasted.
fn union_duration(mut times: Vec<(Micros, Micros)>) -> Micros {
    times.sort_unstable();
    let (mut sum, mut until) = (0, Micros::ZERO);
    for (started, ended) in times {
        sum += ended.0.saturating_sub(started.max(until).0);
        until = until.max(ended);
    }
    Micros(sum)
}

/// What a log below this directory tells, if one is there and whole.
pub(super) fn logged_phases(directory: &Path) -> Vec<Phase> {
    let Some(importer) = Importer::find_by_name("trinity") else { return Vec::new() };
    let Some(path) = find_timing_log(directory, DEEPEST) else { return Vec::new() };
    let Ok(content) = std::fs::read(&path) else { return Vec::new() };
    let source = ImportSource { path: path.to_string_lossy().into_owned(), content };
    let told = importer.read_records(&[source]).map_or(Vec::new(), |told| told.tasks);
    let phase = |task: forebay_plan::import::ImportedTask| {
        let seconds = (task.ended? - task.started?) as f64 / 1e6;
        Some(Phase { name: task.name, engine: TIMING.to_owned(), seconds })
    };
    told.into_iter().filter_map(phase).collect()
}

fn find_timing_log(directory: &Path, deep: u32) -> Option<std::path::PathBuf> {
    let log = directory.join(TIMING);
    if log.is_file() {
        return Some(log);
    }
    let deeper = deep.checked_sub(1)?;
    let entries = std::fs::read_dir(directory).ok()?.flatten();
    let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    below.map(|entry| entry.path()).find_map(|path| find_timing_log(&path, deeper))
}
