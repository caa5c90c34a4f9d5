//! A configuration of Nextflow: how many tasks at a time, all together and of each process.

use super::{EmitContext, EmitTarget, RETRIES};

pub(super) const ENGINE: EmitTarget = EmitTarget {
    name: "nextflow",
    suffix: ".nextflow.config",
    usage: "nextflow run ... -c FILE",
    text: render_config,
};

fn render_config(emission: &EmitContext<'_>) -> String {
    let choice = emission.choice;
    let width = u64::from(choice.slots) * u64::from(choice.nodes);
    let mut text = emission.header_comment("//");
    text.push_str(&format!("executor {{\n    queueSize = {width}\n}}\n"));
    text.push_str(
        "process {\n    // Rules place the files of the work directory: no second copy.\n",
    );
    text.push_str("    scratch = false\n");
    if choice.spot.is_some() {
        text.push_str("    // Machines may be taken away: their tasks begin again.\n");
        text.push_str("    errorStrategy = 'retry'\n");
        text.push_str(&format!("    maxRetries = {RETRIES}\n"));
    }
    let tiers = emission.node_tiers();
    let room = tiers.iter().map(|(_, room)| room.get()).min();
    for (kind, name) in emission.working_kinds() {
        let mut keys = String::new();
        let written = emission.most_written(kind, &tiers).get();
        // Only where the disks bind before the slots do.
        if let Some(room) = room.filter(|_| written > 0) {
            let at_a_time = (room / written).max(1).saturating_mul(u64::from(choice.nodes));
            if at_a_time < width {
                keys.push_str(&format!("        maxForks = {at_a_time}\n"));
            }
        }
        if emission.is_low(kind) {
            keys.push_str("        // Under Slurm: after all others.\n");
            keys.push_str("        clusterOptions = '--nice=100'\n");
        }
        if !keys.is_empty() {
            text.push_str(&format!("    withName: {} {{\n{keys}    }}\n", groovy_string(name)));
        }
    }
    text.push_str("}\n");
    text
}

/// A text as Groovy has it.
fn groovy_string(text: &str) -> String {
    let escape = |c: char| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if c.is_control() => " ".to_owned(),
        c => c.to_string(),
    };
    format!("'{}'", text.chars().map(escape).collect::<String>())
}
