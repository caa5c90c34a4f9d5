//! If these fail, the mail in the morning tells a wrong story of the night, or a file's name writes
//! to somebody's terminal.

use super::super::run_story::Options;
use super::*;
use crate::commands::plan::push_sentence;
use forebay_model::*;
use std::path::PathBuf;

/// A name that would clear the screen, end the line, open a tag; and is no UTF-8.
const HOSTILE: &[u8] = b"out/\x1b[2J<script>\"'\n\xff.bam";

fn tree(id: u16, path: &str, tier: Option<&str>) -> Fact {
    Fact::Tree(DirectoryTree {
        id: TreeId(id),
        path: path.into(),
        fs_type: if tier.is_some() { "ext4" } else { "nfs4" }.into(),
        passthrough: false,
        device: None,
        tier: tier.map(str::to_owned),
    })
}

fn task(id: u32, name: &str) -> Vec<Fact> {
    let process = Process {
        id: ProcessId(id),
        pid: id,
        parent: (id > 1).then_some(ProcessId(1)),
        started: Micros::from_secs(1),
        argv: vec![name.into()],
        exe: None,
        cwd: None,
    };
    let ended = Fact::ProcessEnded { id: ProcessId(id), at: Micros::from_secs(41) };
    vec![Fact::Process(process), ended]
}

fn open(process: u32, file: u32, write: bool, size: u64) -> Fact {
    let io = IoCount { bytes: ByteCount(size), calls: 1 };
    Fact::Open(OpenSession {
        process: ProcessId(process),
        file: FileId(file),
        write,
        created: write,
        opened: Micros::from_secs(2),
        closed: Some(Micros::from_secs(3)),
        read: Some(if write { IoCount::default() } else { io }),
        wrote: write.then_some(io),
        size_at_open: Some(ByteCount(if write { 0 } else { size })),
        size_at_close: Some(ByteCount(size)),
        hidden: false,
        copy: None,
    })
}

fn ops(process: u32, tree: u16, class: u32, key: OpKey, count: u64, seconds: u64) -> Fact {
    let count = OpCount { count, nanos: seconds * 1_000_000_000, bytes: 0, failed: 0 };
    let (process, class, tree) = (Some(ProcessId(process)), ClassId(class), TreeId(tree));
    Fact::Ops(OpDelta { process, class, tree, key, count })
}

fn sample(at: u64) -> Fact {
    let second = Micros::from_secs(1);
    Fact::Sample(MachineSample {
        at: Micros::from_secs(at),
        cpu: CpuSample {
            user: second,
            iowait: second,
            idle: Micros::from_secs(2),
            ..CpuSample::default()
        },
        memory: MemorySample {
            total: ByteCount(8 << 30),
            available: ByteCount(2 << 30),
            ..MemorySample::default()
        },
        devices: vec![DeviceSample {
            name: "sda".into(),
            busy: Micros(500_000),
            reads: 1,
            ..DeviceSample::default()
        }],
        ..MachineSample::default()
    })
}

fn facts() -> Vec<Fact> {
    let mut facts = vec![tree(0, "/p", None), tree(1, "/fast/room", Some("fast"))];
    let file = |id, class, path: &[u8], home| {
        let (id, class, path) = (FileId(id), ClassId(class), path.to_vec());
        Fact::File(FileRecord { id, tree: TreeId(0), path, class, home })
    };
    facts.extend(
        [(0, "tmp/#"), (1, "out/*.bam")]
            .map(|(id, pattern)| Fact::Class { id: ClassId(id), pattern: pattern.into() }),
    );
    facts.extend(task(1, "bash"));
    facts.extend(task(2, "map\x1b[31m"));
    facts.extend(task(3, "sort"));
    for id in 0..600 {
        facts.push(file(id, 0, format!("tmp/{id}").as_bytes(), None));
        facts.push(open(2, id, true, 300));
    }
    facts.push(file(1000, 1, HOSTILE, Some(TreeId(1))));
    facts.extend([open(2, 1000, true, 3 << 20), open(3, 1000, false, 3 << 20)]);
    facts.push(ops(2, 0, 0, OpKey::without_bytes(Op::Create), 600, 30));
    facts.push(ops(
        2,
        1,
        1,
        OpKey::with_bytes(Op::Write, 1 << 20, AccessPattern::Sequential),
        3,
        1,
    ));
    facts.extend([sample(20), sample(40)]);
    facts.push(Fact::Ended(RunEnd {
        at: Micros::from_secs(42),
        exit: Some(CommandExit::Code(0)),
        cpu_user: None,
        cpu_system: None,
        complete: true,
    }));
    facts
}

fn written(path: PathBuf, host: &str, facts: &[Fact], notes: &[(&str, &str)]) -> PathBuf {
    let started_unix = Micros::from_secs(1_700_000_000);
    let command = vec![b"bash".to_vec(), b"run\n.sh".to_vec()];
    let header = Header { host: Some(host.to_owned()), started_unix, command, ..Header::default() };
    let mut writer = RunWriter::create_in_place(&path, header).expect("a run");
    writer.write_facts(facts).expect("facts");
    let notes = notes.iter().map(|(key, value)| (key.to_string(), value.to_string()));
    writer.add_notes(&notes.collect::<Vec<_>>()).expect("notes");
    writer.close_in_place().expect("closed");
    path
}

#[derive(clap::Parser)]
struct Typed {
    #[command(flatten)]
    options: Options,
}

fn story(facts: &[Fact], notes: &[(&str, &str)]) -> (tempfile::TempDir, ExplainedRun) {
    use clap::Parser;
    let dir = tempfile::tempdir().expect("a directory");
    let run = written(dir.path().join("a.run"), "node1", facts, notes);
    let filer = written(dir.path().join("filer.run"), "filer", &[sample(10)], &[]);
    let typed = Typed::try_parse_from(["explain", "--instance", "ec2.m6i.large"]).expect("parsed");
    let mut story = ExplainedRun::read_run(&run, &[filer], false, &typed.options).expect("a run");
    story.path = "a.run".into();
    (dir, story)
}

const NOTES: [(&str, &str); 8] = [
    ("homecoming_s", "2.5"),
    ("brought_home_files", "3"),
    ("brought_home_bytes", "4194304"),
    ("drained_files", "2"),
    ("drained_bytes", "3145728"),
    ("left_files", "0"),
    ("discarded_files", "600"),
    ("discarded_bytes", "180000"),
];

fn text(story: &ExplainedRun) -> String {
    let mut text = String::new();
    for chapter in CHAPTERS {
        if let Some(told) = (chapter.tell)(story) {
            text.push_str(&format!("\n{}\n", chapter.title));
            told.sentences.iter().for_each(|sentence| push_sentence(&mut text, sentence, 80));
        }
    }
    text
}

#[test]
fn every_chapter_is_told_in_lines_of_eighty_columns() {
    let (_dir, story) = story(&facts(), &NOTES);
    let text = text(&story);
    for said in [
        "It took 42.0 s to run `bash run\\n.sh` on node1, with success.",
        "\nWhere the time went\nOf 31.0 s in operations on storage, 97 % in names and attributes",
        "\nmap\\x1b[31m (1 time) waited 31.0 s of 40.0 s, read 0 B and wrote 3.2 MiB.\n",
        "\nThe slowest for one operation is tier fast.\n",
        "\n/p (nfs4): 600 operations took 30.0 s in all, 50 ms each;",
        "Of 601 files that the run made, 600 are of at most 64 KiB;",
        "`out/\\x1b[2J<script>\"'\\n\\xff.bam` (3.0 MiB, ",
        "On tier fast (ext4) lived 1 file of 3.0 MiB together,",
        "\nAfter the last task Forebay wrote back 1 file (1.0 MiB), which took 2.5 s.\n\
         2 files (3.0 MiB) written back while the run went on.\n\
         600 files (176 KiB) went, as their rule says.\n",
        "\nnode1: CPUs were busy 25 %, and idle with requests to disks under way 25 %;",
        "\nfiler: CPUs were busy 25 %",
        "\nCost\nOne ec2.m6i.large for as long as it took: $0.0",
        "`forebay plan a.run --site SITE.toml -o rules.toml`",
    ] {
        let flat = text.replace("\n  ", " ");
        assert!(flat.contains(said), "{said:?} is not in:\n{text}");
    }
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}:\n{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

#[test]
fn figures_are_those_of_the_sentences() {
    let (_dir, story) = story(&facts(), &NOTES);
    let facts = |name: &str| {
        let chapter = CHAPTERS.iter().find(|chapter| chapter.name == name).expect("a chapter");
        (chapter.tell)(&story).unwrap_or_else(|| panic!("{name} tells nothing")).facts
    };
    assert_eq!(facts("verdict")["wall_us"], 42_000_000);
    assert_eq!(facts("small_files")["small"], 600);
    assert_eq!(facts("small_files")["names_us"], 30_000_000);
    assert_eq!(facts("small_files")["sizes"][0]["files"], 600);
    let file = &facts("files")["files"][0];
    assert_eq!(file["path"], "out/\\x1b[2J<script>\"'\\n\\xff.bam");
    assert_eq!((&file["read_by"][0], &file["on"]), (&"sort".into(), &"tier fast".into()));
    assert_eq!(facts("home")["after_last_task"]["files"], 1);
    assert_eq!(facts("home")["drained"]["bytes"], 3 << 20);
    assert_eq!(facts("machines")["machines"][1]["name"], "filer");
    assert!(facts("cost")["usd"].as_f64().is_some_and(|usd| usd > 0.0));
}

#[test]
fn an_empty_run_has_little_to_tell() {
    let (_dir, mut story) = story(&[], &[]);
    story.paid = None;
    let text = text(&story);
    assert!(text.contains("It took 0 s"), "{text}");
    assert!(text.contains("and its end was not seen."), "{text}");
    assert!(text.contains("The run is not complete"), "{text}");
    assert!(!text.contains("Tiers") && !text.contains("Small files"), "{text}");
}
