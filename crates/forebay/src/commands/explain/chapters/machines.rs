//! CPUs, memory, disks and network of the machine, and of others that were sampled meanwhile.

use forebay_model::summary::MachineSummary;
use serde_json::json;

use super::{Chapter, ChapterText};
use crate::commands::explain::phrases::{count_with_noun, format_percent};
use crate::commands::explain::run_story::ExplainedRun;
use crate::name_escaping::escape_name;

pub(super) const CHAPTER: Chapter =
    Chapter { name: "machines", title: "Machines", tell: compose_chapter };

fn compose_chapter(story: &ExplainedRun) -> Option<ChapterText> {
    let machines = &story.summary.machines;
    ChapterText::new(
        machines.iter().map(machine_sentence).collect(),
        json!({ "machines": machines }),
    )
}

fn machine_sentence(machine: &MachineSummary) -> String {
    let name = match machine.name.as_str() {
        "" => "The machine".to_owned(),
        name => escape_name(name.as_bytes()),
    };
    let (Some(cpu), Some(iowait)) = (machine.cpu_share, machine.iowait_share) else {
        return format!("{name} was not sampled while the run lasted (do the clocks agree?).");
    };
    let cores = machine.cpus.map(|cpus| format!(" ({})", count_with_noun(cpus.into(), "core")));
    let mut text = format!(
        "{name}{}: CPUs were busy {}, and idle with requests to disks under way {}",
        cores.unwrap_or_default(),
        format_percent(cpu),
        format_percent(iowait)
    );
    if let (Some(most), Some(all)) = (machine.memory_used_most, machine.memory) {
        text.push_str(&format!("; memory held up to {most} of {all}"));
    }
    if let Some(disk) = &machine.disk {
        text.push_str(&format!(
            "; disk {} was busy {} ({} read, {} written)",
            escape_name(disk.name.as_bytes()),
            format_percent(disk.busy_share),
            disk.read,
            disk.written
        ));
    }
    if let Some(network) = &machine.network {
        text.push_str(&format!(
            "; {} received {} and sent {}",
            escape_name(network.name.as_bytes()),
            network.received,
            network.sent
        ));
    }
    text + &format!(" ({}).", count_with_noun(machine.samples, "sample"))
}
