//! A row for each machine: shown where there are several, or nothing else.

use forebay_model::summary::{Summary, format_percent};

use super::cells::replace_control;
use super::text_table::{TextColumn, TextTable};

pub(super) fn machine_table(summary: &Summary) -> Option<TextTable> {
    let machines = &summary.machines;
    if machines.is_empty() || machines.len() == 1 && !summary.tasks.is_empty() {
        return None;
    }
    let mut table = TextTable::new(vec![
        TextColumn::left("machine"),
        TextColumn::right("cpu", 5),
        TextColumn::right("i/o wait", 8),
        TextColumn::right("memory", 9),
        TextColumn::right("disk busy", 9),
        TextColumn::right("received", 9),
        TextColumn::right("sent", 9),
    ]);
    for machine in machines {
        let share = |share: Option<f64>| share.map_or("-".to_owned(), format_percent);
        let (disk, network) = (machine.disk.as_ref(), machine.network.as_ref());
        let sampled = machine.samples > 0;
        // Sampled, and nothing was done: 0 is known.
        let bytes = |bytes: Option<String>| bytes.unwrap_or(if sampled { "0" } else { "-" }.into());
        table.push_row(vec![
            replace_control(if machine.name.is_empty() { "(unnamed)" } else { &machine.name }),
            share(machine.cpu_share),
            share(machine.iowait_share),
            machine.memory_used_most.map_or("-".to_owned(), |most| most.to_string()),
            share(disk.map(|disk| disk.busy_share).or(sampled.then_some(0.0))),
            bytes(network.map(|network| network.received.to_string())),
            bytes(network.map(|network| network.sent.to_string())),
        ]);
    }
    Some(table)
}
