//! Options for Slurm: one job for each sample, so many at a time, with room on the nodes' disks.

use super::{Emission, Engine};
use forebay_model::{Reach, TierId};

pub(super) const ENGINE: Engine = Engine {
    name: "slurm",
    suffix: ".slurm.sh",
    usage: "the lines that begin with #SBATCH go on top of the job script",
    text,
};

const MIB: f64 = 1_048_576.0;

fn text(emission: &Emission<'_>) -> String {
    let choice = emission.choice;
    let mut text = format!("#!/bin/bash\n{}", emission.comment("#"));
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
    let on_nodes = |id: &TierId| emission.site.tier(id).is_some_and(|t| t.reach == Reach::Node);
    let tiers = emission.outcome.tiers.iter().filter(|(id, _)| on_nodes(id));
    let peak: f64 = tiers.map(|(_, tier)| tier.peak_bytes_per_node).sum();
    if peak > 0.0 {
        option(format!("tmp={}M", (peak / MIB).ceil()));
    }
    let stagger = choice.stagger.get().round();
    if stagger > 0.0 && choice.pipelines > 1 {
        text.push_str("# The first ones start one after the other.\n");
        text.push_str(&format!(
            "[ \"${{SLURM_ARRAY_TASK_ID:-1}}\" -gt {} ] || sleep $(( (${{SLURM_ARRAY_TASK_ID:-1}} - 1) * {stagger} ))\n",
            choice.pipelines
        ));
    }
    for (_, name) in emission.kinds().filter(|(kind, _)| emission.is_low(*kind)) {
        let name = name.replace(char::is_control, " ");
        text.push_str(&format!("# Jobs of {name}: sbatch --nice=100, after all others.\n"));
    }
    text
}
