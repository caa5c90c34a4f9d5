//! Kinds of tasks: those of one name.

use super::engine::Engine;
use forebay_model::workload::{Step, Task, TaskId, TaskKind, TaskKindId};
use std::collections::BTreeMap;

/// Kinds by name.
#[derive(Debug, Default)]
pub(super) struct Kinds(BTreeMap<String, TaskKindId>);

impl Kinds {
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
        engine: &Engine,
        key: &str,
        after: Vec<TaskId>,
        step: &Option<Step>,
    ) -> Task {
        let kind = self.intern_by_name(kinds, &format!("({})", engine.name), 1, None);
        Task { kind, key: Some(key.to_owned()), after, steps: step.iter().cloned().collect() }
    }
}
