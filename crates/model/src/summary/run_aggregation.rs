//! The fold itself.

use super::advice::{self, Disk, Evidence, OpLine};
use super::open_file_sums::OpenFileSums;
use super::{
    ClassSummary, NodeSummary, OpSummary, StorageVerdict, Summary, TimeSplit, UnseenProgram,
    outside_summary, task_summary,
};
use crate::run::{OpRow, TaskRow, note_key};
use crate::{MachineSample, Micros, Op, Result, Run};
use std::collections::{BTreeMap, HashMap};

/// Counters of the whole machine say little of a shorter run.
const SAMPLED_MIN: Micros = Micros::from_secs(5);

pub(super) fn summarize_run(run: &Run) -> Result<Summary> {
    let header = run.header()?;
    let recorder = header.note(&note_key::RECORDER);
    let is_recorded = recorder.is_some();
    let (rows, ops, trees) = (run.tasks()?, run.operation_rows()?, run.trees()?);
    let (processes, samples) = (run.processes()?, run.samples()?);
    let classes: HashMap<u32, String> =
        run.classes()?.into_iter().map(|(id, pattern)| (id.0, pattern)).collect();
    let opened = OpenFileSums::from_run(run, &ops)?;
    let ended = run.ended()?;
    let signs = rows.iter().flat_map(|t| [t.started, t.ended]).flatten();
    let last = signs.chain(samples.iter().map(|s| s.at)).max().unwrap_or_default();
    let wall = ended.map_or(last, |end| end.at);
    let tasks = task_summary::tasks_by_name(&rows, &ops, &opened, is_recorded);
    let busy: Micros = tasks.iter().filter(|t| !t.driver).filter_map(|t| t.wall_us).sum();
    let time = TimeSplit::from_tasks(rows.iter().filter(|task| !task.driver));
    let cpu = ended.and_then(|end| Some(end.cpu_user? + end.cpu_system?));
    let attributed: Micros = tasks.iter().filter_map(|t| t.cpu_us).sum();
    let mut summary = Summary {
        origin: header.origin,
        command: header
            .command
            .iter()
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect(),
        wall_us: wall,
        exit: ended.and_then(|end| end.exit),
        complete: run.is_complete()?,
        others: run.use_by_others()?.map(Into::into),
        tiers: task_summary::tier_rows(&trees, &ops, &opened),
        waited_us: ops.iter().map(|row| row.time).sum(),
        time,
        waited_share: time.storage_share(),
        verdict: None,
        hidden: opened.hidden,
        pressure_share: pressure_share(&samples, wall),
        classes: costliest_classes(&ops, &classes, &opened),
        files: opened.costliest_files(5),
        costliest: costliest_op(&ops),
        outside: outside_summary::summarize_outside(
            &trees,
            &run.outside_files()?,
            &processes,
            opened.known_bytes(),
        ),
        not_seen: run
            .unseen_programs()?
            .into_iter()
            .map(|(program, count)| UnseenProgram { program, count })
            .collect(),
        whole_folders: header.note(&note_key::WHOLE_FOLDERS).unwrap_or_default(),
        lost_events: header.note(&note_key::LOST_EVENTS).unwrap_or_default(),
        io_uring_rings: header.note(&note_key::IO_URING_RINGS).unwrap_or_default(),
        calls_of_32_bits: header.note(&note_key::CALLS_OF_32_BITS).unwrap_or_default(),
        strange_descriptors: header.note(&note_key::STRANGE_DESCRIPTORS).unwrap_or_default(),
        times_not_seen: recorder.is_some_and(|recorder| recorder == note_key::NOTIFY),
        cpu_us: cpu,
        cpu_unattributed_us: cpu.map(|cpu| cpu - attributed),
        tasks,
        nodes: nodes_with_tasks(run, &rows)?,
        jobs_not_recorded: header.note(&note_key::JOBS_NOT_RECORDED).unwrap_or_default(),
        machines: Vec::new(),
        advice: None,
    };
    let count = summary.tasks.iter().filter(|t| !t.driver).map(|t| t.count).sum();
    summary.verdict = (count > 0)
        .then(|| StorageVerdict::from_time_split(&time, count, summary.hidden, &summary.classes));
    let evidence = Evidence {
        summary: &summary,
        ops: &lines_by_class(&ops, &classes),
        files: &opened.file_uses(),
        classes: &classes,
        disk: busiest_disk(&samples, wall),
        parallel: ratio_or_zero(busy, wall).max(1.0),
    };
    summary.advice = advice::best_advice(&evidence);
    Ok(summary)
}

/// The nodes of a joined run, and what ran on each.
fn nodes_with_tasks(run: &Run, rows: &[TaskRow]) -> Result<Vec<NodeSummary>> {
    let nodes = run.nodes()?.into_iter().map(|node| {
        let here =
            || rows.iter().filter(|task| !task.driver && task.node.as_deref() == Some(&*node.name));
        let wall = |task: &TaskRow| Some(task.ended?.since(task.started?));
        NodeSummary {
            tasks: here().count() as u64,
            wall_us: here().filter_map(wall).sum(),
            clock_shift_us: node.clock_shift_us,
            name: node.name.clone(),
        }
    });
    Ok(nodes.collect())
}

/// A share between 0 and 1.
fn capped_ratio(part: Micros, whole: Micros) -> f64 {
    ratio_or_zero(part, whole).min(1.0)
}

fn ratio_or_zero(part: Micros, whole: Micros) -> f64 {
    if whole.0 == 0 { 0.0 } else { part.0 as f64 / whole.0 as f64 }
}

/// The time that samples stand for: they may go on after the command, while its children do.
fn sampled_span(samples: &[MachineSample], wall: Micros) -> Option<Micros> {
    let span = samples.last()?.at.max(wall);
    (span >= SAMPLED_MIN).then_some(span)
}

fn pressure_share(samples: &[MachineSample], wall: Micros) -> Option<f64> {
    let span = sampled_span(samples, wall)?;
    let some = samples.iter().map(|s| s.pressure.map(|p| p.some)).sum::<Option<Micros>>()?;
    Some(capped_ratio(some, span))
}

fn busiest_disk(samples: &[MachineSample], wall: Micros) -> Option<Disk> {
    let span = sampled_span(samples, wall)?;
    let mut disks: BTreeMap<&str, (Micros, u64)> = BTreeMap::new();
    for device in samples.iter().flat_map(|sample| &sample.devices) {
        let (busy, bytes) = disks.entry(&device.name).or_default();
        *busy += device.busy;
        *bytes += device.read.0 + device.written.0;
    }
    let (name, (busy, bytes)) = disks.into_iter().max_by_key(|(_, (busy, _))| *busy)?;
    Some(Disk { name: name.to_owned(), busy_share: capped_ratio(busy, span), bytes: bytes.into() })
}

fn costliest_classes(
    ops: &[OpRow],
    classes: &HashMap<u32, String>,
    opened: &OpenFileSums,
) -> Vec<ClassSummary> {
    let mut by_class: BTreeMap<u32, (u64, Micros, BTreeMap<&str, Micros>)> = BTreeMap::new();
    for row in ops {
        let (count, time, kinds) = by_class.entry(row.class.0).or_default();
        *count += row.count;
        *time += row.time;
        *kinds.entry(row.kind.name()).or_default() += row.time;
    }
    let files = opened.files_by_class();
    let mut rows: Vec<ClassSummary> = by_class
        .into_iter()
        .map(|(class, (operations, time_us, kinds))| ClassSummary {
            // The covered directory itself has no name in its tree.
            pattern: classes.get(&class).filter(|p| !p.is_empty()).cloned().unwrap_or(".".into()),
            files: files.get(&class).copied().unwrap_or(0),
            operations,
            time_us,
            mostly: kinds
                .into_iter()
                .max_by_key(|(_, time)| *time)
                .map_or(String::new(), |(op, _)| op.to_owned()),
        })
        .collect();
    rows.sort_by(|a, b| b.time_us.cmp(&a.time_us).then_with(|| a.pattern.cmp(&b.pattern)));
    rows.truncate(5);
    rows
}

fn costliest_op(ops: &[OpRow]) -> Option<OpSummary> {
    let all: Micros = ops.iter().map(|row| row.time).sum();
    let mut kinds: BTreeMap<_, (u64, Micros)> = BTreeMap::new();
    for row in ops {
        let (count, time) = kinds.entry(&row.kind).or_default();
        *count += row.count;
        *time += row.time;
    }
    let (kind, (count, time_us)) = kinds.into_iter().max_by_key(|(_, (_, time))| *time)?;
    Some(OpSummary {
        op: kind.name().to_owned(),
        size_class: kind.size_name().map(str::to_owned),
        pattern: kind.pattern_name().map(str::to_owned),
        group: kind.op().map(Op::group),
        count,
        time_us,
        share: capped_ratio(time_us, all),
    })
}

/// Operations by class and kind, without tasks and trees.
fn lines_by_class(ops: &[OpRow], classes: &HashMap<u32, String>) -> Vec<OpLine> {
    let mut sums: BTreeMap<_, (u64, Micros, u64)> = BTreeMap::new();
    for row in ops {
        let (count, time, bytes) = sums.entry((row.class.0, &row.kind)).or_default();
        *count += row.count;
        *time += row.time;
        *bytes += row.bytes.0;
    }
    sums.into_iter()
        .map(|((class, kind), (count, time, bytes))| OpLine {
            class,
            name: classes.get(&class).cloned().unwrap_or_default(),
            op: kind.name().to_owned(),
            size: kind.size_name().unwrap_or_default().to_owned(),
            pattern: kind.pattern_name().unwrap_or_default().to_owned(),
            count,
            time,
            bytes,
        })
        .collect()
}
