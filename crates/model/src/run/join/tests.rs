//! If these fail, a run of several nodes loses tasks, counts them twice, or puts them at wrong times.
use super::*;
use crate::*;

const SHARED: &str = "/shared/work";
const SECOND: u64 = 1_000_000;

fn opened(runs: &[PathBuf]) -> impl Iterator<Item = (PathBuf, Result<JoinPart>)> {
    let opener = PartOpener::default();
    runs.iter().map(move |path| (path.clone(), opener.open(path)))
}

/// A run file to be: where, when, and what happened.
struct Part {
    header: Header,
    facts: Vec<Fact>,
    next: u32,
}

impl Part {
    fn new(host: &str, started_s: u64) -> Part {
        let header = Header {
            started_unix: Micros(started_s * SECOND),
            host: Some(host.into()),
            command: vec![b"run".to_vec()],
            ..Header::default()
        };
        Part { header, facts: Vec::new(), next: 0 }
    }

    fn note(mut self, note: (String, String)) -> Part {
        self.header.more.push(note);
        self
    }

    fn job(self, token: &str, node: &str) -> Part {
        self.note(note_key::JOB.to_note(&token.into()))
            .note(note_key::JOB_SENT_BY.to_note(&"sbatch".into()))
            .note(note_key::NODE.to_note(&node.into()))
    }

    fn tree(mut self, fs_type: &str) -> Part {
        self.facts.push(Fact::Tree(DirectoryTree {
            id: TreeId(0),
            path: SHARED.into(),
            fs_type: fs_type.into(),
            passthrough: false,
            device: None,
            tier: None,
        }));
        self.facts.push(Fact::Class { id: ClassId(7), pattern: "x#".into() });
        self
    }

    fn process(mut self, pid: u32, parent: Option<u32>, at: u64, line: &str) -> Part {
        self.next += 1;
        self.facts.push(Fact::Process(Process {
            id: ProcessId(self.next),
            pid,
            parent: parent.map(ProcessId),
            started: Micros(at),
            argv: line.split(' ').map(|word| word.as_bytes().to_vec()).collect(),
            exe: Some(format!("/usr/bin/{}", line.split(' ').next().unwrap_or("")).into_bytes()),
            cwd: None,
        }));
        self
    }

    /// The latest process reads or makes a file, of four bytes.
    fn open(mut self, file: u32, path: &str, at: u64, made: bool) -> Part {
        let (tree, class) = (TreeId(0), ClassId(7));
        let path = path.as_bytes().to_vec();
        self.facts.push(Fact::File(FileRecord { id: FileId(file), tree, path, class, home: None }));
        let io = Some(IoCount { bytes: ByteCount(4), calls: 1 });
        self.facts.push(Fact::Open(OpenSession {
            process: ProcessId(self.next),
            file: FileId(file),
            write: made,
            created: made,
            opened: Micros(at),
            closed: Some(Micros(at + 5)),
            read: if made { None } else { io },
            wrote: if made { io } else { None },
            size_at_open: None,
            size_at_close: None,
            hidden: false,
            copy: None,
        }));
        let op = if made { Op::Write } else { Op::Read };
        self.facts.push(Fact::Ops(OpDelta {
            process: Some(ProcessId(self.next)),
            class,
            tree,
            key: OpKey::with_bytes(op, 4, AccessPattern::Sequential),
            count: OpCount { count: 1, nanos: 3_000, bytes: 4, failed: 0 },
        }));
        self
    }

    /// A name is removed of a file that nobody here has opened.
    fn removed(mut self, path: &str, at: u64) -> Part {
        let (tree, path) = (TreeId(0), path.as_bytes().to_vec());
        self.facts.push(Fact::Removed { tree, path, at: Some(Micros(at)) });
        self
    }

    fn write(mut self, directory: &Path, name: &str) -> PathBuf {
        let path = directory.join(name);
        self.facts.push(Fact::Ended(RunEnd {
            at: Micros(9 * SECOND),
            exit: Some(CommandExit::Code(0)),
            cpu_user: Some(Micros(10)),
            cpu_system: None,
            complete: true,
        }));
        let state = directory.join("state");
        let mut writer = RunWriter::create(&state, self.header).expect("a new file");
        writer.write_facts(&self.facts).expect("facts");
        writer.finish_run().expect("folded");
        writer.copy_to(&path).expect("copied");
        writer.remove().expect("removed");
        path
    }
}

fn join(directory: &Path, runs: &[PathBuf], lost: &[LostJob]) -> (Run, JoinReport) {
    let state = directory.join("join.state");
    let dest = directory.join("joined.run");
    let (writer, report) = RunWriter::join_runs(&state, opened(runs), lost).expect("joined");
    writer.copy_to(&dest).expect("copied");
    writer.remove().expect("removed");
    (Run::open(&dest).expect("readable"), report)
}

fn lost_job(token: &str) -> LostJob {
    LostJob { program: "sbatch".into(), token: token.into() }
}

fn opens(run: &Run) -> Vec<(u32, u32, u64)> {
    let mut all = Vec::new();
    run.for_each_open(|row| {
        all.push((row.open.process.0, row.open.file.0, row.open.opened.0));
    })
    .expect("opens");
    all
}

#[test]
fn jobs_are_tasks_of_the_head_on_their_nodes_and_nothing_is_unseen() {
    let place = tempfile::tempdir().expect("a directory");
    let head = Part::new("head", 100)
        .tree("nfs4")
        .process(10, None, 0, "bash flow.sh")
        .process(11, Some(1), 5, "sbatch a.sh")
        .process(12, Some(1), 6, "sbatch b.sh")
        .process(13, Some(1), 7, "sbatch c.sh")
        .open(1, "x1", 8, true);
    let jobs = [("n1", "A", "align in"), ("n2", "B", "sort in")].map(|(node, token, line)| {
        Part::new(node, 101)
            .job(token, node)
            .tree("nfs4")
            .process(10, None, 0, "bash job.sh")
            .process(11, Some(1), 2, line)
            .open(3, "x1", 10, false)
            .open(4, &format!("x{token}"), 20, true)
            .write(place.path(), token)
    });
    let head = head.write(place.path(), "head");
    let parts = [head, jobs[0].clone(), jobs[1].clone()];
    let (run, report) = join(place.path(), &parts, &[]);
    assert_eq!((report.runs, report.processes_seen_twice), (3, 0));
    assert!(run.is_complete().expect("read"));
    let tasks = run.tasks().expect("tasks");
    let told: Vec<(&str, Option<&str>)> = tasks
        .iter()
        .filter(|task| !task.driver && !task.name.starts_with("sbatch"))
        .map(|task| (&*task.name, task.node.as_deref()))
        .collect();
    assert_eq!(told, [("align", Some("n1")), ("sort", Some("n2"))]);
    let nodes: Vec<String> = run.nodes().expect("nodes").into_iter().map(|n| n.name).collect();
    assert_eq!(nodes, ["head", "n1", "n2"]);
    // The file that all used is one, and two more were made.
    let files = run.files().expect("files");
    assert_eq!(files.len(), 3, "{files:?}");
    let times: Vec<u64> = opens(&run).iter().map(|open| open.2).collect();
    assert_eq!(times, [8, SECOND + 10, SECOND + 10, SECOND + 20, SECOND + 20]);
    // Of three jobs two were recorded. What is told as lost is not told once more, nor is another try
    // of a job a job.
    let unseen = |run: &Run| run.unseen_programs().expect("unseen");
    assert_eq!(unseen(&run), [("sbatch".to_owned(), 1)]);
    assert_eq!(unseen(&join(place.path(), &parts, &[lost_job("A")]).0), [("sbatch".to_owned(), 1)]);
    assert_eq!(unseen(&join(place.path(), &parts, &[lost_job("A"), lost_job("C")]).0), []);
    let bytes: u64 = run.operation_rows().expect("ops").iter().map(|op| op.bytes.0).sum();
    assert_eq!(bytes, 5 * 4);
    let ended = run.ended().expect("read").expect("an end");
    assert_eq!((ended.at, ended.cpu_user), (Micros(10 * SECOND), Some(Micros(30))));
}

#[test]
fn what_two_records_have_counts_once() {
    let place = tempfile::tempdir().expect("a directory");
    let part = |started: u64| {
        // Both see the second process, each by its own start.
        Part::new("n1", started)
            .tree("ext4")
            .process(20, None, 0, "bash x.sh")
            .process(21, Some(1), (110 - started) * SECOND + 10_000 * (started % 2), "cat f")
            .open(1, "x1", (110 - started) * SECOND + 20_000, false)
    };
    let runs = [part(100).write(place.path(), "a"), part(107).write(place.path(), "b")];
    let (run, report) = join(place.path(), &runs, &[]);
    assert_eq!(report.processes_seen_twice, 1);
    assert_eq!(opens(&run).len(), 1);
    let bytes: u64 = run.operation_rows().expect("ops").iter().map(|op| op.bytes.0).sum();
    assert_eq!(bytes, 4);
    // The same file twice adds no process, no open and no bytes.
    let (run, report) = join(place.path(), &[runs[0].clone(), runs[0].clone()], &[]);
    assert_eq!((report.processes_seen_twice, opens(&run).len()), (2, 1));
}

/// When each file of a run went, by name.
fn removals(run: &Run) -> Vec<(String, Option<u64>)> {
    let gone: HashMap<FileId, Micros> = run.removal_times().expect("times").into_iter().collect();
    let files = run.files().expect("files");
    let name = |file: &FileRecord| String::from_utf8_lossy(&file.path).into_owned();
    let mut all: Vec<(String, Option<u64>)> =
        files.iter().map(|file| (name(file), gone.get(&file.id).map(|at| at.0))).collect();
    all.sort();
    all
}

#[test]
fn a_file_is_gone_when_a_job_removes_it_that_has_not_opened_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let makes =
        Part::new("n1", 100).tree("nfs4").process(10, None, 0, "map a").open(1, "x1", 50, true);
    let makes = makes.open(2, "x2", 60, true).open(3, "x3", 70, true).open(4, "x4", 80, true);
    // Two seconds after the first: what it removed it has not opened, but for one name that came back.
    let clears = Part::new("n2", 102).tree("nfs4").process(10, None, 0, "rm all");
    let clears = clears.removed("x1", 90).removed("x2", 91).removed("never made", 92);
    let clears = clears.removed("x4", 5).open(9, "x4", 400, true);
    let reads =
        Part::new("n3", 101).tree("nfs4").process(10, None, 0, "sort x1").open(1, "x1", 10, false);
    let late = 2 * SECOND;
    let expected = [
        ("x1".to_owned(), Some(late + 90)),
        ("x2".to_owned(), Some(late + 91)),
        ("x3".to_owned(), None),
        ("x4".to_owned(), None),
    ];
    let [makes, clears, reads] = [(makes, "1.run"), (clears, "2.run"), (reads, "3.run")]
        .map(|(part, name)| part.write(directory.path(), name));
    for order in [[&makes, &reads, &clears], [&makes, &clears, &reads]] {
        let (run, _) = join(directory.path(), &order.map(Clone::clone), &[]);
        assert_eq!(removals(&run), expected);
    }
    // A record of an older Forebay has no such table.
    rusqlite::Connection::open(&clears)
        .and_then(|old| old.execute_batch("DROP TABLE removals"))
        .expect("as it was");
    let (run, report) = join(directory.path(), &[makes, clears, reads], &[]);
    assert_eq!(report.runs, 3);
    assert!(removals(&run).iter().all(|(_, gone)| gone.is_none()));
}

#[test]
fn a_removal_is_on_the_clock_of_its_node() {
    let directory = tempfile::tempdir().expect("a directory");
    let makes = Part::new("n1", 100).tree("nfs4").process(10, None, 0, "map a");
    let makes = makes.open(1, "x1", 3 * SECOND, true).open(2, "x2", 3 * SECOND, true);
    // Its clock is a second late at least: it reads what is not made yet, and removes the other.
    let clears = Part::new("n2", 102).tree("nfs4").process(10, None, 0, "rm all");
    let clears = clears.open(1, "x1", 0, false).removed("x2", 500);
    let parts = [(makes, "1.run"), (clears, "2.run")]
        .map(|(part, name)| part.write(directory.path(), name));
    let (run, _) = join(directory.path(), &parts, &[]);
    let shift = run.nodes().expect("nodes")[1].clock_shift_us as u64;
    assert!(shift >= SECOND, "{shift}");
    assert_eq!(removals(&run)[1], ("x2".to_owned(), Some(2 * SECOND + 500 + shift)));
}

#[test]
fn local_directories_of_two_machines_are_two() {
    let place = tempfile::tempdir().expect("a directory");
    for (fs_type, files) in [("ext4", 2), ("fuse.forebay", 1), ("lustre", 1)] {
        let runs = ["n1", "n2"].map(|host| {
            let part = Part::new(host, 100).tree(fs_type).process(20, None, 0, "cat f");
            part.open(1, "x1", 20, false).write(place.path(), host)
        });
        let (run, _) = join(place.path(), &runs, &[]);
        assert_eq!(run.files().expect("files").len(), files, "{fs_type}");
        let tasks = run.tasks().expect("tasks");
        let tasks = tasks.iter().filter(|task| !task.driver).count();
        assert_eq!(tasks, 2, "both commands are tasks of the whole");
        assert_eq!(run.header().expect("header").command, [&b"forebay"[..], b"join"]);
    }
}

#[test]
fn a_slow_clock_is_set_right_and_the_start_is_the_earliest() {
    let place = tempfile::tempdir().expect("a directory");
    let head = Part::new("head", 100)
        .tree("nfs4")
        .process(1, None, 0, "bash x.sh")
        .open(1, "x1", 2 * SECOND, true)
        .open(2, "x2", 5 * SECOND, false)
        .write(place.path(), "head");
    // Its clock is 50 s slow: it reads what was made at 102 s at 53 s.
    let job = Part::new("n1", 50)
        .job("A", "n1")
        .tree("nfs4")
        .process(1, None, 0, "bash j.sh")
        .process(2, Some(1), SECOND, "align x")
        .open(1, "x1", 3 * SECOND, false)
        .open(2, "x2", 4 * SECOND, true)
        .write(place.path(), "job");
    let (run, report) = join(place.path(), &[head, job], &[]);
    assert!(report.contradicting_clocks.is_empty());
    let node = &run.nodes().expect("nodes")[1];
    assert_eq!(node.clock_shift_us, 49 * SECOND as i64);
    assert_eq!(node.clock_shift_most_us, Some(51 * SECOND as i64));
    let started = run.header().expect("header").started_unix.0;
    // Before, the job began at 99 s by the right clock.
    assert_eq!(started, 99 * SECOND);
    let mut times: Vec<u64> = opens(&run).iter().map(|open| (started + open.2) / SECOND).collect();
    times.sort_unstable();
    assert_eq!(times, [102, 102, 103, 105]);
}

#[test]
fn files_that_are_no_runs_are_told_and_the_rest_counts() {
    let place = tempfile::tempdir().expect("a directory");
    let part = |host: &str| Part::new(host, 100).tree("nfs4").process(20, None, 0, "cat f");
    let good = part("n1").open(1, "x1", 20, false).write(place.path(), "good");
    let cut = place.path().join("cut");
    let whole = std::fs::read(part("n2").open(2, "x2", 3, true).write(place.path(), "whole"));
    let whole = whole.expect("read");
    std::fs::write(&cut, &whole[..whole.len() / 2]).expect("written");
    // A row that can't be read, behind others that can.
    let odd = place.path().join("odd");
    std::fs::write(&odd, &whole).expect("written");
    let hand = rusqlite::Connection::open(&odd).expect("opened");
    hand.execute("UPDATE opens SET opened_us = 'noon'", []).expect("changed");
    drop(hand);
    let missing = place.path().join("missing");
    let later = part("n3").open(2, "x2", 30, false).write(place.path(), "later");
    let (run, report) =
        join(place.path(), &[good, cut, odd, missing, later], &[lost_job("j4"), lost_job("j5")]);
    let left: Vec<Kind> = report.left_out.iter().map(|(_, error)| error.kind()).collect();
    assert_eq!((report.runs, left.len()), (2, 3), "{left:?}");
    assert_eq!(left[0], Kind::Damaged);
    assert_eq!(left[2], Kind::Missing);
    assert!(!run.is_complete().expect("read"));
    assert_eq!(run.files().expect("files").len(), 2);
    assert_eq!(opens(&run).len(), 2);
    let header = run.header().expect("header");
    assert_eq!(header.note(&note_key::JOBS_NOT_RECORDED), Some(2));
}

/// A run file of one process, which reads `size` files.
fn part_of_job(directory: &Path, job: u32, size: u32) -> PathBuf {
    let name = format!("j{job}");
    let mut part = Part::new("n1", 100 + u64::from(job)).job(&name, "n1").tree("nfs4");
    part = part.process(100 * job, None, 0, &format!("align sample{job}"));
    for file in 1..=size {
        part = part.open(file, &format!("work/{job}/{file}"), 10, file % 2 == 0);
    }
    part.write(directory, &name)
}

/// All that is in a run.
fn contents(run: &Run) -> String {
    let tasks = run.tasks().expect("tasks");
    format!(
        "{:?} {tasks:?} {:?} {:?} {:?} {:?} {:?}",
        run.header().expect("header"),
        run.processes().expect("processes"),
        run.files().expect("files"),
        opens(run),
        run.operation_rows().expect("ops"),
        run.nodes().expect("nodes"),
    )
}

/// Two tables change places by as many changes of the schema.
const MADE_ANEW: &str =
    "CREATE TABLE a AS SELECT * FROM classes; CREATE TABLE b AS SELECT * FROM trees;
     DROP TABLE classes; DROP TABLE trees;
     ALTER TABLE a RENAME TO classes; ALTER TABLE b RENAME TO trees";
const MADE_ANEW_IN_ANOTHER_ORDER: &str =
    "CREATE TABLE b AS SELECT * FROM trees; CREATE TABLE a AS SELECT * FROM classes;
     DROP TABLE classes; DROP TABLE trees;
     ALTER TABLE a RENAME TO classes; ALTER TABLE b RENAME TO trees";

#[test]
fn files_that_follow_each_other_in_one_connection_are_read_as_alone() {
    let place = tempfile::tempdir().expect("a directory");
    // As long as each other, shorter and longer than the one before, and longer than there is room.
    let mut runs: Vec<PathBuf> = [3, 3, 200, 1, 0, 30_000, 3, 200]
        .into_iter()
        .zip(1..)
        .map(|(size, job)| part_of_job(place.path(), job, size))
        .collect();
    assert!(std::fs::metadata(&runs[5]).expect("it is there").len() > 1 << 20);
    // Tables in other places under the same number of the schema, and of an older format.
    for (job, sql) in [
        (9, "CREATE TABLE x (a); CREATE TABLE y (b); INSERT INTO x VALUES (1)"),
        (10, "CREATE TABLE y (b); CREATE TABLE x (a); INSERT INTO x VALUES (1)"),
        (11, "DROP TABLE process_usage; DROP TABLE nodes; PRAGMA user_version = 3"),
        (12, MADE_ANEW),
        (13, MADE_ANEW_IN_ANOTHER_ORDER),
    ] {
        let path = part_of_job(place.path(), job, 3);
        rusqlite::Connection::open(&path).expect("opened").execute_batch(sql).expect("changed");
        runs.push(path);
    }
    runs.push(part_of_job(place.path(), 14, 3));
    let (run, report) = join(place.path(), &runs, &[]);
    assert_eq!((report.runs, report.left_out.len()), (14, 0), "{:?}", report.left_out);
    let in_one = contents(&run);
    // With a journal beside it, a file is opened where it is.
    for path in &runs {
        let mut journal = path.clone().into_os_string();
        journal.push("-journal");
        std::fs::write(journal, "").expect("written");
    }
    let (run, _) = join(place.path(), &runs, &[]);
    assert_eq!(in_one, contents(&run));
}

#[test]
fn a_cut_file_and_a_damaged_one_leave_nothing_to_the_next() {
    let place = tempfile::tempdir().expect("a directory");
    let good: Vec<PathBuf> = (1..4).map(|job| part_of_job(place.path(), job, 30)).collect();
    let (run, _) = join(place.path(), &good, &[]);
    let wanted = (run.files().expect("files"), opens(&run));
    let whole = std::fs::read(part_of_job(place.path(), 9, 300)).expect("read");
    let bad: Vec<PathBuf> = ["cut", "zeros", "noise"].map(|name| place.path().join(name)).into();
    std::fs::write(&bad[0], &whole[..whole.len() / 2]).expect("written");
    // All pages but the first, which has the tables' names.
    let page = 4096;
    for (path, byte) in [(&bad[1], 0), (&bad[2], 0xa5)] {
        let mut bytes = whole.clone();
        bytes[8 * page..].fill(byte);
        std::fs::write(path, bytes).expect("written");
    }
    let all = [&good[0], &bad[0], &good[1], &bad[1], &bad[2], &good[2]].map(Clone::clone);
    let (run, report) = join(place.path(), &all, &[]);
    let left: Vec<&PathBuf> = report.left_out.iter().map(|(path, _)| path).collect();
    assert_eq!(left, [&bad[0], &bad[1], &bad[2]]);
    assert_eq!((run.files().expect("files").len(), opens(&run)), (wanted.0.len(), wanted.1));
}

#[test]
fn an_array_of_10_000_jobs_is_one_run() {
    let place = tempfile::tempdir().expect("a directory");
    let record = part_of_job(place.path(), 1, 1);
    let hand = rusqlite::Connection::open(&record).expect("opened");
    hand.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF").expect("set");
    let opener = PartOpener::default();
    // One file after the other, in one place: a part is read before the next is made.
    let parts = (1..=10_000).map(|task| {
        hand.execute_batch(&format!(
            "UPDATE processes SET pid = {task}, argv = '[\"align\",\"sample{task}\"]';
             UPDATE files SET path = 'work/{task}'"
        ))
        .expect("changed");
        (record.clone(), opener.open(&record))
    });
    let state = place.path().join("state");
    let (writer, report) = RunWriter::join_runs(&state, parts, &[]).expect("joined");
    assert_eq!((report.runs, report.processes_seen_twice, report.left_out.len()), (10_000, 0, 0));
    let dest = place.path().join("all.run");
    writer.copy_to(&dest).expect("copied");
    let run = Run::open(&dest).expect("readable");
    let tasks = run.tasks().expect("tasks");
    assert_eq!(tasks.iter().filter(|task| task.name == "align").count(), 10_000);
    assert_eq!((run.files().expect("files").len(), opens(&run).len()), (10_000, 10_000));
}

#[test]
fn what_can_not_be_joined_is_refused_by_name() {
    let place = tempfile::tempdir().expect("a directory");
    let part = |host: &str| Part::new(host, 100).tree("nfs4").process(20, None, 0, "cat f");
    let mut hashed = part("n1");
    hashed.header.privacy.anonymise = Some(Salt([1; 16]));
    let hashed = hashed.write(place.path(), "hashed");
    let mut simulated = part("n1");
    simulated.header.origin = RunOrigin::Simulated;
    let simulated = simulated.write(place.path(), "simulated");
    let good = part("n1").write(place.path(), "good");
    let (joined, _) = join(place.path(), std::slice::from_ref(&good), &[]);
    let joined = joined.path().to_owned();
    for (refused, why) in [(hashed, "hashed"), (simulated, "simulated"), (joined, "joined already")]
    {
        let state = place.path().join("state");
        let error =
            RunWriter::join_runs(&state, opened(&[refused]), &[]).map(drop).expect_err("refused");
        assert!(error.to_string().contains(why), "{error}");
        assert!(!state.exists());
    }
}

/// Prints how long joins of many tasks take; refuses nothing.
#[test]
#[ignore = "a measurement"]
#[allow(clippy::disallowed_macros)] // A test has a terminal.
fn time_of_a_join_of_24_000_tasks() {
    for (files, tasks_each) in [(4, 6_000), (2_400, 10), (24_000, 1)] {
        let place = tempfile::tempdir().expect("a directory");
        let mut runs = vec![
            Part::new("head", 100)
                .tree("nfs4")
                .process(1, None, 0, "bash flow.sh")
                .write(place.path(), "head"),
        ];
        for file in 0..files {
            let node = format!("n{}", file % 4);
            let mut part = Part::new(&node, 101).job(&format!("T{file}"), &node).tree("nfs4");
            let pid = file as u32 * 20_000;
            part = part.process(pid, None, 0, "bash job.sh");
            for task in 0..tasks_each {
                let number = file * tasks_each + task;
                let at = 1_000 * task as u64 + 5;
                for step in 0..3 {
                    let line = format!("align sample{number} step{step}");
                    part = part.process(pid + 1 + task as u32 * 3 + step, Some(1), at, &line);
                    for made in 0..5u32 {
                        let name = format!("work/{number}/{step}.{made}");
                        let id = 1 + (task as u32 * 3 + step) * 5 + made;
                        part = part.open(id, &name, at + u64::from(made), true);
                        part = part.open(id, &name, at + 10, false);
                    }
                }
            }
            runs.push(part.write(place.path(), &format!("{file}.run")));
        }
        let before = std::time::Instant::now();
        let (run, report) = join(place.path(), &runs, &[]);
        let took = before.elapsed();
        let tasks = run.tasks().expect("tasks").len();
        println!("{files} run files, {tasks} tasks and drivers: {took:?}");
        assert_eq!(report.runs, files as u64 + 1);
    }
}
