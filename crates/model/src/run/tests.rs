//! If these fail, what was measured is lost, unreadable, or told to people it does not concern.

use super::*;
use crate::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn place() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (state, dest) = (directory.path().join("state.db"), directory.path().join("a.run"));
    (directory, state, dest)
}

fn header() -> Header {
    Header {
        forebay: "0.1.0".into(),
        started_unix: Micros(1_795_249_122_000_000),
        command: vec![b"bash".to_vec(), b"run.sh".to_vec(), b"Smith".to_vec()],
        directory: b"/home/miller/project".to_vec(),
        host: Some("node-miller".into()),
        user: Some("miller".into()),
        kernel: None,
        cpus: Some(8),
        memory: Some(ByteCount(1 << 34)),
        more: vec![("trace".into(), "files".into())],
        ..Header::default()
    }
}

fn process(id: u32, parent: Option<u32>, words: &[&str]) -> Fact {
    Fact::Process(Process {
        id: ProcessId(id),
        pid: 100 + id,
        parent: parent.map(ProcessId),
        started: Micros(u64::from(id)),
        argv: words.iter().map(|w| w.as_bytes().to_vec()).collect(),
        exe: Some(format!("/usr/bin/{}", words[0]).into_bytes()),
        cwd: Some(b"/home/miller/project".to_vec()),
    })
}

fn ops(process: Option<u32>, key: OpKey, count: u64, nanos: u64, bytes: u64) -> Fact {
    Fact::Ops(OpDelta {
        process: process.map(ProcessId),
        class: ClassId(1),
        tree: TreeId(0),
        key,
        count: OpCount { count, nanos, bytes, failed: 0 },
    })
}

fn open(process: u32, file: u32, wrote: Option<u64>) -> OpenSession {
    OpenSession {
        process: ProcessId(process),
        file: FileId(file),
        write: true,
        created: true,
        opened: Micros(10),
        closed: Some(Micros(90)),
        read: None,
        wrote: wrote.map(|bytes| IoCount { bytes: ByteCount(bytes), calls: 3 }),
        size_at_open: Some(ByteCount(0)),
        size_at_close: None,
        hidden: wrote.is_none(),
        copy: wrote.is_none().then_some(TreeId(1)),
    }
}

/// The first file has another name now.
fn renamed(path: &str) -> Fact {
    let (tree, class) = (TreeId(0), ClassId(1));
    let path = path.as_bytes().to_vec();
    Fact::File(FileRecord { id: FileId(1), tree, path, class, home: Some(TreeId(1)) })
}

/// A small run of every kind of fact.
fn facts() -> Vec<Fact> {
    let io = ProcessIo { rchar: ByteCount(50), wchar: ByteCount(60), ..ProcessIo::default() };
    vec![
        Fact::Tree(DirectoryTree {
            id: TreeId(0),
            path: b"/home/miller/project".to_vec(),
            fs_type: "ext4".into(),
            passthrough: true,
            device: None,
            tier: None,
        }),
        process(1, None, &["bash", "run.sh", "Smith"]),
        process(2, Some(1), &["bwa", "mem", "--token=hunter2", "Smith_R1.fastq.gz"]),
        Fact::ProcessCounters(ProcessCounters {
            id: ProcessId(2),
            at: Micros(80),
            user: Micros(7_000),
            system: Micros(300),
            children_user: Micros(0),
            children_system: Micros(0),
            io: Some(io),
        }),
        Fact::Class { id: ClassId(1), pattern: "out/Smith_#.bam".into() },
        Fact::Removed { tree: TreeId(0), path: b"out/Smith_6.bam".to_vec(), at: Some(Micros(5)) },
        Fact::File(FileRecord {
            id: FileId(1),
            tree: TreeId(0),
            path: b"out/Smith_7.bam.tmp".to_vec(),
            class: ClassId(1),
            home: Some(TreeId(1)),
        }),
        renamed("out/Smith_7.bam.part"),
        renamed("out/Smith_7.bam"),
        Fact::File(FileRecord {
            id: FileId(2),
            tree: TreeId(0),
            path: b"out/\xff.bam".to_vec(),
            class: ClassId(1),
            home: None,
        }),
        Fact::Open(open(2, 1, Some(4096))),
        Fact::Open(open(2, 2, None)),
        ops(
            Some(2),
            OpKey::with_bytes(Op::Write, 4096, AccessPattern::Sequential),
            2,
            3_000_000,
            4096,
        ),
        ops(
            Some(2),
            OpKey::with_bytes(Op::Write, 4096, AccessPattern::Sequential),
            1,
            1_000_400,
            10,
        ),
        ops(None, OpKey::without_bytes(Op::Close), 1, 2_000, 0),
        Fact::Sample(MachineSample {
            at: Micros(50),
            cpu: CpuSample { user: Micros(5), ..CpuSample::default() },
            devices: vec![DeviceSample { name: "vda".into(), reads: 4, ..DeviceSample::default() }],
            pressure: None,
            ..MachineSample::default()
        }),
        Fact::Outside(OutsideFile {
            process: ProcessId(2),
            directory: b"/scratch/Smith".to_vec(),
            bytes: ByteCount(5),
            write: true,
        }),
        Fact::Outside(OutsideFile {
            process: ProcessId(2),
            directory: b"/scratch/Smith".to_vec(),
            bytes: ByteCount(6),
            write: true,
        }),
        Fact::ProcessEnded { id: ProcessId(2), at: Micros(95) },
    ]
}

fn end() -> Fact {
    Fact::Ended(RunEnd {
        at: Micros(100),
        exit: Some(CommandExit::Code(3)),
        cpu_user: Some(Micros(9_000)),
        cpu_system: None,
        complete: true,
    })
}

fn written(state: &Path, privacy: Privacy) -> RunWriter {
    let mut writer =
        RunWriter::create(state, Header { privacy, ..header() }).expect("a new run file");
    writer.write_facts(&facts()).expect("facts");
    writer
}

fn finished(privacy: Privacy) -> (tempfile::TempDir, Run) {
    let (directory, state, dest) = place();
    let mut writer = written(&state, privacy);
    writer.write_facts(&[end()]).expect("the end");
    writer.finish_run().expect("folded");
    writer.copy_to(&dest).expect("copied");
    writer.remove().expect("removed");
    assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 1, "only the copy is left");
    let run = Run::open(&dest).expect("readable");
    (directory, run)
}

#[test]
fn what_was_written_is_read_and_what_was_not_seen_is_none() {
    let (_directory, run) = finished(Privacy::default());
    assert_eq!(run.header().expect("header"), header());
    assert!(run.is_complete().expect("complete"));
    let ended = run.ended().expect("read").expect("written");
    assert_eq!((ended.exit, ended.cpu_system), (Some(CommandExit::Code(3)), None));
    assert_eq!(run.files().expect("files")[1].path, b"out/\xff.bam");
    let first = run.first_names().expect("first names");
    assert_eq!((first.len(), first[0].id), (1, FileId(1)));
    assert_eq!(first[0].path, b"out/Smith_7.bam.tmp");
    assert_eq!(run.classes().expect("classes"), [(ClassId(1), "out/Smith_#.bam".into())]);
    let mut opens = Vec::new();
    run.for_each_open(|row| opens.push(row)).expect("opens");
    assert_eq!(opens[0].open, open(2, 1, Some(4096)));
    assert_eq!(opens[1].open, open(2, 2, None));
    let samples = run.samples().expect("samples");
    assert_eq!((samples[0].devices[0].reads, samples[0].pressure), (4, None));
    assert_eq!(run.outside_files().expect("outside")[0].bytes, ByteCount(6));
    let processes = run.processes().expect("processes");
    assert_eq!(processes[1].argv[2], b"--token=***");
    assert_eq!(processes[0].counters, None);
}

#[test]
fn processes_become_tasks_and_operations_theirs() {
    let (_directory, run) = finished(Privacy::default());
    let tasks = run.tasks().expect("tasks");
    let names: Vec<_> = tasks.iter().map(|t| (t.name.as_str(), t.driver)).collect();
    assert_eq!(names, [("run.sh", true), ("bwa mem", false)]);
    assert_eq!((tasks[0].exit_status, tasks[0].cpu_user), (Some(3), None));
    assert_eq!((tasks[0].ended, tasks[1].ended), (Some(Micros(100)), Some(Micros(95))));
    assert_eq!(
        (tasks[1].cpu_user, tasks[1].rchar_upper),
        (Some(Micros(7_000)), Some(ByteCount(50)))
    );
    assert_eq!(tasks[1].waited, Some(Micros(4_000)));
    let ops = run.operation_rows().expect("ops");
    let write = ops.iter().find(|o| o.kind.name() == "write").expect("writes");
    assert_eq!((write.task, write.count, write.bytes), (Some(2), 3, ByteCount(4106)));
    assert_eq!(write.kind.size_name(), Some("4K"));
    let close = ops.iter().find(|o| o.kind.name() == "close").expect("closes");
    assert_eq!(close.task, None);
}

#[test]
fn a_killed_writer_leaves_a_run_that_can_be_salvaged() {
    let (_directory, state, dest) = place();
    // This test program again, as the writer that is killed.
    let writer = std::process::Command::new(std::env::current_exe().expect("a program"))
        .args(["--exact", "--ignored", "run::tests::be_a_writer_that_is_killed"])
        .env("FOREBAY_TEST_STATE", &state)
        .output()
        .expect("started");
    assert!(!writer.status.success());
    assert!(state.with_extension("db-wal").exists(), "its log is not merged");
    Run::salvage_run(&state, &dest, Salt([0; 16])).expect("salvaged");
    let run = Run::open(&dest).expect("readable");
    assert!(!run.is_complete().expect("complete"));
    assert_eq!(run.ended().expect("read"), None);
    assert_eq!(run.tasks().expect("tasks").len(), 2);
    assert_eq!(run.files().expect("files").len(), 2);
}

#[test]
#[ignore = "started by the test above"]
fn be_a_writer_that_is_killed() {
    let Some(state) = std::env::var_os("FOREBAY_TEST_STATE") else { return };
    let _writer = written(Path::new(&state), Privacy::default());
    std::process::abort();
}

#[test]
fn a_living_writer_is_not_salvaged_from() {
    let (_directory, state, dest) = place();
    let _writer = written(&state, Privacy::default());
    let error = Run::salvage_run(&state, &dest, Salt([0; 16])).expect_err("refused");
    assert_eq!(error.kind(), Kind::Busy, "{error}");
    assert!(!dest.exists());
}

#[test]
fn a_run_can_be_read_while_it_is_written() {
    let (_directory, state, _) = place();
    let mut writer = written(&state, Privacy::default());
    let run = Run::open(&state).expect("readable");
    assert_eq!(run.files().expect("files").len(), 2);
    writer.write_facts(&facts()[1..2]).expect("written meanwhile");
}

#[test]
fn only_the_owner_may_read() {
    let (_directory, state, dest) = place();
    let writer = written(&state, Privacy::default());
    fs::write(&dest, "an older file").expect("a file in the way");
    writer.copy_to(&dest).expect("copied over it");
    let wal = state.with_extension("db-wal");
    for path in [state.as_path(), &wal, &dest] {
        let mode = fs::metadata(path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
}

#[test]
fn a_copy_that_fails_leaves_nothing_and_harms_nothing() {
    let (directory, state, _) = place();
    let writer = written(&state, Privacy::default());
    let error = writer.copy_to(&directory.path().join("no/where.run")).expect_err("no directory");
    assert_eq!(error.kind(), Kind::Io);
    assert!(error.message().contains("state.db"), "{error}");
    assert!(Run::open(&state).is_ok());
}

#[test]
fn names_that_are_no_text_are_fine() {
    use std::os::unix::ffi::OsStrExt;
    let (directory, ..) = place();
    let name = |bytes| directory.path().join(std::ffi::OsStr::from_bytes(bytes));
    let writer = written(&name(b"s\xff.db"), Privacy::default());
    writer.copy_to(&name(b"d\xfe.run")).expect("copied");
    assert_eq!(Run::open(&name(b"d\xfe.run")).expect("readable").files().expect("files").len(), 2);
}

#[test]
fn a_link_in_the_way_is_not_followed() {
    let (directory, state, dest) = place();
    let victim = directory.path().join("victim");
    fs::write(&victim, "precious").expect("written");
    let planted = directory.path().join(format!(".a.run.{}.unfinished", std::process::id()));
    std::os::unix::fs::symlink(&victim, planted).expect("linked");
    written(&state, Privacy::default()).copy_to(&dest).expect("copied");
    assert_eq!(fs::read(&victim).expect("read"), b"precious");
}

#[test]
fn secrets_never_reach_the_disk() {
    let (directory, state, dest) = place();
    let writer = written(&state, Privacy::default());
    writer.copy_to(&dest).expect("copied");
    assert_eq!(occurrences(directory.path(), b"hunter2"), 0);
}

#[test]
fn without_commands_there_are_tasks_but_no_words() {
    let privacy = Privacy { commands: CommandPrivacy::LeftOut, anonymise: None };
    let (directory, run) = finished(privacy);
    assert_eq!(run.tasks().expect("tasks")[1].name, "bwa mem");
    assert!(run.processes().expect("processes").iter().all(|p| p.argv.is_empty()));
    assert!(run.header().expect("header").command.is_empty());
    assert_eq!(occurrences(directory.path(), b"fastq.gz"), 0);
}

#[test]
fn an_anonymous_run_names_nobody() {
    let privacy = Privacy { anonymise: Some(Salt([9; 16])), ..Privacy::default() };
    let (directory, run) = finished(privacy);
    for name in [&b"Smith"[..], b"miller"] {
        assert_eq!(occurrences(directory.path(), name), 0, "{}", String::from_utf8_lossy(name));
    }
    assert_eq!(occurrences(directory.path(), &[9; 16]), 0, "the salt is not stored");
    let files = run.files().expect("files");
    assert!(files[0].path.starts_with(b"out/") && files[0].path.ends_with(b".bam"));
    assert_eq!(run.tasks().expect("tasks")[1].name, "bwa mem");
}

fn occurrences(directory: &Path, word: &[u8]) -> usize {
    let entries = fs::read_dir(directory).expect("listed");
    let files = entries.map(|e| fs::read(e.expect("an entry").path()).expect("read"));
    files.map(|bytes| bytes.windows(word.len()).filter(|w| *w == word).count()).sum()
}

#[test]
fn what_is_no_run_is_refused_with_a_reason() {
    let (directory, state, dest) = place();
    let kind = |path: &Path| {
        let error = Run::open(path).map(drop).expect_err("refused");
        assert!(error.message().contains(&*path.to_string_lossy()), "{error}");
        error.kind()
    };
    assert_eq!(kind(&dest), Kind::Missing);
    assert_eq!(kind(directory.path()), Kind::NotARun);
    for bytes in [&b""[..], b"no", &[b'x'; 5000]] {
        fs::write(&dest, bytes).expect("written");
        assert_eq!(kind(&dest), Kind::NotARun);
    }
    let writer = written(&state, Privacy::default());
    writer.copy_to(&dest).expect("copied");
    let whole = fs::read(&dest).expect("read");
    fs::write(&dest, &whole[..whole.len() / 2]).expect("cut");
    assert_eq!(kind(&dest), Kind::Damaged);
    for (pragma, expected) in
        [("user_version = 999", Kind::NewerSchema), ("application_id = 1", Kind::NotARun)]
    {
        fs::write(&dest, &whole).expect("whole again");
        let conn = rusqlite::Connection::open(&dest).expect("opened");
        conn.execute_batch(&format!("PRAGMA {pragma}")).expect("changed");
        drop(conn);
        assert_eq!(kind(&dest), expected);
    }
}

#[test]
fn a_run_of_an_older_format_is_read_and_what_it_lacks_was_not_seen() {
    let (_directory, state, dest) = place();
    written(&state, Privacy::default()).copy_to(&dest).expect("copied");
    let copies = |path: &std::path::Path| {
        let mut copies = Vec::new();
        let run = Run::open(path).expect("it is readable");
        run.for_each_open(|row| copies.push(row.open.copy)).expect("opens");
        copies
    };
    assert!(copies(&dest).contains(&Some(TreeId(1))));
    let conn = rusqlite::Connection::open(&dest).expect("opened");
    let older = "ALTER TABLE opens DROP COLUMN copy; DROP TABLE waits;
                 ALTER TABLE tasks DROP COLUMN cores; ALTER TABLE tasks DROP COLUMN memory_bytes;
                 ALTER TABLE files DROP COLUMN gone_us; DROP TABLE first_names; DROP TABLE removals; PRAGMA user_version = 2";
    conn.execute_batch(older).expect("changed");
    drop(conn);
    let run = Run::open(&dest).expect("it is readable");
    assert_eq!(
        run.task_dependencies().expect("none").len() + run.removal_times().expect("none").len(),
        0
    );
    assert!(run.tasks().is_ok() && run.first_names().expect("none").is_empty());
    assert!(!copies(&dest).is_empty() && copies(&dest).iter().all(Option::is_none));
}

#[test]
fn told_tasks_stay_as_they_were_told_and_get_their_operations() {
    let (_directory, state, dest) = place();
    let header = Header { origin: RunOrigin::Imported, ..header() };
    let mut writer = RunWriter::create(&state, header.clone()).expect("a new run file");
    let told = |number, after: &[u32]| ReportedTask {
        process: ProcessId(number),
        name: "ALIGN".into(),
        engine: "nextflow".into(),
        key: Some("sample1".into()),
        after: after.iter().copied().map(ProcessId).collect(),
        ended: Some(Micros(70)),
        rchar: Some(ByteCount(5)),
        cores: Some(4),
        ..ReportedTask::default()
    };
    let operation = ops(Some(8), OpKey::without_bytes(Op::Open), 1, 2_000, 0);
    let facts = [told(7, &[]), told(8, &[7])].map(Fact::Task);
    writer.write_facts(&[&facts[..], &[operation]].concat()).expect("facts");
    writer.finish_run().expect("folded");
    writer.finish_run().expect("folded again, as after a kill");
    writer.copy_to(&dest).expect("copied");
    let run = Run::open(&dest).expect("readable");
    assert_eq!(run.header().expect("header").origin, RunOrigin::Imported);
    let tasks = run.tasks().expect("tasks");
    let told: Vec<_> = tasks.iter().map(|t| (t.id, t.cores, t.memory, t.waited)).collect();
    assert_eq!(told, [(7, Some(4), None, None), (8, Some(4), None, Some(Micros(2)))]);
    assert_eq!((tasks[0].started, tasks[0].rchar_upper), (None, Some(ByteCount(5))));
    assert_eq!(run.task_dependencies().expect("waits"), [(8, 7)]);
    assert_eq!(Summary::from_run(&run).expect("added up").tasks[0].count, 2);
}

#[test]
fn a_file_that_lost_its_last_name_says_when() {
    let (_directory, state, _) = place();
    let mut writer = written(&state, Privacy::default());
    writer.write_facts(&[Fact::Gone { id: FileId(2), at: Micros(77) }]).expect("written");
    let gone = Run::open(&state).and_then(|run| run.removal_times()).expect("readable");
    assert_eq!(gone, [(FileId(2), Micros(77))]);
}

#[test]
fn a_corrupt_page_is_an_error_that_names_the_file() {
    let (_directory, state, dest) = place();
    written(&state, Privacy::default()).copy_to(&dest).expect("copied");
    let mut bytes = fs::read(&dest).expect("read");
    let pages = bytes.len() / 4096;
    for page in 1..pages {
        bytes[page * 4096..page * 4096 + 100].fill(0xee);
    }
    fs::write(&dest, &bytes).expect("harmed");
    let error = Run::open(&dest).and_then(|run| run.files().map(drop)).expect_err("corrupt");
    assert_eq!(error.kind(), Kind::Damaged, "{error}");
    assert!(error.message().contains("a.run"), "{error}");
}

#[test]
fn an_existing_file_is_not_overwritten_by_a_new_run() {
    let (_directory, state, _) = place();
    fs::write(&state, "precious").expect("written");
    let error = RunWriter::create(&state, header()).expect_err("refused");
    assert_eq!(error.kind(), Kind::Io);
    assert_eq!(fs::read(&state).expect("read"), b"precious");
}

#[test]
fn every_column_of_the_schema_is_explained_in_the_manual() {
    let manual = include_str!("../../../../docs/formats/run.md");
    let conn = rusqlite::Connection::open_in_memory().expect("memory");
    conn.execute_batch(SCHEMA).expect("the schema");
    let mut select = conn
        .prepare(
            "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c
             WHERE m.type = 'table'",
        )
        .expect("prepared");
    let columns = select.query_map([], |r| Ok((r.get(0)?, r.get(1)?))).expect("queried");
    for column in columns {
        let (table, column): (String, String) = column.expect("a row");
        assert!(manual.contains(&format!("`{table}`")), "table {table}");
        assert!(manual.contains(&format!("`{column}`")), "column {table}.{column}");
    }
}

/// A run, and what somebody did to it.
fn tampered(folder: &Path, sql: &str) -> PathBuf {
    let (state, path) = (folder.join("state.db"), folder.join("a.run"));
    written(&state, Privacy::default()).copy_to(&path).expect("copied");
    let conn = rusqlite::Connection::open(&path).expect("opened");
    conn.execute_batch(sql).expect(sql);
    path
}

#[test]
fn what_is_no_table_in_the_place_of_one_is_refused_by_name() {
    let endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) \
                   SELECT x AS tree, 'p' AS path, 'f' AS fs_type, 0 AS passthrough, \
                   NULL AS device, NULL AS tier FROM r";
    for (sql, what) in [
        (format!("ALTER TABLE trees RENAME TO t; CREATE VIEW trees AS {endless}"), "a view"),
        (format!("DROP TABLE waits; CREATE VIEW WAITS AS {endless}"), "a view"),
        (
            "DROP TABLE trees; CREATE VIRTUAL TABLE trees USING rtree(tree, a, b)".to_owned(),
            "a virtual table",
        ),
        (
            "ALTER TABLE trees ADD COLUMN more AS (zeroblob(1000000000))".to_owned(),
            "columns that are computed",
        ),
    ] {
        let folder = tempfile::tempdir().expect("a directory");
        let error = Run::open(&tampered(folder.path(), &sql)).expect_err(&sql);
        assert_eq!(error.kind(), Kind::NotARun, "{sql}: {error}");
        assert!(error.to_string().contains(what), "{sql}: {error}");
    }
}

#[test]
fn a_view_or_a_trigger_beside_the_tables_is_never_run() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = tampered(
        folder.path(),
        "CREATE VIEW mine AS SELECT 1; UPDATE header SET value = 0 WHERE key = 'folded';
         CREATE TRIGGER more AFTER INSERT ON header BEGIN DELETE FROM trees; END;
         CREATE TRIGGER less AFTER UPDATE ON header BEGIN DELETE FROM trees; END",
    );
    let trees = |path: &Path| Run::open(path).expect("a run").trees().expect("read").len();
    assert_eq!(trees(&path), 1);
    let saved = folder.path().join("saved.run");
    Run::salvage_run(&path, &saved, Salt([1; 16])).expect("saved");
    assert_eq!(trees(&saved), 1);
}

/// Pages that lead to themselves: the same leaf again and again, on eight levels.
#[test]
fn pages_that_lead_to_themselves_end() {
    const PAGE: usize = 4096;
    const CELLS: usize = 400;
    let folder = tempfile::tempdir().expect("a directory");
    let path = tampered(folder.path(), "VACUUM; PRAGMA journal_mode = DELETE");
    let conn = rusqlite::Connection::open(&path).expect("opened");
    let root: u32 = conn
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'trees'", [], |row| row.get(0))
        .expect("a table");
    drop(conn);
    let root = root as usize;
    let mut bytes = std::fs::read(&path).expect("read");
    assert_eq!(u16::from_be_bytes([bytes[16], bytes[17]]) as usize, PAGE);
    let pages = bytes.len() / PAGE;
    // The leaf moves to the end; in its place, and behind it, are inner pages of equal children.
    let leaf = bytes[(root - 1) * PAGE..root * PAGE].to_vec();
    let inner = |child: usize| {
        let mut page = vec![0; PAGE];
        let cell = PAGE - 5;
        page[0] = 5;
        page[3..5].copy_from_slice(&(CELLS as u16).to_be_bytes());
        page[5..7].copy_from_slice(&(cell as u16).to_be_bytes());
        page[8..12].copy_from_slice(&(child as u32).to_be_bytes());
        for number in 0..CELLS {
            page[12 + 2 * number..14 + 2 * number].copy_from_slice(&(cell as u16).to_be_bytes());
        }
        page[cell..cell + 4].copy_from_slice(&(child as u32).to_be_bytes());
        page[cell + 4] = 1;
        page
    };
    const LEVELS: usize = 8;
    bytes[(root - 1) * PAGE..root * PAGE].copy_from_slice(&inner(pages + 1));
    for level in 1..LEVELS {
        bytes.extend(inner(pages + level + 1));
    }
    bytes.extend(leaf);
    let count = (bytes.len() / PAGE) as u32;
    bytes[28..32].copy_from_slice(&count.to_be_bytes());
    std::fs::write(&path, &bytes).expect("written");
    let run = Run::open(&path).expect("a run, as far as one sees");
    let error = run.trees().expect_err("endless");
    assert_eq!(error.kind(), Kind::Damaged, "{error}");
    assert!(error.to_string().contains("would not end"), "{error}");
}
