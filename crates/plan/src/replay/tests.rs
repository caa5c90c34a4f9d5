//! If these fail, a replay does other work than the run, or in an order in which it can't be done.

use super::*;
use crate::loaded_run::LoadedOpen;
use forebay_model::run::{IoWait, OpKind, OpRow, ProcessRow, TaskRow};
use forebay_model::{
    ClassId, DirectoryTree, FileId, FileRecord, IoCount, Micros, Op, OpenSession, ProcessId, TreeId,
};

fn secs(seconds: f64) -> Micros {
    Micros((seconds * 1e6).round() as u64)
}

/// A run of one directory, in which each task is one process of the same number.
#[derive(Default)]
struct Story {
    rows: LoadedRun,
    opens: Vec<OpenRow>,
}

impl Story {
    fn new(tasks: &[(u32, f64, f64)]) -> Self {
        let mut story = Self::default();
        for &(id, start, end) in tasks {
            let (started, ended) = (Some(secs(start)), Some(secs(end)));
            story.rows.tasks.push(task(id, started, ended));
            let (id, task) = (ProcessId(id), Some(id));
            let process = ProcessRow { id, task, started, ended, ..ProcessRow::default() };
            story.rows.processes.push(process);
        }
        let path = b"/data".to_vec();
        let fs_type = "ext4".to_owned();
        let (id, passthrough, device, tier) = (TreeId(0), false, None, None);
        story.rows.trees.push(DirectoryTree { id, path, fs_type, passthrough, device, tier });
        story.rows.complete = true;
        story
    }

    fn class(&mut self, path: &str) -> ClassId {
        let pattern = forebay_model::file_classes::class_of(path.as_bytes());
        let known = self.rows.classes.iter().find(|(_, name)| **name == pattern);
        let id = known.map_or(self.rows.classes.len() as u32, |(id, _)| *id);
        self.rows.classes.insert(id, pattern);
        ClassId(id)
    }

    fn file(&mut self, path: &str) -> FileId {
        if let Some(file) = self.rows.files.iter().find(|f| f.path == path.as_bytes()) {
            return file.id;
        }
        let id = FileId(self.rows.files.len() as u32);
        let (class, path) = (self.class(path), path.as_bytes().to_vec());
        self.rows.files.push(FileRecord { id, tree: TreeId(0), path, class, home: None });
        id
    }

    /// `wrote` or read so much between two moments, in pieces of 1,000 bytes.
    fn open(&mut self, who: u32, path: &str, from: f64, to: f64, wrote: Option<u64>, read: u64) {
        let io = |bytes: u64| Some(IoCount { bytes: bytes.into(), calls: bytes / 1_000 });
        let open = OpenSession {
            process: ProcessId(who),
            file: self.file(path),
            write: wrote.is_some(),
            created: wrote.is_some(),
            opened: secs(from),
            closed: Some(secs(to)),
            read: io(read),
            wrote: io(wrote.unwrap_or(0)),
            size_at_open: Some(if wrote.is_some() { 0 } else { read }.into()),
            size_at_close: Some(wrote.unwrap_or(read).into()),
            hidden: false,
            copy: None,
        };
        self.rows.opens.push(LoadedOpen {
            task: Some(who),
            file: open.file,
            write: open.write,
            created: open.created,
            at: open.opened,
            read: Some(read),
            wrote,
            size_before: open.size_at_open.map(ByteCount::get),
            size_after: open.size_at_close.map(ByteCount::get),
            ..LoadedOpen::default()
        });
        self.opens.push(OpenRow { task: Some(who), open });
    }

    fn ops(&mut self, who: u32, path: &str, op: Op, count: u64) {
        let class = self.class(path);
        self.rows.ops.push(OpRow {
            task: Some(who),
            tree: TreeId(0),
            class,
            kind: OpKind::from_names(op.name().to_owned(), None, None),
            count,
            failed: 0,
            time: Micros::ZERO,
            bytes: ByteCount::ZERO,
        });
    }

    fn script(&self) -> ReplayScript {
        script_from_rows(&self.rows, &self.opens).expect("it can be replayed")
    }
}

fn task(id: u32, started: Option<Micros>, ended: Option<Micros>) -> TaskRow {
    TaskRow {
        node: None,
        id,
        name: format!("t{id}"),
        engine: "processes".to_owned(),
        key: None,
        driver: false,
        started,
        ended,
        exit_status: Some(0),
        processes: 1,
        cpu_user: None,
        cpu_system: None,
        rchar_upper: None,
        wchar_upper: None,
        waited: Some(Micros::ZERO),
        cores: None,
        memory: None,
        cpu_wait: None,
        memory_peak: None,
    }
}

fn steps(script: &ReplayScript) -> impl Iterator<Item = &ReplayStep> {
    script.lanes.iter().flat_map(|lane| &lane.steps)
}

fn moved(script: &ReplayScript, path: &str) -> (u64, u64) {
    let opens = |step: &&ReplayStep| matches!(&step.act, ReplayAction::Open(_, name, _) if name == path.as_bytes());
    let Some(ReplayAction::Open(session, ..)) = steps(script).find(opens).map(|step| &step.act)
    else {
        panic!("{path} is not opened");
    };
    let parts = steps(script).filter_map(|step| match &step.act {
        ReplayAction::Read(of, moved) | ReplayAction::Write(of, moved) if of == session => {
            Some(*moved)
        }
        _ => None,
    });
    parts.fold((0, 0), |sum, part| (sum.0 + part.bytes, sum.1 + part.calls))
}

#[test]
fn all_bytes_and_calls_come_in_some_piece() {
    let mut story = Story::new(&[(1, 0.0, 100.0)]);
    story.open(1, "long", 1.0, 99.0, Some(1_234_567), 0);
    story.open(1, "short", 2.0, 2.01, None, 7_001);
    story.open(1, "few", 3.0, 90.0, Some(3_000), 0);
    let script = story.script();
    assert_eq!(moved(&script, "long"), (1_234_567, 1_234));
    assert_eq!(moved(&script, "short"), (7_001, 7));
    assert_eq!(moved(&script, "few"), (3_000, 3));
    assert_eq!(script.inputs, [(b"short".to_vec(), ByteCount(7_001))]);
    assert_eq!(script.room, ByteCount(1_234_567 + 7_001 + 3_000));
}

#[test]
fn who_reads_waits_for_who_wrote() {
    let mut story = Story::new(&[(1, 0.0, 10.0), (2, 5.0, 20.0)]);
    story.open(1, "a", 1.0, 6.0, Some(5_000), 0);
    story.open(2, "a", 7.0, 8.0, None, 5_000);
    let script = story.script();
    let waits: Vec<_> = steps(&script).filter_map(|step| step.wait).collect();
    // Made, and closed; the file is no input, and both tasks run at once.
    assert_eq!(waits, [NamePrecondition { name: 0, changes: 2, opens: 0 }]);
    assert!(script.inputs.is_empty());
    assert_eq!(script.slots, 2);
}

#[test]
fn tasks_follow_those_whose_files_they_read() {
    let mut story = Story::new(&[(1, 0.0, 10.0), (2, 10.5, 20.0), (3, 0.0, 10.0)]);
    story.open(1, "a", 1.0, 6.0, Some(5_000), 0);
    story.open(3, "b", 1.0, 6.0, Some(5_000), 0);
    story.open(2, "a", 11.0, 12.0, None, 5_000);
    let script = story.script();
    // The first turn is what came before all tasks, the last what came after.
    let after: Vec<_> = script.turns.iter().map(|go| go.after.clone()).collect();
    assert_eq!(after, [vec![], vec![0], vec![0], vec![1, 0], vec![0, 1, 2, 3]]);
}

#[test]
fn a_file_is_renamed_after_it_was_written_and_removed_after_it_was_read() {
    let mut story = Story::new(&[(1, 0.0, 10.0), (2, 11.0, 20.0)]);
    story.open(1, "out/1.bam", 1.0, 2.0, Some(5_000), 0);
    story.open(2, "out/1.bam", 12.0, 19.0, None, 5_000);
    story.ops(1, "out/1.bam", Op::Rename, 1);
    story.ops(2, "out/1.bam", Op::Unlink, 1);
    story.rows.gone = [(FileId(0), secs(13.0))].into();
    let script = story.script();
    let acts: Vec<_> = steps(&script).map(|step| &step.act).collect();
    let before = b"out/1.bam.before-0".to_vec();
    let at = |act: &ReplayAction| acts.iter().position(|other| *other == act).expect("it is done");
    let how = OpenMode { read: false, write: true, create: true, truncate: false };
    let made = at(&ReplayAction::Open(0, before.clone(), how));
    let renamed = at(&ReplayAction::Rename(before, b"out/1.bam".to_vec()));
    let gone = at(&ReplayAction::Unlink(b"out/1.bam".to_vec()));
    assert!(made < renamed && renamed < gone, "{acts:?}");
    let wait = steps(&script)
        .find(|step| matches!(step.act, ReplayAction::Unlink(_)))
        .expect("there")
        .wait;
    assert_eq!(wait, Some(NamePrecondition { name: 0, changes: 3, opens: 2 }));
}

#[test]
fn who_waits_for_a_child_thinks_nothing() {
    let mut story = Story::new(&[(1, 0.0, 10.0)]);
    let started = Some(secs(2.0));
    let child = ProcessRow {
        id: ProcessId(7),
        parent: Some(ProcessId(1)),
        task: Some(1),
        started,
        ended: Some(secs(8.0)),
        ..ProcessRow::default()
    };
    story.rows.processes.push(child);
    story.open(1, "a", 1.0, 1.5, Some(1_000), 0);
    story.open(7, "b", 3.0, 4.0, Some(1_000), 0);
    story.opens[1].task = Some(1);
    story.rows.waited = [(ProcessId(7), IoWait { nanos: 3_000_000_000, requests: 1 })].into();
    let script = story.script();
    let think =
        |lane: usize| -> f64 { script.lanes[lane].steps.iter().map(|step| step.think.get()).sum() };
    // Lanes: before all, the task, the parent, the child that waited for 3 of its 6 seconds, after.
    // A task starts within a hundredth of a second.
    let thinks: Vec<f64> = (1..4).map(|lane| (think(lane) * 1e6).round() / 1e6).collect();
    assert_eq!(thinks, [0.0, 3.99, 3.0]);
    let parent: Vec<_> = script.lanes[2].steps.iter().map(|step| &step.act).collect();
    assert!(
        parent.contains(&&ReplayAction::Start(3)) && parent.contains(&&ReplayAction::Join(3)),
        "{parent:?}"
    );
}

#[test]
fn no_run_can_name_what_is_outside() {
    let mut story = Story::new(&[(1, 0.0, 10.0)]);
    story.open(1, "../../etc/passwd", 1.0, 1.5, Some(1_000), 0);
    story.open(1, "/etc/./shadow", 2.0, 2.5, Some(1_000), 0);
    story.open(1, "..", 3.0, 3.5, None, 1_000);
    let script = story.script();
    let mut names: Vec<_> = steps(&script)
        .filter_map(|step| match &step.act {
            ReplayAction::Open(_, path, _) => Some(String::from_utf8_lossy(path).into_owned()),
            _ => None,
        })
        .collect();
    names.sort();
    assert_eq!(names, ["etc/shadow", "up", "up/up/etc/passwd"]);
}

#[test]
fn operations_are_as_many_as_were_counted_but_for_those_that_come_by_themselves() {
    let mut story = Story::new(&[(1, 0.0, 10.0)]);
    for file in ["out/1", "out/2", "out/3"] {
        story.open(1, file, 1.0, 2.0, Some(1_000), 0);
    }
    story.ops(1, "out/1", Op::Create, 3);
    story.ops(1, "out/1", Op::LookupFailed, 10);
    story.ops(1, "out/1", Op::Fsync, 6);
    story.ops(1, "out", Op::Getattr, 8);
    story.ops(1, "out/1", Op::Xattr, 2);
    let script = story.script();
    let count =
        |fits: fn(&ReplayAction) -> bool| steps(&script).filter(|step| fits(&step.act)).count();
    assert_eq!(
        count(|act| matches!(act, ReplayAction::LookInVain(_))),
        7,
        "three came before the files"
    );
    assert_eq!(count(|act| matches!(act, ReplayAction::Sync(_))), 6);
    assert_eq!(
        count(|act| matches!(act, ReplayAction::AttributesOf(_))),
        5,
        "three after they were made"
    );
    assert!(script.notes.iter().any(|note| note.contains("2 × xattr")), "{:?}", script.notes);
}

#[test]
fn a_run_without_files_is_refused() {
    let story = Story::new(&[(1, 0.0, 10.0)]);
    let why = script_from_rows(&story.rows, &story.opens).expect_err("there is nothing");
    assert!(why.contains("nothing to replay"), "{why}");
}
