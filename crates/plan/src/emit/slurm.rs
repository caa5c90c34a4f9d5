//! Options for Slurm: one job for each sample, so many at a time, with room on the nodes' disks.

use super::{EmitContext, EmitTarget};
use forebay_model::{Reach, Tier};
use std::collections::BTreeMap;

pub(super) const ENGINE: EmitTarget = EmitTarget {
    name: "slurm",
    suffix: ".slurm.sh",
    usage: "the lines that begin with #SBATCH go on top of the job script",
    text: render_job_options,
};

const MIB: f64 = 1_048_576.0;
const GRES: &str = "\
# Room on a node's own disks, in MiB: what a job asks for here no other job gets. (--tmp would only
# look at the size of the disk.) Slurm must know how much there is, once, with MIB for its number:
";
const LICENCES: &str = "\
# Room on storage of all nodes, in MiB, as licences: a job waits until what it asks for is free.
# `forebay slurm print --site SITE` prints these lines, and those for the nodes:
";

/// The most that is on each tier of a node's own, by the name of a generic resource, in MiB.
fn room_of_nodes(emission: &EmitContext<'_>) -> BTreeMap<String, u64> {
    let mut room: BTreeMap<String, u64> = BTreeMap::new();
    for (id, used) in &emission.outcome.tiers {
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

/// What one pipeline has at most on each tier of all nodes together whose room is bounded, by the name
/// of a licence, in MiB.
fn room_for_all(emission: &EmitContext<'_>) -> BTreeMap<String, u64> {
    let mut room: BTreeMap<String, u64> = BTreeMap::new();
    for (id, used) in &emission.outcome.tiers {
        let Some(tier) = emission.site.tier(id).filter(|tier| tier.reach == Reach::Shared) else {
            continue;
        };
        let each = used.peak_bytes.0 as f64 / f64::from(emission.choice.pipelines.max(1));
        let mib = (each / MIB).ceil() as u64;
        if mib > 0 && tier.capacity.is_some() {
            *room.entry(resource_name(tier)).or_default() += mib;
        }
    }
    room
}

/// The name of a tier among Slurm's resources and licences.
fn resource_name(tier: &Tier) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = tier.whole_tier().as_str().chars().map(plain).collect();
    format!("forebay_{name}")
}

fn render_job_options(emission: &EmitContext<'_>) -> String {
    let choice = emission.choice;
    let mut text = format!("#!/bin/bash\n{}", emission.header_comment("#"));
    let mut option = |line: String| text.push_str(&format!("#SBATCH --{line}\n"));
    option(format!("nodes={}", choice.nodes));
    option(format!("ntasks-per-node={}", choice.slots));
    if emission.samples > 1 {
        option(format!("array=1-{}%{}", emission.samples, choice.pipelines));
    }
    if choice.spot.is_some() {
        // A job whose machine is taken away begins again.
        option("requeue".to_owned());
    }
    let licences = room_for_all(emission);
    if !licences.is_empty() {
        let wanted: Vec<String> =
            licences.iter().map(|(name, mib)| format!("{name}:{mib}")).collect();
        option(format!("licenses={}", wanted.join(",")));
    }
    let room = room_of_nodes(emission);
    if !room.is_empty() {
        let wanted: Vec<String> = room.iter().map(|(name, mib)| format!("{name}:{mib}")).collect();
        option(format!("gres={}", wanted.join(",")));
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
    let stagger = choice.stagger.get().round();
    if stagger > 0.0 && choice.pipelines > 1 {
        text.push_str("# The first ones start one after the other.\n");
        text.push_str(&format!(
            "[ \"${{SLURM_ARRAY_TASK_ID:-1}}\" -gt {} ] || sleep $(( (${{SLURM_ARRAY_TASK_ID:-1}} - 1) * {stagger} ))\n",
            choice.pipelines
        ));
    }
    for (_, name) in emission.working_kinds().filter(|(kind, _)| emission.is_low(*kind)) {
        let name = name.replace(char::is_control, " ");
        text.push_str(&format!("# Jobs of {name}: sbatch --nice=100, after all others.\n"));
    }
    text
}
