//! Kinds of tasks: those of one name.

use super::engine::EngineSteps;
use forebay_model::workload::{Task, TaskId, TaskKind, TaskKindId, TaskStep};
use std::collections::BTreeMap;

/// Kinds by name.
#[derive(Debug, Default)]
pub(super) struct TaskKindIndex(BTreeMap<String, TaskKindId>);

impl TaskKindIndex {
    pub(super) fn intern_by_name(
        &mut self,
        kinds: &mut Vec<TaskKind>,
        name: &str,
        cores: u32,
        memory: Option<forebay_model::ByteCount>,
    ) -> TaskKindId {
        let id = *self.0.entry(name.to_owned()).or_insert_with(|| {
            kinds.push(TaskKind { name: name.to_owned(), cores, memory: None });
            TaskKindId(kinds.len() as u32 - 1)
        });
        let kind = &mut kinds[id.index()];
        kind.memory = kind.memory.max(memory);
        id
    }

    /// A task of the engine itself, alone between others.
    pub(super) fn engine_task(
        &mut self,
        kinds: &mut Vec<TaskKind>,
        engine: &EngineSteps,
        key: &str,
        after: Vec<TaskId>,
        step: &Option<TaskStep>,
    ) -> Task {
        let kind = self.intern_by_name(kinds, &format!("({})", engine.name), 1, None);
        Task { kind, key: Some(key.to_owned()), after, steps: step.iter().cloned().collect() }
    }
}
