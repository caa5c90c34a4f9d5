//! If these fail, a plan is made for work that nobody does: edges, sizes or times are wrong.

mod damaged;
mod emptied;
mod round_trip;
mod way;

use super::*;
use crate::loaded_run::LoadedOpen;
use forebay_model::run::{IoWait, OpKind, OpRow, ProcessRow, TaskRow};
use forebay_model::workload::{DeletionPoint, FileSetId, TimePart};
use forebay_model::{
    AccessPattern, ByteCount, ClassId, DirectoryTree, FileId, FileRecord, Micros, Op, OpKey,
    ProcessId, RunEnd, TreeId,
};

pub(super) fn secs(seconds: f64) -> Micros {
    Micros((seconds * 1e6).round() as u64)
}

pub(super) fn task(id: u32, name: &str, start: f64, end: f64) -> TaskRow {
    TaskRow {
        node: None,
        id,
        name: name.to_owned(),
        engine: "processes".to_owned(),
        key: None,
        driver: false,
        started: Some(secs(start)),
        ended: Some(secs(end)),
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

/// A run of one covered directory, whose files and classes are made by name.
#[derive(Default)]
struct Story {
    rows: LoadedRun,
}

impl Story {
    fn new(tasks: Vec<TaskRow>) -> Self {
        let tree = DirectoryTree {
            id: TreeId(0),
            path: b"/data".to_vec(),
            fs_type: "ext4".to_owned(),
            passthrough: false,
            device: None,
            tier: None,
        };
        let last = tasks.iter().filter_map(|task| task.ended).max().unwrap_or_default();
        let ended =
            RunEnd { at: last, exit: None, cpu_user: None, cpu_system: None, complete: true };
        let rows = LoadedRun {
            tasks,
            trees: vec![tree],
            ended: Some(ended),
            complete: true,
            ..LoadedRun::default()
        };
        Self { rows }
    }

    fn class(&mut self, path: &str) -> ClassId {
        let pattern = forebay_model::file_classes::class_of(path.as_bytes());
        let known = self.rows.classes.iter().find(|(_, name)| **name == pattern);
        let id = known.map_or(self.rows.classes.len() as u32, |(id, _)| *id);
        self.rows.classes.insert(id, pattern);
        ClassId(id)
    }

    fn file(&mut self, path: &str) -> FileId {
        if let Some(file) = self.rows.files.iter().rev().find(|f| f.path == path.as_bytes()) {
            return file.id;
        }
        let id = FileId(self.rows.files.len() as u32);
        let class = self.class(path);
        let path = path.as_bytes().to_vec();
        self.rows.files.push(FileRecord { id, tree: TreeId(0), path, class, home: None });
        id
    }

    fn wrote(&mut self, task: u32, path: &str, at: f64, bytes: u64) -> &mut Self {
        let file = self.file(path);
        self.rows.opens.push(LoadedOpen {
            task: Some(task),
            file,
            write: true,
            created: true,
            at: secs(at),
            wrote: Some(bytes),
            read: Some(0),
            size_before: Some(0),
            size_after: Some(bytes),
            ..LoadedOpen::default()
        });
        self
    }

    fn read(&mut self, task: u32, path: &str, at: f64, bytes: u64) -> &mut Self {
        let file = self.file(path);
        self.rows.opens.push(LoadedOpen {
            task: Some(task),
            file,
            at: secs(at),
            read: Some(bytes),
            size_before: Some(bytes),
            size_after: Some(bytes),
            ..LoadedOpen::default()
        });
        self
    }

    fn ops(&mut self, task: u32, path: &str, key: OpKey, count: u64, time: f64) -> &mut Self {
        let class = self.class(path);
        self.rows.ops.push(OpRow {
            task: Some(task),
            tree: TreeId(0),
            class,
            kind: OpKind::Known(key),
            count,
            failed: 0,
            time: secs(time),
            bytes: ByteCount::ZERO,
        });
        if let Some(row) = self.rows.tasks.iter_mut().find(|row| row.id == task) {
            row.waited = Some(row.waited.unwrap_or_default() + secs(time));
        }
        self
    }

    /// A file was called otherwise first.
    fn renamed(&mut self, first: &str, last: &str) -> &mut Self {
        let (id, class) = (self.file(last), self.class(first));
        let path = first.as_bytes().to_vec();
        self.rows.first_names.push(FileRecord { id, tree: TreeId(0), path, class, home: None });
        self
    }

    fn learnt(&mut self) -> Workload {
        self.rows.opens.sort_by_key(|open| (open.at, open.file));
        let passing = PassingNames::join_names(&mut self.rows);
        learn_from_rows(&self.rows, &passing).expect("it can be learnt").workload
    }
}

fn after(work: &Workload, task: usize) -> Vec<u32> {
    work.tasks[task].after.iter().map(|task| task.0).collect()
}

fn set_of<'a>(work: &'a Workload, pattern: &str) -> &'a forebay_model::workload::FileSet {
    let of = |set: &&forebay_model::workload::FileSet| {
        work.classes[set.class.index()].pattern == pattern && set.bytes > ByteCount::ZERO
    };
    work.files.iter().find(of).expect(pattern)
}

#[test]
fn who_reads_waits_for_who_wrote_and_inputs_wait_for_nobody() {
    let mut story = Story::new(vec![
        task(1, "map", 0.0, 4.0),
        task(2, "map", 0.0, 5.0),
        task(3, "merge", 5.0, 9.0),
    ]);
    story.read(1, "in.fq", 0.1, 900).wrote(1, "map/1.bam", 0.2, 100);
    story.read(2, "in.fq", 0.1, 900).wrote(2, "map/2.bam", 0.2, 200);
    story.read(3, "map/1.bam", 5.1, 100).read(3, "map/2.bam", 5.2, 200);
    story.wrote(3, "all.bam", 5.3, 300);
    let work = story.learnt();
    assert_eq!([after(&work, 0), after(&work, 1), after(&work, 2)], [vec![], vec![], vec![0, 1]]);
    let names: Vec<_> = work.kinds.iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(names, ["map", "merge"]);
    let input = set_of(&work, "in.fq");
    assert_eq!((input.count, input.bytes, input.until), (1, ByteCount(900), DeletionPoint::End));
    assert_eq!(work.classes[set_of(&work, "map/#.bam").class.index()].example, b"map/1.bam");
    assert!(work.doubts.is_empty() || work.doubts[0].what.contains("no operations"));
}

#[test]
fn tasks_that_ran_at_the_same_time_wait_for_nothing() {
    let mut story = Story::new(vec![task(1, "bwa", 0.0, 9.0), task(2, "tee", 1.0, 9.5)]);
    story.wrote(1, "pipe", 0.5, 10).read(2, "pipe", 2.0, 10);
    assert_eq!(after(&story.learnt(), 1), Vec::<u32>::new());
}

#[test]
fn a_close_asks_the_storage_if_it_has_bytes_to_send_and_a_file_is_as_large_as_it_is() {
    let mut story = Story::new(vec![task(1, "megahit", 0.0, 9.0)]);
    story.wrote(1, "out/1", 0.1, 500).read(1, "in/2", 0.2, 300);
    // Read again and again.
    story.rows.opens[1].read = Some(90_000);
    for (path, op, count) in
        [("out/1", Op::Flush, 7), ("out/1", Op::Close, 1), ("in/2", Op::Flush, 4)]
    {
        story.ops(1, path, OpKey::without_bytes(op), count, 0.0);
    }
    let work = story.learnt();
    let closes: Vec<(String, f64)> = work.tasks[0].steps[0]
        .accesses
        .iter()
        .flat_map(|access| &access.ops)
        .filter(|(key, _)| matches!(key.op(), Op::Flush | Op::Close))
        .map(|(key, count)| (key.op().name().to_owned(), *count))
        .collect();
    let once = ["flush", "close"].map(|name| (name.to_owned(), 1.0));
    assert!(closes.len() == 2 && once.iter().all(|one| closes.contains(one)), "{closes:?}");
    assert_eq!(set_of(&work, "in/#").bytes, ByteCount(300));
}

#[test]
fn a_name_that_is_made_anew_is_another_file() {
    let mut story = Story::new(vec![
        task(1, "one", 0.0, 1.0),
        task(2, "use", 1.0, 2.0),
        task(3, "two", 2.0, 3.0),
        task(4, "use", 3.0, 4.0),
    ]);
    story.wrote(1, "tmp", 0.5, 5).read(2, "tmp", 1.5, 5);
    story.wrote(3, "tmp", 2.5, 7).read(4, "tmp", 3.5, 7);
    let work = story.learnt();
    assert_eq!([after(&work, 1), after(&work, 2), after(&work, 3)], [vec![0], vec![], vec![2]]);
    assert_eq!(work.files.len(), 2);
}

#[test]
fn what_is_told_counts_too_and_a_circle_is_named() {
    let mut story = Story::new(vec![task(1, "a", 0.0, 1.0), task(2, "b", 1.0, 2.0)]);
    // The clocks of two machines: what is told to be first began later.
    story.rows.waits = vec![(1, 2)];
    let work = story.learnt();
    assert_eq!(work.kinds[work.tasks[0].kind.index()].name, "b");
    assert_eq!(after(&work, 1), [0]);
    story.rows.waits.push((2, 1));
    let flaw = learn_from_rows(&story.rows, &PassingNames::default()).expect_err("a circle");
    assert_eq!(
        flaw,
        "tasks wait for each other in a circle, so none of them can start: task 1 (a), task 2 (b)"
    );
}

#[test]
fn where_nothing_says_it_times_do_with_a_doubt() {
    let named = |id, name, key: &str, start, end| TaskRow {
        key: (!key.is_empty()).then(|| key.to_owned()),
        ..task(id, name, start, end)
    };
    let mut story = Story::new(vec![
        named(1, "MAP", "s1", 0.0, 4.0),
        named(2, "MAP", "s2", 0.0, 5.0),
        named(3, "SORT", "s1", 4.0, 6.0),
        named(4, "SORT", "s2", 5.0, 7.0),
        named(5, "JOIN", "", 7.0, 9.0),
    ]);
    let work = story.learnt();
    let all: Vec<Vec<u32>> = (0..5).map(|task| after(&work, task)).collect();
    assert_eq!(all, [vec![], vec![], vec![0], vec![1], vec![2, 3]]);
    assert!(work.doubts[0].what.contains("guessed from times"));
    // Of two slots for nine seconds, fifteen were used.
    assert!((work.doubts[0].share - (1.0 - 15.0 / 18.0)).abs() < 1e-6, "{:?}", work.doubts);
}

#[test]
fn waits_for_storage_are_not_computing() {
    let open = OpKey::without_bytes(Op::Open);
    let mut row = task(1, "sort", 0.0, 10.0);
    row.cpu_user = Some(secs(5.0));
    let mut story = Story::new(vec![row]);
    story.read(1, "a.bam", 0.1, 50).ops(1, "a.bam", open, 300, 3.0);
    let work = story.learnt();
    assert!((work.tasks[0].steps[0].compute.get() - 7.0).abs() < 1e-6);
    assert_eq!(work.tasks[0].steps[0].accesses[0].ops, [(open, 300.0)]);
    // Threads that wait at once: the task can't have been blocked while it computed.
    story.ops(1, "a.bam", open, 700, 7.0);
    let work = story.learnt();
    assert!((work.tasks[0].steps[0].compute.get() - 5.0).abs() < 1e-6);
    let (_, count) = work.tasks[0].steps[0].accesses[0].ops[0];
    assert!((count - 500.0).abs() < 1e-6, "half of them were waited for: {count}");
    // Quick ones are a kernel's work as well: elsewhere all of them would be waits, and here they
    // and the computing are together what the task took.
    story.ops(1, "a.bam", open, 99_000, 0.0);
    let work = story.learnt();
    let (_, count) = work.tasks[0].steps[0].accesses[0].ops[0];
    assert!((count - 100_000.0).abs() < 1e-6, "{count}");
    let (compute, wall, waited) = (work.tasks[0].steps[0].compute.get(), 10.0, 10.0);
    assert!((compute + waited - wall).abs() < 1e-6, "{compute}");
}

#[test]
fn a_file_is_freed_by_its_last_user_or_with_its_class() {
    let mut story = Story::new(vec![
        task(1, "map", 0.0, 10.0),
        task(2, "sort", 10.0, 20.0),
        task(3, "map", 0.0, 10.0),
        task(4, "sort", 20.0, 300.0),
    ]);
    story.wrote(1, "a/1.sam", 1.0, 5).read(2, "a/1.sam", 11.0, 5);
    story.wrote(3, "a/2.sam", 1.0, 5).read(4, "a/2.sam", 21.0, 5);
    story.wrote(1, "b.log", 1.0, 5).wrote(4, "c.out", 50.0, 5);
    let times = [(0, 20.5), (1, 299.0), (2, 12.0)];
    story.rows.gone = times.map(|(file, at)| (FileId(file), secs(at))).into();
    let work = story.learnt();
    let until: Vec<DeletionPoint> = work.files.iter().map(|set| set.until).collect();
    let name = |task: TaskId| work.kinds[work.tasks[task.index()].kind.index()].name.as_str();
    let freed = |until: &DeletionPoint| match until {
        DeletionPoint::Task(task) | DeletionPoint::Step(task, _) => name(*task),
        DeletionPoint::End => "end",
    };
    assert_eq!(until.iter().map(freed).collect::<Vec<_>>(), ["sort", "sort", "map", "end"]);
    // Long after its last user: with the last of its class by then.
    assert_eq!(work.files[0].until, DeletionPoint::Task(TaskId(2)));
    story.rows.gone.insert(FileId(0), secs(300.0));
    let freed: Vec<DeletionPoint> = story.learnt().files.iter().map(|set| set.until).collect();
    assert_eq!(freed[0], DeletionPoint::Task(TaskId(3)));
}

#[test]
fn a_hundred_thousand_files_of_one_task_are_one_set() {
    let mut story = Story::new(vec![task(1, "scatter", 0.0, 9.0), task(2, "gather", 9.0, 19.0)]);
    let class = story.class("parts/1.txt");
    for number in 0..100_000u32 {
        let path = format!("parts/{number}.txt").into_bytes();
        let id = FileId(number);
        story.rows.files.push(FileRecord { id, tree: TreeId(0), path, class, home: None });
        let open = LoadedOpen { file: id, size_after: Some(10), ..LoadedOpen::default() };
        let at = secs(1.0 + f64::from(number) * 1e-5);
        let (write, created, wrote) = (true, true, Some(10));
        story.rows.opens.push(LoadedOpen { task: Some(1), write, created, wrote, at, ..open });
        let at = secs(10.0 + f64::from(number) * 1e-5);
        story.rows.opens.push(LoadedOpen { task: Some(2), read: Some(10), at, ..open });
    }
    let work = story.learnt();
    assert_eq!(work.files.len(), 1);
    assert_eq!((work.files[0].count, work.files[0].bytes), (100_000, ByteCount(1_000_000)));
    assert_eq!(work.tasks[1].after, [TaskId(0)]);
    assert_eq!(work.tasks[1].steps[0].accesses[0].files, FileSetId(0));
}

/// Search paths of interpreters: many look-ups, no file.
#[test]
fn names_that_nobody_opens_are_no_files() {
    let mut story = Story::new(vec![task(1, "python", 0.0, 5.0), task(2, "cat", 5.0, 9.0)]);
    story.wrote(1, "out/1.txt", 0.5, 10).read(2, "out/1.txt", 5.5, 10);
    story.ops(1, "lib/os.py", OpKey::without_bytes(Op::LookupFailed), 500, 0.5);
    story.ops(1, "out/1.txt", OpKey::without_bytes(Op::Create), 1, 0.1);
    let work = story.learnt();
    let files: u64 = work.files.iter().map(|set| set.count).sum();
    assert_eq!(files, 1, "{:?}", work.files);
    let accesses = work.tasks.iter().flat_map(|task| &task.steps).flat_map(|step| &step.accesses);
    let asked: f64 = accesses
        .filter(|access| work.files[access.files.index()].count == 0)
        .flat_map(|access| access.ops.iter().map(|(_, count)| count))
        .sum();
    assert!((asked - 500.0).abs() < 1e-6, "they are asked for all the same: {asked}");
    let facts = crate::search_space::class_facts(&work);
    let names = work.classes.iter().position(|class| class.pattern.starts_with("lib"));
    assert_eq!(facts[names.expect("a class")].files, 0);
}

/// Programs that are gone before anybody looks, between others that are seen: a shell made their
/// files for all that is known, those of each sample for another task.
#[test]
fn files_that_a_shell_makes_for_several_samples_are_made() {
    let mut driver = task(9, "sh", 0.0, 8.0);
    driver.driver = true;
    let cat = |id, at: f64| task(id, "cat", at, at + 1.0);
    let mut story = Story::new(vec![driver, cat(1, 2.0), cat(2, 4.0), task(3, "wc", 6.0, 7.0)]);
    for (task, sample, at) in [(1, "hs", 1.0), (2, "ds", 3.0)] {
        let [trim, bam] = [format!("trim/{sample}.fq"), format!("bam/{sample}.bam")];
        story.wrote(9, &trim, at, 100).read(task, &trim, at + 1.1, 100);
        story.wrote(task, &bam, at + 1.2, 100).read(3, &bam, 6.1, 100);
    }
    story.wrote(9, "report.txt", 6.0, 5);
    sample_wildcards::join_samples(&mut story.rows);
    let work = story.learnt();
    let facts = crate::search_space::class_facts(&work);
    for (class, facts) in work.classes.iter().zip(&facts).filter(|(_, facts)| facts.files > 0) {
        assert!(facts.made, "{}: {facts:?}", class.pattern);
    }
    let trim = work.classes.iter().position(|class| class.pattern == "trim/*.fq");
    let trim = &facts[trim.expect("samples are one class")];
    assert_eq!((trim.files, trim.private), (2, true), "each is made where its reader runs");
    let written: ByteCount = work
        .tasks
        .iter()
        .flat_map(|task| task.steps.iter().flat_map(|step| &step.accesses))
        .map(|access| access.written)
        .sum();
    assert!((400..=405).contains(&written.get()), "nothing is made twice: {written}");
}

#[test]
fn the_time_that_an_engine_takes_is_part_of_the_work() {
    let mut driver = task(9, "snakemake", 0.0, 13.0);
    driver.driver = true;
    let mut story = Story::new(vec![
        driver,
        task(1, "a", 2.0, 5.0),
        task(2, "b", 6.0, 8.0),
        task(3, "c", 9.0, 12.0),
    ]);
    story.wrote(1, "x", 2.5, 5).read(2, "x", 6.5, 5).wrote(2, "y", 7.0, 5).read(3, "y", 9.5, 5);
    story.read(9, "Snakefile", 0.5, 5);
    story.ops(9, "Snakefile", OpKey::without_bytes(Op::Getattr), 1_000, 0.5);
    let learnt = learn_from_rows(&story.rows, &PassingNames::default()).expect("it can be learnt");
    let work = &learnt.workload;
    let total: f64 = work.tasks.iter().flat_map(|t| &t.steps).map(|step| step.compute.get()).sum();
    let kinds: Vec<_> =
        work.tasks.iter().map(|t| work.kinds[t.kind.index()].name.as_str()).collect();
    assert_eq!(kinds, ["(snakemake)", "a", "b", "c", "(snakemake)"]);
    // All of its opens were before the first task, so all of its waits are.
    assert!((work.tasks[0].steps[0].compute.get() - 1.5).abs() < 1e-6);
    assert!((total - 12.5).abs() < 1e-6, "{total}");
    assert_eq!((after(work, 1), after(work, 4)), (vec![0], vec![3]));
    assert_eq!((learnt.measured.makespan, learnt.measured.slots), (Seconds(13.0), 1));
    let again = learnt.simulate_rerun().expect("it can be simulated").makespan.get();
    assert!((again - 13.0).abs() < 0.01, "{again}");
}

#[test]
fn short_tasks_that_wait_for_each_other_take_one_slot() {
    // Each begins 9 ms before the end of the one before, since starts are rounded down: a third of
    // the time two seem to run.
    let at = |task: u32| f64::from(task) * 0.03;
    let tasks = (1..=40).map(|n| task(n, "grep", at(n), at(n + 1) + 0.009)).collect();
    let mut story = Story::new(tasks);
    let slots = |story: &Story| {
        let learnt = learn_from_rows(&story.rows, &PassingNames::default());
        learnt.expect("it can be learnt").measured.slots
    };
    assert_eq!(slots(&story), 2, "nothing says that they wait");
    story.rows.waits = (2..=40).map(|n| (n, n - 1)).collect();
    assert_eq!(slots(&story), 1);
}

#[test]
fn bytes_that_nobody_saw_are_a_doubt_with_its_share() {
    let mut row = task(1, "bwa", 0.0, 10.0);
    row.cpu_user = Some(secs(6.0));
    let mut story = Story::new(vec![row]);
    let (file, at) = (story.file("ref.fa"), secs(1.0));
    let size = Some(1 << 20);
    let open = LoadedOpen {
        task: Some(1),
        file,
        at,
        size_before: size,
        size_after: size,
        ..LoadedOpen::default()
    };
    story.rows.opens.push(open);
    story.ops(1, "ref.fa", OpKey::without_bytes(Op::Open), 1, 0.0);
    let work = story.learnt();
    let doubt = &work.doubts[0];
    assert!(doubt.what.contains("100 % of the bytes") && doubt.what.contains("every-read"));
    assert!((doubt.share - 0.4).abs() < 1e-6, "{}", doubt.share);
    let access = &work.tasks[0].steps[0].accesses[0];
    assert_eq!(access.read, ByteCount(1 << 20));
    let read = OpKey::with_bytes(Op::Read, 128 << 10, AccessPattern::Sequential);
    assert!(access.ops.contains(&(read, 8.0)), "{:?}", access.ops);
    // `/proc` says that it can't have been all of it.
    story.rows.tasks[0].rchar_upper = Some(ByteCount(1 << 18));
    assert_eq!(story.learnt().tasks[0].steps[0].accesses[0].read, ByteCount(1 << 18));
}

#[test]
fn what_notifications_do_not_see_is_a_doubt() {
    let mut story = Story::new(vec![task(1, "a", 0.0, 10.0)]);
    story.ops(1, "x", OpKey::without_bytes(Op::Open), 1, 0.0);
    let mut doubt_of = |recorder: &str, trace: &str| {
        let notes = [("recorder", recorder), ("trace", trace)];
        story.rows.header.more = notes.map(|(key, value)| (key.into(), value.into())).to_vec();
        story.learnt().doubts.first().cloned()
    };
    assert_eq!(doubt_of("fuse", "files"), None);
    assert_eq!(doubt_of("bpf", "every-read"), None);
    let files = doubt_of("notify", "files").expect("it counts too little");
    assert!(files.what.contains("--trace every-read"), "{files:?}");
    let each = doubt_of("notify", "every-read").expect("it knows no waits");
    assert!(each.share < files.share && each.what.contains("how long"), "{each:?}");
}

#[test]
fn a_busy_machine_is_a_doubt() {
    let mut story = Story::new(vec![task(1, "a", 0.0, 10.0)]);
    story.ops(1, "x", OpKey::without_bytes(Op::Open), 1, 0.0);
    assert!(story.learnt().doubts.is_empty());
    story.rows.others_share = Some(0.4);
    let work = story.learnt();
    assert!(work.doubts[0].what.contains("40 % of the machine's CPU time"), "{:?}", work.doubts);
    assert!((work.doubts[0].share - 0.4).abs() < 1e-9);
    assert_eq!(work.doubts[0].concerns, TimePart::Computing);
}

#[test]
fn processes_in_a_pipe_hold_up_their_task_once() {
    let mut story = Story::new(vec![task(1, "map", 0.0, 10.0)]);
    story.read(1, "a", 0.1, 5).ops(1, "a", OpKey::without_bytes(Op::Open), 100, 6.0);
    for (id, waited) in [(1u32, 4_000_000_000u64), (2, 2_000_000_000)] {
        let process = ProcessRow {
            id: ProcessId(id),
            task: Some(1),
            started: Some(secs(0.0)),
            ended: Some(secs(10.0)),
            ..ProcessRow::default()
        };
        story.rows.processes.push(process);
        story.rows.waited.insert(ProcessId(id), IoWait { nanos: waited, requests: 0 });
    }
    let work = story.learnt();
    assert!((work.tasks[0].steps[0].compute.get() - 6.0).abs() < 1e-6);
}

#[test]
fn what_is_done_under_a_passing_name_is_done_to_the_file() {
    let create = OpKey::without_bytes(Op::Create);
    let mut story = Story::new(vec![task(1, "sort", 0.0, 9.0)]);
    story.wrote(1, "out/1.bam", 1.0, 10).wrote(1, "out/2.bam", 2.0, 10);
    story.renamed("out/1.bam.tmp", "out/1.bam").renamed("out/2.bam.tmp", "out/2.bam");
    story.ops(1, "out/1.bam.tmp", create, 2, 0.1);
    // Of these one keeps the name that the other has first.
    story.wrote(1, "log/1.new", 3.0, 10).wrote(1, "log/2.txt", 3.0, 10);
    story.renamed("log/2.new", "log/2.txt").ops(1, "log/1.new", create, 2, 0.1);
    let work = story.learnt();
    let class = |pattern: &str| work.classes.iter().position(|class| class.pattern == pattern);
    assert_eq!(class("out/#.bam.tmp"), None);
    let bam = class("out/#.bam").expect("the files");
    let [passing] = &work.classes[bam].passing_names[..] else { panic!("one passing name") };
    assert_eq!((&*passing.pattern, &*passing.example), ("out/#.bam.tmp", &b"out/1.bam.tmp"[..]));
    let creates = |class: usize| -> f64 {
        let accesses =
            work.tasks.iter().flat_map(|task| &task.steps).flat_map(|step| &step.accesses);
        accesses
            .filter(|access| work.files[access.files.index()].class.index() == class)
            .flat_map(|access| &access.ops)
            .filter(|(key, _)| *key == create)
            .map(|(_, count)| count)
            .sum()
    };
    assert_eq!(creates(bam), 2.0);
    let text = class("log/#.txt").expect("the files");
    assert!(work.classes[text].passing_names.is_empty());
    assert_eq!(creates(class("log/#.new").expect("it stays")), 2.0);
}
