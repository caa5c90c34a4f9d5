//! CPUs, memory, disks and network of the machine, and of others that were sampled meanwhile.

use forebay_model::summary::MachineSummary;
use serde_json::json;

use super::{Chapter, Told};
use crate::commands::explain::phrases::{count, percent};
use crate::commands::explain::story::Story;
use crate::named::named;

pub(super) const CHAPTER: Chapter = Chapter { name: "machines", title: "Machines", tell };

fn tell(story: &Story) -> Option<Told> {
    let machines = &story.summary.machines;
    Told::new(machines.iter().map(sentence).collect(), json!({ "machines": machines }))
}

fn sentence(machine: &MachineSummary) -> String {
    let name = match machine.name.as_str() {
        "" => "The machine".to_owned(),
        name => named(name.as_bytes()),
    };
    let (Some(cpu), Some(iowait)) = (machine.cpu_share, machine.iowait_share) else {
        return format!("{name} was not sampled while the run lasted (do the clocks agree?).");
    };
    let cores = machine.cpus.map(|cpus| format!(" ({})", count(cpus.into(), "core")));
    let mut text = format!(
        "{name}{}: CPUs were busy {}, and idle with requests to disks under way {}",
        cores.unwrap_or_default(),
        percent(cpu),
        percent(iowait)
    );
    if let (Some(most), Some(all)) = (machine.memory_used_most, machine.memory) {
        text.push_str(&format!("; memory held up to {most} of {all}"));
    }
    if let Some(disk) = &machine.disk {
        text.push_str(&format!(
            "; disk {} was busy {} ({} read, {} written)",
            named(disk.name.as_bytes()),
            percent(disk.busy_share),
            disk.read,
            disk.written
        ));
    }
    if let Some(network) = &machine.network {
        text.push_str(&format!(
            "; {} received {} and sent {}",
            named(network.name.as_bytes()),
            network.received,
            network.sent
        ));
    }
    text + &format!(" ({}).", count(machine.samples, "sample"))
}
