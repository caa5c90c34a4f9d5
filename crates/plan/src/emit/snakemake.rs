//! A profile of Snakemake: how many jobs at a time, and who gets how much of the disks.

use super::{EmitContext, EmitTarget, RETRIES};

pub(super) const ENGINE: EmitTarget = EmitTarget {
    name: "snakemake",
    suffix: ".snakemake/config.yaml",
    usage: "snakemake --profile DIR, with DIR the folder of this file",
    text: render_profile,
};

const MB: u64 = 1_000_000;

fn render_profile(emission: &EmitContext<'_>) -> String {
    let choice = emission.choice;
    let mut text = emission.header_comment("#");
    text.push_str(&format!("cores: {}\n", u64::from(choice.slots) * u64::from(choice.nodes)));
    if choice.nodes > 1 {
        text.push_str(&format!("jobs: {}\n", u64::from(choice.slots) * u64::from(choice.nodes)));
    }
    if choice.spot.is_some() {
        text.push_str(&format!(
            "# Machines may be taken away: their jobs begin again.\nretries: {RETRIES}\n"
        ));
    }
    let tiers = emission.node_tiers();
    let room = tiers.iter().map(|(_, room)| room.get()).min();
    let mut rules = String::new();
    for (kind, name) in emission.working_kinds() {
        let mut keys = String::new();
        if let Some(memory) = emission.workload.kinds[kind.index()].memory {
            keys.push_str(&format!("    mem_mb: {}\n", memory.get().div_ceil(MB)));
        }
        let written = emission.most_written(kind, &tiers);
        if written.get() > 0 {
            keys.push_str(&format!("    forebay_mb: {}\n", written.get().div_ceil(MB)));
        }
        if !keys.is_empty() {
            rules.push_str(&format!("  {}:\n{keys}", yaml_string(name)));
        }
    }
    if let Some(room) = room.filter(|_| rules.contains("forebay_mb")) {
        text.push_str("# Megabytes that jobs may fill on a node's own disk at a time.\n");
        text.push_str(&format!("resources:\n  - forebay_mb={}\n", room / MB));
    }
    if !rules.is_empty() {
        text.push_str(&format!("set-resources:\n{rules}"));
    }
    if !choice.low.is_empty() {
        text.push_str(
            "# A profile can't set priorities. In the Snakefile, all rules but these get\n",
        );
        text.push_str("# `priority: 10`:\n");
        for (_, name) in emission.working_kinds().filter(|(kind, _)| emission.is_low(*kind)) {
            text.push_str(&format!("#   {}\n", name.replace(char::is_control, " ")));
        }
    }
    text
}

/// A text as YAML has it.
fn yaml_string(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain && text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return text.to_owned();
    }
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => " ".to_owned(),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}
