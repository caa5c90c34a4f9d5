//! A choice as files that others obey: rules for `forebay run`, settings for workflow engines.
//!
//! Each engine is one entry of [`ENGINES`]. What it is not: a writer of files; it makes their texts.

mod glob;
mod nextflow;
mod rules;
mod slurm;
mod snakemake;
mod toml;

pub use rules::{EmitError, render_rules};

use crate::whole_folders::ProposedFolder;
use crate::{Choice, Outcome};
use forebay_model::workload::{Task, TaskKindId};
use forebay_model::{ByteCount, FileLocation, Reach, Site, TierId, Workload};

/// What the texts are made from.
#[derive(Clone, Copy, Debug)]
pub struct EmitContext<'a> {
    /// The tiers.
    pub site: &'a Site,
    /// The tasks and classes.
    pub workload: &'a Workload,
    /// What was chosen.
    pub choice: &'a Choice,
    /// The folders that it has on a tier as a whole.
    pub whole_folders: &'a [ProposedFolder],
    /// What is expected of it.
    pub outcome: &'a Outcome,
    /// What is expected of one pipeline by itself: the room that each needs, whenever it has most.
    pub alone: &'a Outcome,
    /// How many times the workload is to be done.
    pub samples: u32,
    /// What this is, from what and for what: a comment on top.
    pub header: &'a [String],
}

/// How often a task begins again, where machines may be taken away: none is that unlucky.
const RETRIES: u32 = 3;

/// A workflow engine or scheduler that can be told something.
#[derive(Clone, Copy, Debug)]
pub struct EmitTarget {
    /// Its name for people.
    pub name: &'static str,
    /// What its file is called, after the name of the rules file without its ending.
    pub suffix: &'static str,
    /// How the file is used.
    pub usage: &'static str,
    text: fn(&EmitContext<'_>) -> String,
}

/// All engines.
pub const ENGINES: &[EmitTarget] = &[snakemake::ENGINE, nextflow::ENGINE, slurm::ENGINE];

impl EmitTarget {
    /// The text of its file.
    pub fn render_text(&self, emission: &EmitContext<'_>) -> String {
        (self.text)(emission)
    }
}

impl EmitContext<'_> {
    fn header_comment(&self, mark: &str) -> String {
        self.header
            .iter()
            .map(|line| format!("{mark} {line}").trim_end().to_owned() + "\n")
            .collect()
    }

    /// Kinds that take slots, with their tasks.
    fn working_kinds(&self) -> impl Iterator<Item = (TaskKindId, &str)> {
        let kinds = self.workload.kinds.iter().enumerate();
        let working = kinds.filter(|(_, kind)| kind.cores > 0);
        working.map(|(number, kind)| (TaskKindId(number as u32), kind.name.as_str()))
    }

    fn is_low(&self, kind: TaskKindId) -> bool {
        self.choice.low.contains(&kind)
    }

    /// Tiers on each node that files go to, with the room that there is on one.
    fn node_tiers(&self) -> Vec<(&TierId, ByteCount)> {
        let mut tiers = Vec::new();
        for placement in &self.choice.placements {
            let FileLocation::Tier(id) = &placement.home else { continue };
            let Some(tier) = self.site.tier(id).filter(|tier| tier.reach == Reach::Node) else {
                continue;
            };
            let room = self.choice.pools.get(id).copied().or(tier.capacity);
            if let Some(room) = room
                && !tiers.contains(&(&tier.id, room))
            {
                tiers.push((&tier.id, room));
            }
        }
        tiers
    }

    /// The most that one task of this kind writes to these tiers.
    fn most_written(&self, kind: TaskKindId, tiers: &[(&TierId, ByteCount)]) -> ByteCount {
        let on = |task: &Task| {
            let accesses = task.steps.iter().flat_map(|step| &step.accesses);
            let written = accesses.filter(|access| {
                let class = self.workload.files[access.files.index()].class;
                let home = &self.choice.placements[class.index()].home;
                matches!(home, FileLocation::Tier(id) if tiers.iter().any(|(tier, _)| *tier == id))
            });
            written.map(|access| access.written).sum::<ByteCount>()
        };
        let tasks = self.workload.tasks.iter().filter(|task| task.kind == kind);
        tasks.map(on).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
