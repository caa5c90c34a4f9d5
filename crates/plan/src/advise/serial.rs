//! One task that runs while all other slots are empty.

use super::Evidence;
use forebay_model::{ByteCount, Seconds};
use std::collections::BTreeMap;

/// Nobody splits a task into more parts than this without new trouble.
const PARTS: f64 = 8.0;

pub(super) fn assess_saving(evidence: &Evidence<'_>) -> Option<(Seconds, String)> {
    let slots = f64::from(evidence.choice.nodes) * f64::from(evidence.choice.slots);
    if slots < 2.0 {
        return None;
    }
    let mut alone: BTreeMap<u32, f64> = BTreeMap::new();
    let mut moments: Vec<(f64, bool, usize)> = Vec::new();
    for (number, task) in evidence.outcome.tasks.iter().enumerate() {
        moments.push((task.started.get(), true, number));
        moments.push((task.ended.get(), false, number));
    }
    moments.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut running: Vec<usize> = Vec::new();
    let mut last = 0.0;
    for (at, starts, number) in moments {
        if let [only] = running.as_slice() {
            let task = evidence.outcome.tasks[*only].task;
            *alone.entry(evidence.workload.tasks[task.index()].kind.0).or_default() += at - last;
        }
        last = at;
        if starts { running.push(number) } else { running.retain(|other| *other != number) }
    }
    let (kind, time) = alone.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let kind_of = &evidence.workload.kinds[kind as usize];
    let parts = (slots / f64::from(kind_of.cores.max(1))).clamp(1.0, PARTS).floor();
    let saves = Seconds(time * (1.0 - 1.0 / parts));
    let bytes: ByteCount = evidence
        .workload
        .tasks
        .iter()
        .filter(|task| task.kind.0 == kind)
        .flat_map(|task| task.steps.iter().flat_map(|step| &step.accesses))
        .map(|access| access.read)
        .sum();
    let sentence = format!(
        "{} runs alone for {}, reading {bytes} in all, while {:.0} slots wait: split in {parts:.0} \
         parts it saves up to {saves}.",
        kind_of.name,
        Seconds(time),
        slots - 1.0
    );
    Some((saves, sentence))
}
