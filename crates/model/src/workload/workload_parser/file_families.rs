//! Families of files: all that one stage hands to others under one kind of name. A family is one
//! row of bytes, cut into parts, and so is each stage: a job works on the part of the row that
//! its own part of the stage covers.

use super::stage::Stage;
use crate::toml::{ConfigError, TomlEntry, TomlTable};
use crate::units::ByteCount;
use crate::workload::{DeletionPoint, FileClass, FileClassId, FileSet, TaskId, Workload};

/// When the parts of a family are deleted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FamilyDeletion {
    Never,
    /// With the job that a part is of.
    Job,
    /// With a step of that job.
    Step(u32),
    /// When all jobs of a stage are done.
    Stage(usize),
}

pub(super) struct FileFamily<'d> {
    pub(super) name: &'d str,
    class: FileClassId,
    pub(super) bytes: ByteCount,
    count: u64,
    per: Option<TomlEntry<'d>>,
    freed: Option<TomlEntry<'d>>,
    /// The stage whose jobs it is cut for.
    pub(super) stage: Option<usize>,
    /// When its parts go.
    until: FamilyDeletion,
    /// Its first set, and where each part ends, from 0 to 1.
    pub(super) first: usize,
    pub(super) ends: Vec<f64>,
}

/// All families.
pub(super) struct FileFamilies<'d> {
    pub(super) all: Vec<FileFamily<'d>>,
    /// For each stage the task that joins it, and its first job.
    pub(super) joins: Vec<TaskId>,
    firsts: Vec<u32>,
}

impl<'d> FileFamilies<'d> {
    pub(super) fn from_table(
        root: TomlTable<'d>,
        workload: &mut Workload,
    ) -> Result<Self, ConfigError> {
        let mut all = Vec::new();
        for entry in root.get_required("files")?.as_table()?.entries() {
            let table = entry.as_table()?;
            table.refuse_unknown_keys(&["path", "bytes", "count", "per", "freed", "source"])?;
            let path = table.get_required("path")?.as_text()?;
            let class = FileClassId(workload.classes.len() as u32);
            let (pattern, example) = (path.to_owned(), path.replace('#', "1").into_bytes());
            workload.classes.push(FileClass::new(pattern, example));
            let count = table.get("count").map(|entry| entry.as_integer(1, 1 << 30)).transpose()?;
            all.push(FileFamily {
                name: entry.key,
                class,
                bytes: table.get_required("bytes")?.as_byte_count()?,
                count: u64::from(count.unwrap_or(1)),
                per: table.get("per"),
                freed: table.get("freed"),
                stage: None,
                until: FamilyDeletion::Never,
                first: 0,
                ends: Vec::new(),
            });
        }
        Ok(Self { all, joins: Vec::new(), firsts: Vec::new() })
    }

    /// Cuts the families for the stages that they are for.
    pub(super) fn split_by_stages(
        &mut self,
        stages: &[Stage<'_>],
        workload: &mut Workload,
    ) -> Result<(), ConfigError> {
        let known: Vec<&str> = stages.iter().map(|stage| stage.name).collect();
        let find = |entry: TomlEntry<'_>| -> Result<usize, ConfigError> {
            let name = entry.as_text()?;
            let place = known.iter().position(|known| *known == name);
            place.ok_or_else(|| entry.unknown_name_error("stage", name, &known))
        };
        let mut next = 0;
        for stage in stages {
            self.firsts.push(next);
            next += stage.lengths.len() as u32 + 1;
            self.joins.push(TaskId(next - 1));
        }
        for family in &mut self.all {
            family.stage = family.per.map(find).transpose()?;
            family.until = match family.freed {
                None => FamilyDeletion::Never,
                Some(entry) if entry.as_text() == Ok("job") => match family.stage {
                    Some(_) => FamilyDeletion::Job,
                    None => {
                        return Err(
                            entry.value_error("\"job\" needs `per`: whose job deletes a part?")
                        );
                    }
                },
                Some(entry) => {
                    let step = family.stage.and_then(|stage| stages[stage].step_number(entry));
                    match (find(entry), step) {
                        (Err(_), Some(step)) => FamilyDeletion::Step(step),
                        (stage, _) => FamilyDeletion::Stage(stage?),
                    }
                }
            };
            let one = [1.0];
            let lengths = family.stage.map_or(&one[..], |stage| &stages[stage].lengths);
            let whole: f64 = lengths.iter().sum();
            family.first = workload.files.len();
            let (mut so_far, mut cut) = (0.0, 0_u64);
            for length in lengths {
                so_far += length;
                let end = (family.bytes.get() as f64 * (so_far / whole)).round() as u64;
                let bytes = ByteCount(end.saturating_sub(cut));
                cut = cut.max(end);
                let count = family.count;
                workload.files.push(FileSet {
                    class: family.class,
                    count,
                    bytes,
                    until: DeletionPoint::End,
                });
                family.ends.push(so_far / whole);
            }
            if let Some(last) = family.ends.last_mut() {
                *last = 1.0;
            }
        }
        Ok(())
    }

    /// Sets when each part is deleted.
    pub(super) fn set_deletion_times(&self, workload: &mut Workload) -> Result<(), ConfigError> {
        for family in &self.all {
            for part in 0..family.ends.len() {
                workload.files[family.first + part].until = match (family.until, family.stage) {
                    (FamilyDeletion::Job, Some(stage)) => {
                        DeletionPoint::Task(TaskId(self.firsts[stage] + part as u32))
                    }
                    (FamilyDeletion::Step(step), Some(stage)) => {
                        DeletionPoint::Step(TaskId(self.firsts[stage] + part as u32), step)
                    }
                    (FamilyDeletion::Stage(stage), _) => DeletionPoint::Task(self.joins[stage]),
                    _ => DeletionPoint::End,
                };
            }
        }
        Ok(())
    }
}
