//! If these fail, a user is sent the wrong way by the one sentence that everybody reads.

use super::*;
use crate::summary::{OutsideSummary, TaskSummary, UnseenProgram};

const TRINITY: &str = "out/read_partitions/Fb_#/CBin_#/c#.trinity.reads.fa.out";

fn line(class: u32, name: &str, op: &str, count: u64, time_ms: u64, bytes: u64) -> OpLine {
    let data = op == "write";
    OpLine {
        class,
        name: name.into(),
        op: op.into(),
        size: if data { "4K" } else { "" }.into(),
        pattern: if data { "sequential" } else { "" }.into(),
        count,
        time: Micros(time_ms * 1000),
        bytes,
    }
}

fn summary() -> Summary {
    let task = TaskSummary { name: "bwa mem".into(), count: 6, ..TaskSummary::default() };
    Summary {
        wall_us: Micros::from_secs(100),
        waited_share: Some(0.3),
        tasks: vec![task],
        ..Summary::default()
    }
}

struct Case {
    summary: Summary,
    ops: Vec<OpLine>,
    files: Vec<FileUse>,
    disk: Option<Disk>,
}

impl Case {
    fn new(ops: Vec<OpLine>) -> Self {
        Self { summary: summary(), ops, files: Vec::new(), disk: None }
    }

    fn best(&self) -> (String, String) {
        let classes = self.ops.iter().map(|line| (line.class, line.name.clone())).collect();
        let evidence = Evidence {
            summary: &self.summary,
            ops: &self.ops,
            files: &self.files,
            classes: &classes,
            disk: self.disk.clone(),
            parallel: 2.0,
        };
        let advice = best_advice(&evidence).unwrap_or(Advice {
            rule: "none".into(),
            saves_us: None,
            sentence: String::new(),
        });
        (advice.rule, advice.sentence)
    }
}

fn files(count: u64, class: u32, bytes: u64) -> Vec<FileUse> {
    let file = FileUse {
        path: "ref/genome.fa".into(),
        tasks: 1,
        size: Some(ByteCount(bytes)),
        read: ByteCount(0),
        class,
        created: true,
    };
    vec![file; count as usize]
}

#[test]
fn what_was_not_seen_is_no_reason_for_advice() {
    // Simulated and imported runs have no operations, and sizes only where somebody told them.
    let mut small = Case::new(vec![]);
    small.files = files(3492, 1, 0);
    assert_eq!(small.best().0, "none");
    small.files.iter_mut().for_each(|file| file.size = None);
    assert_eq!(small.best().0, "none");
    let mut rereads = Case::new(vec![]);
    rereads.files = files(1, 1, 3 << 30);
    (rereads.files[0].tasks, rereads.files[0].read) = (24, ByteCount(72 << 30));
    assert_eq!(rereads.best().0, "none", "nothing says that a copy saves time");
}

/// Each rule with a case in which it speaks, and what it says.
fn cases() -> Vec<(&'static str, Case, &'static str)> {
    let mut not_seen = Case::new(vec![]);
    not_seen.summary.not_seen = vec![UnseenProgram { program: "sbatch".into(), count: 28 }];
    let mut outside = Case::new(vec![]);
    outside.summary.outside = OutsideSummary {
        bytes: ByteCount(3 << 30),
        share: Some(0.6),
        at: Some("/data/ref".into()),
        ..OutsideSummary::default()
    };
    let library = format!("{TRINITY}/libstdc++.so.#");
    let mut small_files = Case::new(vec![line(1, TRINITY, "create", 3492, 20_000, 0)]);
    small_files.files = files(3492, 1, 2150);
    let mut rereads = Case::new(vec![line(1, "ref/genome.fa", "read", 9000, 60_000, 0)]);
    rereads.files = files(1, 1, 3 << 30);
    (rereads.files[0].tasks, rereads.files[0].read) = (24, ByteCount(72 << 30));
    let mut disk = Case::new(vec![]);
    disk.disk = Some(Disk { name: "vda".into(), busy_share: 0.92, bytes: ByteCount(30 << 30) });
    let mut idle = Case::new(vec![line(1, "a", "write", 9, 100, 9)]);
    idle.summary.waited_share = Some(0.001);
    vec![
        (
            "not_seen",
            not_seen,
            "Work was handed over 28 times (sbatch) to where this run could not look: start \
             `forebay run` inside the job, or let the engine run its tasks locally.",
        ),
        (
            "outside",
            outside,
            "At least 3.0 GiB (60 % of the bytes) moved outside the managed directory: run again \
             with `--at /data/ref` to see them too.",
        ),
        (
            "libraries",
            Case::new(vec![line(1, &library, "lookup_failed", 113_551, 24_000, 0)]),
            "Programs searched the data directory 113,551 times for shared libraries that are not \
             there, because LD_LIBRARY_PATH starts or ends with an empty entry: `export \
             LD_LIBRARY_PATH=/usr/lib` before the run saves about 12.0 s.",
        ),
        (
            "fsyncs",
            Case::new(vec![
                line(1, "markdup/#.metrics", "fsync", 108, 9_000, 0),
                line(1, "markdup/#.metrics", "write", 108, 20, 1188),
                line(2, "map/#.bam", "fsync", 22, 1_000, 0),
            ]),
            "Tasks waited 10.0 s for 130 fsyncs, most for `markdup/#.metrics` (108, one for every \
             11 B written): such files are best on node-local storage, where a sync costs \
             microseconds.",
        ),
        (
            "small_files",
            small_files,
            "The run made 3,492 small files (2.1 KiB on average, 3,492 of them \
             `out/read_partitions/Fb_#/CBin_#/c#.trinity.reads.fa.out`), and their names alone \
             took 20.0 s: keep them on node-local storage.",
        ),
        (
            "small_writes",
            Case::new(vec![line(1, "map/#.sam", "write", 3302, 16_000, 13_500_000)]),
            "`map/#.sam` is written in 3,302 pieces of at most 4 KiB (12.9 MiB in 16.0 s): a \
             larger output buffer, or a pipe through `dd obs=1M`, saves about 7.5 s.",
        ),
        (
            "rereads",
            rereads,
            "24 tasks read `ref/genome.fa` (3.0 GiB), 72.0 GiB in all: a copy on node-local \
             storage is fetched once.",
        ),
        (
            "disk",
            disk,
            "Disk vda was busy 92 % of the time at 307 MiB/s: move the intermediate files to a \
             faster or a second disk.",
        ),
        (
            "not_storage",
            idle,
            "Storage is not the bottleneck: tasks waited for it less than 1 % of their time; look at \
             the CPU work of `bwa mem` and at how many run at a time.",
        ),
    ]
}

#[test]
fn every_rule_has_a_case_in_which_it_speaks_one_sentence() {
    let cases = cases();
    for rule in RULES {
        let (_, case, sentence) =
            cases.iter().find(|(name, ..)| *name == rule.name).expect("a case for each rule");
        assert_eq!(case.best(), (rule.name.to_owned(), (*sentence).to_owned()));
        assert!(sentence.ends_with('.') && !sentence.contains(". "), "{sentence}");
    }
    assert_eq!(RULES.len(), cases.len());
}

#[test]
fn what_saves_more_speaks_first() {
    let mut case = Case::new(vec![
        line(1, "a/libm.so.#", "lookup_failed", 5_000, 1_000, 0),
        line(2, "b/#.metrics", "fsync", 500, 30_000, 0),
    ]);
    assert_eq!(case.best().0, "fsyncs");
    case.ops[0].time = Micros::from_secs(90);
    assert_eq!(case.best().0, "libraries");
}

#[test]
fn small_savings_give_way_to_the_good_news() {
    let mut case = Case::new(vec![line(1, "b/#.metrics", "fsync", 500, 1_000, 0)]);
    case.summary.waited_share = Some(0.01);
    assert_eq!(case.best().0, "not_storage");
}

#[test]
fn no_good_news_from_what_was_not_seen() {
    let mut case = Case::new(vec![]);
    case.summary.waited_share = Some(0.01);
    case.summary.hidden = true;
    assert_eq!(case.best().0, "none");
    case.summary.pressure_share = Some(0.4);
    assert_eq!(case.best().0, "none");
    case.summary.pressure_share = Some(0.02);
    assert_eq!(case.best().0, "not_storage");
}

#[test]
fn libraries_at_home_are_nobodys_fault() {
    let case = Case::new(vec![line(1, "env/lib/libz.so.#", "lookup_failed", 5_000, 50_000, 0)]);
    assert_eq!(case.best().0, "none");
}

#[test]
fn counts_are_grouped() {
    for (count, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
        assert_eq!(group_thousands(count), text);
    }
}
