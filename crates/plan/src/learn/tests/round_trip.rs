//! Random work is written down as a run and learnt back, through the real file, whatever the seed.
use super::*;
use forebay_model::{
    Fact, Header, IoCount, OpCount, OpDelta, OpenSession, ReportedTask, RunOrigin, RunWriter,
};
use std::collections::BTreeSet;

/// Numbers that a seed gives.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// From 0 to below `sides`.
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A task as it was meant: what it reads (by the writer's number), computes, and writes.
pub(super) struct Meant {
    reads: BTreeSet<usize>,
    compute: f64,
    opens: u64,
    bytes: u64,
    end: f64,
}

const PRICE: f64 = 0.01;

/// Work on one slot for each task: each starts when all that it reads is there.
pub(super) fn meant(dice: &mut Dice) -> Vec<Meant> {
    let mut all: Vec<Meant> = Vec::new();
    for number in 0..2 + dice.roll(30) as usize {
        let mut reads = BTreeSet::new();
        for _ in 0..dice.roll(4).min(number as u64) {
            reads.insert(dice.roll(number as u64) as usize);
        }
        let (compute, opens) = (1.0 + dice.roll(50) as f64 / 10.0, 1 + dice.roll(200));
        let start = reads.iter().map(|&read| all[read].end).fold(0.0, f64::max) + 0.1;
        let end = start + compute + opens as f64 * PRICE;
        all.push(Meant { reads, compute, opens, bytes: dice.roll(1 << 20), end });
    }
    all
}

pub(super) fn written(all: &[Meant], path: &std::path::Path) {
    let header = Header { origin: RunOrigin::Simulated, cpus: Some(64), ..Header::default() };
    let mut facts = vec![
        Fact::Tree(Story::new(vec![]).rows.trees.remove(0)),
        Fact::Class { id: ClassId(0), pattern: "out/#".to_owned() },
    ];
    let key = OpKey::without_bytes(Op::Open);
    for (number, task) in all.iter().enumerate() {
        let process = ProcessId(number as u32 + 1);
        let start = task.end - task.compute - task.opens as f64 * PRICE;
        facts.push(Fact::Task(ReportedTask {
            process,
            name: format!("kind{}", number % 3),
            started: Some(secs(start)),
            ended: Some(secs(task.end)),
            ..ReportedTask::default()
        }));
        let id = FileId(number as u32);
        let path = format!("out/{number}").into_bytes();
        facts.push(Fact::File(FileRecord {
            id,
            tree: TreeId(0),
            path,
            class: ClassId(0),
            home: None,
        }));
        let open = |file: usize, made: bool| {
            let bytes = IoCount { bytes: ByteCount(all[file].bytes), calls: 1 };
            Fact::Open(OpenSession {
                process,
                file: FileId(file as u32),
                write: made,
                created: made,
                opened: secs(start + 0.01),
                closed: Some(secs(task.end)),
                read: Some(if made { IoCount::default() } else { bytes }),
                wrote: made.then_some(bytes),
                size_at_open: (!made).then_some(bytes.bytes),
                size_at_close: Some(bytes.bytes),
                hidden: false,
                copy: None,
            })
        };
        facts.extend(task.reads.iter().map(|&read| open(read, false)));
        facts.push(open(number, true));
        let nanos = (task.opens as f64 * PRICE * 1e9) as u64;
        let count = OpCount { count: task.opens, nanos, ..OpCount::default() };
        facts.push(Fact::Ops(OpDelta {
            process: Some(process),
            class: ClassId(0),
            tree: TreeId(0),
            key,
            count,
        }));
    }
    let mut writer = RunWriter::create(path, header).expect("a new run file");
    writer.write_facts(&facts).expect("written");
    writer.finish_run().expect("folded");
}

#[test]
fn what_was_meant_is_learnt() {
    for seed in 0..40 {
        let all = meant(&mut Dice(seed));
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.run");
        written(&all, &path);
        let run = forebay_model::Run::open(&path).expect("readable");
        let LearntRun { workload, storages, measured, .. } =
            learn_workload(&run).expect("it can be learnt");
        assert_eq!(learn_workload(&run).expect("again").workload, workload, "seed {seed}");
        // Tasks by what they write, for the engine's own stand between them and their order differs.
        let number = |task: &Task| -> Option<usize> {
            let accesses = &task.steps.last()?.accesses;
            let set = accesses.iter().find(|access| access.written > ByteCount::ZERO)?.files;
            let of = |meant: &Meant| ByteCount(meant.bytes) == workload.files[set.index()].bytes;
            let mut found = all.iter().enumerate().filter(|(_, meant)| of(meant)).map(|(n, _)| n);
            found.next().filter(|_| found.next().is_none())
        };
        let mut seen = 0;
        for task in &workload.tasks {
            let Some(number) = number(task) else { continue };
            seen += 1;
            let meant = &all[number];
            let step = task.steps.last().expect("a step");
            assert!((step.compute.get() - meant.compute).abs() < 1e-5, "seed {seed}: {number}");
            let read: u64 = step.accesses.iter().map(|access| access.read.get()).sum();
            assert_eq!(read, meant.reads.iter().map(|&read| all[read].bytes).sum::<u64>());
            let count: f64 =
                step.accesses.iter().flat_map(|access| &access.ops).map(|(_, count)| count).sum();
            assert!((count - meant.opens as f64).abs() < 1e-3, "seed {seed}: {count}");
            let after = task.after.iter().filter(|before| before.0 > 0).count();
            assert_eq!(after, meant.reads.len(), "seed {seed}: task {number}");
        }
        assert!(seen * 2 > all.len(), "seed {seed}: files of one size are few");
        let last = all.iter().map(|meant| meant.end).fold(0.0, f64::max);
        assert!((measured.makespan.get() - last).abs() < 1e-5);
        let price = storages[0].profile.operation_latency(OpKey::without_bytes(Op::Open)).get();
        assert!((price / PRICE - 1.0).abs() < 1e-3, "seed {seed}: {price}");
    }
}
