//! Options for Slurm: one job for each sample, so many at a time, with room on the nodes' disks.

use super::{EmitContext, EmitTarget};
use forebay_model::workload::TaskKindId;
use forebay_model::{Reach, Tier};
use std::collections::BTreeMap;

pub(super) const ENGINE: EmitTarget = EmitTarget {
    name: "slurm",
    suffix: ".slurm.sh",
    usage: "the lines that begin with #SBATCH go on top of the job script",
    text: render_job_options,
};

const MIB: f64 = 1_048_576.0;
/// The partition of jobs that wait for all others.
const LOW: &str = "forebay_low";
const GRES: &str = "\
# Room on a node's own disks, in MiB: what a job asks for here no other job gets. (--tmp would only
# look at the size of the disk.) Slurm must know how much there is, once, with MIB for its number:
";
const LICENCES: &str = "\
# Room on storage of all nodes, in MiB, as licences: a job waits until what it asks for is free.
# `forebay slurm print --site SITE` prints these lines, and those for the nodes:
";
const PARTITION: &str = "\
# Their jobs begin only when none of another partition waits for the node, since those have a higher
# PriorityTier. `forebay slurm print --low forebay_low` prints the lines:
#   slurm.conf: PartitionName=forebay_low Nodes=ALL PriorityTier=1, PartitionName=DEFAULT PriorityTier=10
";

/// Whether several pipelines share the nodes: the job of each is its engine alone, and its tasks are
/// jobs of their own.
fn shares_nodes(emission: &EmitContext<'_>) -> bool {
    emission.choice.pipelines > 1
}

/// The most that one pipeline has on each tier of a node's own, by the name of a generic resource, in
/// MiB.
fn room_of_nodes(emission: &EmitContext<'_>) -> BTreeMap<String, u64> {
    let mut room: BTreeMap<String, u64> = BTreeMap::new();
    for (id, used) in &emission.alone.tiers {
        let Some(tier) = emission.site.tier(id).filter(|tier| tier.reach == Reach::Node) else {
            continue;
        };
        let mib = (used.peak_bytes_per_node / MIB).ceil() as u64;
        if mib > 0 {
            *room.entry(resource_name(tier)).or_default() += mib;
        }
    }
    room
}

/// The most that one task of this kind writes to tiers of a node's own, in the same way. On several
/// nodes nothing outlives its task there.
fn room_of_task(emission: &EmitContext<'_>, kind: TaskKindId) -> BTreeMap<String, u64> {
    let mut room: BTreeMap<String, u64> = BTreeMap::new();
    for pool in emission.node_tiers() {
        let written = emission.most_written(kind, &[pool]).get();
        if let (Some(tier), true) = (emission.site.tier(pool.0), written > 0) {
            *room.entry(resource_name(tier)).or_default() += (written as f64 / MIB).ceil() as u64;
        }
    }
    room
}

/// What one pipeline has at most on each tier of all nodes together whose room is bounded, by the name
/// of a licence, in MiB. Several may have most at the same time, whatever the simulation says.
fn room_for_all(emission: &EmitContext<'_>) -> BTreeMap<String, u64> {
    let mut room: BTreeMap<String, u64> = BTreeMap::new();
    for (id, used) in &emission.outcome.tiers {
        let Some(tier) = emission.site.tier(id).filter(|tier| tier.reach == Reach::Shared) else {
            continue;
        };
        let each = used.peak_bytes.0 as f64 / f64::from(emission.choice.pipelines.max(1));
        let alone = emission.alone.tiers.get(id).map_or(0.0, |used| used.peak_bytes.0 as f64);
        let mib = (each.max(alone) / MIB).ceil() as u64;
        if mib > 0 && tier.capacity.is_some() {
            *room.entry(resource_name(tier)).or_default() += mib;
        }
    }
    room
}

/// `name:MIB,name:MIB`.
fn resource_list(room: &BTreeMap<String, u64>) -> String {
    let wanted: Vec<String> = room.iter().map(|(name, mib)| format!("{name}:{mib}")).collect();
    wanted.join(",")
}

/// The name of a tier among Slurm's resources and licences.
fn resource_name(tier: &Tier) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = tier.whole_tier().as_str().chars().map(plain).collect();
    format!("forebay_{name}")
}

fn render_job_options(emission: &EmitContext<'_>) -> String {
    let choice = emission.choice;
    let shared = shares_nodes(emission);
    let mut text = format!("#!/bin/bash\n{}", emission.header_comment("#"));
    let mut option = |line: String| text.push_str(&format!("#SBATCH --{line}\n"));
    if shared {
        option("ntasks=1".to_owned());
    } else {
        option(format!("nodes={}", choice.nodes));
        option(format!("ntasks-per-node={}", choice.slots));
    }
    if emission.samples > 1 {
        option(format!("array=1-{}%{}", emission.samples, choice.pipelines));
    }
    if choice.spot.is_some() {
        // A job whose machine is taken away begins again.
        option("requeue".to_owned());
    }
    let licences = room_for_all(emission);
    if !licences.is_empty() {
        option(format!("licenses={}", resource_list(&licences)));
    }
    let room = room_of_nodes(emission);
    let by_task = shared && choice.nodes > 1;
    if !room.is_empty() && !by_task {
        option(format!("gres={}", resource_list(&room)));
    }
    if shared {
        text.push_str(&format!(
            "# Pipelines share {} nodes, {} tasks on each: this job is the engine of one of them, which\n\
             # holds its room to the end. Tasks are jobs of their own (Nextflow: process.executor = 'slurm',\n\
             # Snakemake: --executor slurm), with the options below.\n",
            choice.nodes, choice.slots
        ));
    }
    text.push_str(&stagger_lines(emission));
    text.push_str(&task_lines(emission, by_task));
    if !room.is_empty() {
        text.push_str(GRES);
        for name in room.keys() {
            text.push_str(&format!(
                "#   slurm.conf: GresTypes={name}, and Gres={name}:MIB in the NodeName line\n\
                 #   gres.conf:  Name={name} Count=MIB Flags=CountOnly\n"
            ));
        }
    }
    if !licences.is_empty() {
        text.push_str(LICENCES);
        for name in licences.keys() {
            text.push_str(&format!("#   slurm.conf: Licenses={name}:MIB\n"));
        }
    }
    text
}

/// The first ones start one after the other.
fn stagger_lines(emission: &EmitContext<'_>) -> String {
    let choice = emission.choice;
    let stagger = choice.stagger.get().round();
    if stagger <= 0.0 || choice.pipelines <= 1 {
        return String::new();
    }
    format!(
        "# The first ones start one after the other.\n\
         [ \"${{SLURM_ARRAY_TASK_ID:-1}}\" -gt {} ] || sleep $(( (${{SLURM_ARRAY_TASK_ID:-1}} - 1) * {stagger} ))\n",
        choice.pipelines
    )
}

/// Options of jobs that are tasks, kind by kind.
fn task_lines(emission: &EmitContext<'_>, with_room: bool) -> String {
    let mut text = String::new();
    for (kind, name) in emission.working_kinds() {
        let mut options = String::new();
        let room = if with_room { room_of_task(emission, kind) } else { BTreeMap::new() };
        if !room.is_empty() {
            options.push_str(&format!(" --gres={}", resource_list(&room)));
        }
        if emission.is_low(kind) {
            options.push_str(&format!(" --partition={LOW}"));
        }
        if !options.is_empty() {
            let name = name.replace(char::is_control, " ");
            text.push_str(&format!("# Jobs of {name}: sbatch{options}\n"));
        }
    }
    if !emission.choice.low.is_empty() {
        text.push_str(PARTITION);
    }
    text
}
