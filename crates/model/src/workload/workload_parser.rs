//! A workload as people write it from what a paper states (docs/formats/workload.md): stages of jobs with
//! barriers between them, files that stages share, and steps with times and volumes.
//!
//! What it is not: a learnt workload. That comes from a run, and is not written by hand.

mod file_families;
mod lengths;
mod stage;
mod touch;

use super::{
    Assumption, FileSetAccess, FileSetId, Task, TaskId, TaskKind, TaskKindId, TaskStep, TimePart,
    Workload,
};
use crate::toml::{ConfigError, TomlDocument, TomlEntry, TomlTable};
use crate::units::{Rate, Seconds};
use file_families::FileFamilies;
use stage::Stage;

/// More tasks than any workflow that people write down; a misplaced zero should not take all memory.
const TASKS_MAX: usize = 2_000_000;

impl Workload {
    /// Reads the text of a workload file; `source` is its name in flaws.
    ///
    /// # Errors
    /// The first flaw, with its line and column.
    pub fn parse(text: &str, source: &str) -> Result<Self, ConfigError> {
        let document = TomlDocument { source, text };
        let entries = document.parse()?;
        let root = document.root_table(&entries);
        root.refuse_unknown_keys(&[
            "name", "source", "stream", "lengths", "files", "stage", "doubt",
        ])?;
        let stream = root.get("stream").map(TomlEntry::as_rate).transpose()?;
        let named = lengths::parse_named_lists(root)?;
        let mut workload =
            Self { name: root.get_required("name")?.as_text()?.to_owned(), ..Self::default() };
        let mut families = FileFamilies::from_table(root, &mut workload)?;
        let stages = root.get_required("stage")?;
        let items = stages
            .as_list()
            .ok_or_else(|| stages.wrong_type_error("a list of tables, [[stage]]"))?;
        let mut all: Vec<Stage<'_>> = Vec::new();
        for item in items {
            let stage = Stage::from_table(item.as_table()?, &all, &named)?;
            all.push(stage);
        }
        let jobs: usize = all.iter().map(|stage| stage.lengths.len() + 1).sum();
        if jobs > TASKS_MAX {
            return Err(
                stages.value_error(format!("{jobs} jobs are more than the {TASKS_MAX} that fit"))
            );
        }
        families.split_by_stages(&all, &mut workload)?;
        for (number, stage) in all.iter().enumerate() {
            workload.add_stage(number, stage, &families, stream)?;
        }
        families.set_deletion_times(&mut workload)?;
        if let Some(doubts) = root.get("doubt") {
            let items = doubts
                .as_list()
                .ok_or_else(|| doubts.wrong_type_error("a list of tables, [[doubt]]"))?;
            workload.doubts = items.into_iter().map(parse_doubt).collect::<Result<_, _>>()?;
        }
        workload.ensure_valid().map_err(|why| root.table_error(why.to_string()))?;
        Ok(workload)
    }

    /// Adds the jobs of a stage, and the task that joins them.
    fn add_stage(
        &mut self,
        number: usize,
        stage: &Stage<'_>,
        families: &FileFamilies<'_>,
        stream: Option<Rate>,
    ) -> Result<(), ConfigError> {
        let kind = TaskKindId(self.kinds.len() as u32);
        let name = stage.name.to_owned();
        self.kinds.push(TaskKind { name, cores: stage.cores, memory: stage.memory });
        let after: Vec<TaskId> = stage.after.iter().map(|before| families.joins[*before]).collect();
        let mean = stage.lengths.iter().sum::<f64>() / stage.lengths.len() as f64;
        let longest = stage.lengths.iter().copied().fold(0.0, f64::max);
        let whole: f64 = stage.lengths.iter().sum();
        let (mut from, first) = (0.0, self.tasks.len());
        for (job, length) in stage.lengths.iter().enumerate() {
            let to = from + length;
            let mut steps = Vec::new();
            for step in &stage.steps {
                let scale = length / if step.slowest { longest } else { mean };
                let mut accesses: Vec<FileSetAccess> = Vec::new();
                for used in &step.accesses {
                    families.add_accesses(
                        used,
                        (number, job),
                        (from / whole, to / whole),
                        scale,
                        &mut accesses,
                    )?;
                }
                let mut compute = Seconds(step.compute.get() * scale);
                if let Some(stream) = stream.filter(|_| step.takes) {
                    // Of the time that was measured, storage had its part.
                    let moved = accesses.iter().map(|access| access.read + access.written).sum();
                    compute = Seconds((compute - stream.time_for_bytes(moved)).get().max(0.0));
                }
                steps.push(TaskStep { name: step.name.to_owned(), compute, accesses });
            }
            from = to;
            let key =
                stage.key.map_or_else(|| (job + 1).to_string(), |key| format!("{key} {}", job + 1));
            self.tasks.push(Task { kind, key: Some(key), after: after.clone(), steps });
        }
        let join = TaskKindId(self.kinds.len() as u32);
        self.kinds.push(TaskKind { name: format!("{} done", stage.name), cores: 0, memory: None });
        let jobs = (first..self.tasks.len()).map(|task| TaskId(task as u32)).collect();
        self.tasks.push(Task { kind: join, key: None, after: jobs, steps: Vec::new() });
        Ok(())
    }
}

fn parse_doubt(entry: TomlEntry<'_>) -> Result<Assumption, ConfigError> {
    let table: TomlTable<'_> = entry.as_table()?;
    table.refuse_unknown_keys(&["what", "share"])?;
    Ok(Assumption {
        what: table.get_required("what")?.as_text()?.to_owned(),
        share: table.get_required("share")?.as_number(0.0, 10.0)?,
        concerns: TimePart::Whole,
    })
}

/// A set that a job has a part in.
fn file_set_id(number: usize) -> FileSetId {
    FileSetId(number as u32)
}

#[cfg(test)]
mod tests;
