//! If these fail, the table at the end of a run does not add up.

use super::*;
use crate::event::{ClassId, FileId, TreeId};
use crate::{
    AccessPattern, DirectoryTree, Fact, FileRecord, Header, IoCount, Op, OpCount, OpDelta, OpKey,
    OpenSession, OutsideFile, Process, ProcessCounters, ProcessId, ProcessIo, RunEnd, RunWriter,
};
use std::collections::BTreeMap;

fn process(id: u32, parent: Option<u32>, words: &[&str], until_s: u64) -> Vec<Fact> {
    let io = ProcessIo { rchar: ByteCount(5000), wchar: ByteCount(6000), ..ProcessIo::default() };
    vec![
        Fact::Process(Process {
            id: ProcessId(id),
            pid: id,
            parent: parent.map(ProcessId),
            started: Micros::from_secs(1),
            argv: words.iter().map(|w| w.as_bytes().to_vec()).collect(),
            exe: None,
            cwd: Some(b"/p".to_vec()),
        }),
        Fact::ProcessCounters(ProcessCounters {
            id: ProcessId(id),
            at: Micros::from_secs(until_s),
            user: Micros::from_secs(2),
            system: Micros::ZERO,
            children_user: Micros::ZERO,
            children_system: Micros::ZERO,
            io: (id > 1).then_some(io),
        }),
        Fact::ProcessEnded { id: ProcessId(id), at: Micros::from_secs(until_s) },
    ]
}

fn open(process: u32, file: u32, read: Option<u64>, wrote: Option<u64>, hidden: bool) -> Fact {
    let io = |bytes: u64| IoCount { bytes: ByteCount(bytes), calls: 1 };
    Fact::Open(OpenSession {
        process: ProcessId(process),
        file: FileId(file),
        write: wrote.is_some() || hidden,
        created: false,
        opened: Micros::from_secs(2),
        closed: Some(Micros::from_secs(3)),
        read: read.map(io),
        wrote: wrote.map(io),
        size_at_open: Some(ByteCount(100)),
        size_at_close: Some(ByteCount(700)),
        hidden,
        copy: None,
    })
}

/// A hidden read, or one that was seen, from a copy on a tier.
fn copied(tree: u16, read: Option<u64>) -> Fact {
    let Fact::Open(open) = open(2, 1, read, None, read.is_none()) else { unreachable!() };
    Fact::Open(OpenSession { write: false, copy: Some(TreeId(tree)), ..open })
}

fn file(id: u32, path: &str) -> Fact {
    Fact::File(FileRecord {
        id: FileId(id),
        tree: TreeId(0),
        path: path.into(),
        class: ClassId(0),
        home: None,
    })
}

fn ops(process: u32, key: OpKey, count: u64, ms: u64) -> Fact {
    let count = OpCount { count, nanos: ms * 1_000_000, bytes: 0, failed: 0 };
    let (class, tree) = (ClassId(0), TreeId(0));
    Fact::Ops(OpDelta { process: Some(ProcessId(process)), class, tree, key, count })
}

fn summary(more: Vec<Fact>) -> Summary {
    with_run(more, |run| Summary::from_run(run).expect("added up"))
}

fn with_run<T>(more: Vec<Fact>, look: impl FnOnce(&Run) -> T) -> T {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.run");
    let mut writer = RunWriter::create(&path, Header::default()).expect("a run");
    let mut facts = vec![
        Fact::Tree(DirectoryTree {
            id: TreeId(0),
            path: b"/p".to_vec(),
            fs_type: "ext4".into(),
            passthrough: true,
            device: None,
            tier: None,
        }),
        Fact::Class { id: ClassId(0), pattern: "map/#.sam".into() },
        file(1, "map/1.sam"),
        file(2, "map/2.sam"),
    ];
    facts.extend(process(1, None, &["bash", "run.sh"], 50));
    facts.extend(process(2, Some(1), &["bwa", "mem"], 11));
    facts.extend(process(3, Some(1), &["bwa", "mem"], 31));
    facts.extend(process(4, Some(1), &["sort"], 2));
    facts.extend(more);
    facts.push(Fact::Ended(RunEnd {
        at: Micros::from_secs(60),
        exit: Some(CommandExit::Code(0)),
        cpu_user: Some(Micros::from_secs(9)),
        cpu_system: Some(Micros::from_secs(1)),
        complete: true,
    }));
    writer.write_facts(&facts).expect("facts");
    writer.finish_run().expect("folded");
    look(&Run::open(&path).expect("readable"))
}

#[test]
fn each_task_has_its_part_of_the_sums_and_of_tiers() {
    let tier = |id: u16| {
        Fact::Tree(DirectoryTree {
            id: TreeId(id),
            path: format!("/nvme/{id}").into_bytes(),
            fs_type: "xfs".into(),
            passthrough: false,
            device: None,
            tier: Some("nvme".into()),
        })
    };
    let on_tier = |tree: u16, key, bytes| {
        let count = OpCount { count: 3, nanos: 1_000, bytes, failed: 2 };
        let (class, tree) = (ClassId(0), TreeId(tree));
        Fact::Ops(OpDelta { process: Some(ProcessId(2)), class, tree, key, count })
    };
    let lives_on_tier = Fact::File(FileRecord {
        id: FileId(3),
        tree: TreeId(0),
        path: b"map/3.sam".to_vec(),
        class: ClassId(0),
        home: Some(TreeId(1)),
    });
    let outside = |directory: &str| {
        Fact::Outside(OutsideFile {
            process: ProcessId(3),
            directory: directory.into(),
            bytes: ByteCount(70),
            write: false,
        })
    };
    let facts = vec![
        tier(1),
        tier(2),
        lives_on_tier,
        open(2, 1, Some(40), Some(500), false),
        open(2, 3, Some(4), Some(50), false),
        copied(2, Some(100)),
        open(3, 2, Some(2), None, false),
        on_tier(1, OpKey::without_bytes(Op::Open), 0),
        on_tier(2, OpKey::with_bytes(Op::Read, 1, AccessPattern::Sequential), 100),
        outside("/data"),
        outside("/usr/lib/x"),
    ];
    let (all, sums) = with_run(facts, |run| {
        (TaskFigures::of_run(run).expect("figures"), Summary::from_run(run).expect("sums"))
    });
    let [first, second] =
        &all.iter().filter(|one| one.task.name == "bwa mem").collect::<Vec<_>>()[..]
    else {
        panic!("two tasks: {all:?}")
    };
    assert_eq!((first.read.seen, first.written.seen), (Some(ByteCount(144)), Some(ByteCount(550))));
    assert_eq!((first.files, first.operations, first.failed_operations), (2, 6, 4));
    let nvme = TierFigures { read: ByteCount(104), written: ByteCount(50), operations: 6 };
    assert_eq!(first.tiers, BTreeMap::from([("nvme".to_owned(), nvme)]));
    assert_eq!((second.read.seen, second.tiers.len()), (Some(ByteCount(2)), 0));
    assert_eq!(
        (first.outside, second.outside),
        (ByteCount::ZERO, ByteCount(70)),
        "libraries are not"
    );
    let bwa = sums.tasks.iter().find(|task| task.name == "bwa mem").expect("the row");
    assert_eq!(bwa.operations, first.operations + second.operations);
    let at_least = |one: &TaskFigures| one.read.at_least + one.written.at_least;
    assert_eq!(bwa.read.at_least + bwa.written.at_least, at_least(first) + at_least(second));
}

#[test]
fn tasks_of_one_name_are_one_row_and_drivers_come_last() {
    let s = summary(vec![
        ops(2, OpKey::without_bytes(Op::Open), 5, 200),
        ops(3, OpKey::with_bytes(Op::Write, 1, AccessPattern::Sequential), 7, 4_000),
        open(2, 1, Some(40), Some(500), false),
        open(3, 1, Some(2), Some(0), false),
        open(3, 2, Some(0), Some(1), false),
    ]);
    let names: Vec<_> = s.tasks.iter().map(|t| (t.name.as_str(), t.count, t.driver)).collect();
    assert_eq!(names, [("bwa mem", 2, false), ("sort", 1, false), ("run.sh", 1, true)]);
    let bwa = &s.tasks[0];
    assert_eq!(bwa.wall_us, Some(Micros::from_secs(40)));
    assert_eq!(bwa.wall_median_us, Some(Micros::from_secs(20)));
    assert_eq!((bwa.files, bwa.operations, bwa.waited_us), (2, 12, Some(Micros(4_200_000))));
    assert_eq!((bwa.read.seen, bwa.written.seen), (Some(ByteCount(42)), Some(ByteCount(501))));
    assert_eq!(bwa.read.at_most, Some(ByteCount(10_000)));
    assert_eq!(s.waited_share.map(|x| (x * 1000.0).round()), Some(102.0), "4.2 of 41 s");
    assert_eq!(
        (s.wall_us, s.exit, s.hidden),
        (Micros::from_secs(60), Some(CommandExit::Code(0)), false)
    );
    assert_eq!(
        (s.cpu_us, s.cpu_unattributed_us),
        (Some(Micros(10_000_000)), Some(Micros(2_000_000)))
    );
    let costliest = s.costliest.expect("operations");
    assert_eq!((costliest.op.as_str(), costliest.count), ("write", 7));
    assert_eq!((s.classes[0].pattern.as_str(), s.classes[0].files), ("map/#.sam", 2));
    assert_eq!((s.files[0].path.as_str(), s.files[0].opens), ("map/1.sam", 2));
    assert_eq!((s.tiers[0].files, s.tiers[0].operations), (2, 12));
    assert_eq!(s.tiers[0].written.seen, Some(ByteCount(501)));
}

#[test]
fn what_was_read_from_a_copy_counts_for_its_tier() {
    let tier = |id, name: &str| {
        Fact::Tree(DirectoryTree {
            id: TreeId(id),
            path: b"/t".to_vec(),
            fs_type: "tmpfs".into(),
            passthrough: true,
            device: None,
            tier: Some(name.to_owned()),
        })
    };
    let s = summary(vec![
        tier(1, "fast"),
        tier(2, "unused"),
        tier(3, "past"),
        open(2, 1, Some(40), None, false),
        copied(1, Some(100)),
        copied(1, Some(50)),
        copied(3, None),
    ]);
    let row = |at: usize| (s.tiers[at].files, s.tiers[at].read.seen);
    assert_eq!(row(0), (1, Some(ByteCount(40))), "the rest was not read there");
    assert_eq!(row(1), (1, Some(ByteCount(150))));
    assert_eq!(row(2), (0, Some(ByteCount(0))));
    assert_eq!(row(3), (1, None));
    assert_eq!(s.files[0].read.at_least, ByteCount(190), "the file has all that was read of it");
}

#[test]
fn what_went_past_is_not_seen_but_growth_is_known() {
    let s = summary(vec![open(2, 1, None, None, true), open(2, 2, Some(5), Some(9), false)]);
    let bwa = &s.tasks[0];
    assert!(s.hidden);
    assert_eq!((bwa.read.seen, bwa.read.at_least), (None, ByteCount(5)));
    assert_eq!((bwa.written.seen, bwa.written.at_least), (None, ByteCount(609)));
    assert_eq!(bwa.written.at_most, Some(ByteCount(12_000)));
    let driver = &s.tasks[2];
    assert_eq!((driver.read.seen, driver.read.at_most), (Some(ByteCount(0)), None));
}

#[test]
fn what_a_page_cache_may_have_served_is_not_seen_but_operations_moved_so_much() {
    let Fact::Open(read) = open(2, 1, None, None, false) else { unreachable!() };
    let moved = |bytes| {
        let count = OpCount { count: 2, nanos: 9, bytes, failed: 0 };
        let key = OpKey::with_bytes(Op::Read, 4096, AccessPattern::Sequential);
        let (process, class, tree) = (Some(ProcessId(2)), ClassId(0), TreeId(0));
        Fact::Ops(OpDelta { process, class, tree, key, count })
    };
    let s = summary(vec![Fact::Open(read.clone()), moved(640)]);
    let least = |amount: &ByteBounds| (amount.seen, amount.at_least.0);
    assert_eq!(least(&s.tasks[0].read), (None, 640));
    assert_eq!(least(&s.tiers[0].read), (None, 640));
    assert_eq!(least(&s.files[0].read), (None, 640), "the only file of its class");
    assert!(!s.hidden, "what was waited for was seen");
    // Of two files of a class nobody knows whose bytes they were.
    let other = OpenSession { file: FileId(2), ..read.clone() };
    let s = summary(vec![Fact::Open(read), Fact::Open(other), moved(640)]);
    assert_eq!(least(&s.files[0].read), (None, 0));
    assert_eq!(least(&s.tasks[0].read), (None, 640));
}

#[test]
fn others_are_in_no_figure_but_their_own() {
    let mut facts = process(5, None, &["collectd"], 9);
    facts.extend(process(6, Some(5), &["ls"], 9));
    facts.push(Fact::Stranger { id: ProcessId(5) });
    facts.extend([
        ops(2, OpKey::without_bytes(Op::Open), 1, 100),
        ops(6, OpKey::without_bytes(Op::Open), 3, 900),
    ]);
    facts.push(open(6, 1, Some(70 << 20), None, false));
    let s = summary(facts);
    let names: Vec<_> = s.tasks.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["bwa mem", "sort", "run.sh"]);
    assert_eq!(s.waited_us, Micros(100_000));
    let others = s.others.expect("they were there");
    assert_eq!((others.processes, others.operations), (2, 3));
    assert_eq!(others.waited_us, Micros(900_000));
    assert!(s.files.is_empty() && s.tiers[0].files == 0, "{:?}", s.files);
    assert_eq!(s.cpu_unattributed_us, Some(Micros(2_000_000)), "theirs is not the command's");
}

#[test]
fn outside_and_not_seen_are_told() {
    let mut facts = process(5, Some(1), &["sbatch", "x"], 2);
    facts.push(open(2, 1, Some(60 << 20), Some(0), false));
    facts.push(Fact::Outside(OutsideFile {
        process: ProcessId(2),
        directory: b"/data/ref/x".to_vec(),
        bytes: ByteCount(40 << 20),
        write: false,
    }));
    let s = summary(facts);
    assert_eq!(s.not_seen, [UnseenProgram { program: "sbatch".into(), count: 1 }]);
    assert_eq!(s.outside.at.as_deref(), Some("/data/ref"));
    assert_eq!(s.outside.share, Some(0.4));
    assert!(s.advice.is_some());
}

#[test]
fn the_json_says_null_for_what_was_not_seen() {
    let s = summary(vec![open(2, 1, None, None, true)]);
    let json = serde_json::to_value(&s).expect("JSON");
    assert_eq!(json["tasks"][0]["read"]["seen"], serde_json::Value::Null);
    assert_eq!(json["tasks"][0]["wall_us"], 40_000_000);
    assert_eq!(json["exit"]["code"], 0);
}

#[test]
fn an_empty_run_is_a_summary_too() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.run");
    let mut writer = RunWriter::create(&path, Header::default()).expect("a run");
    writer.finish_run().expect("folded");
    let s = Summary::from_run(&Run::open(&path).expect("readable")).expect("added up");
    assert_eq!(s, Summary::default());
}
