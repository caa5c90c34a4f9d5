//! Files that a job removes which it has not opened. If this fails, a plan holds room for them until the
//! end, and asks Slurm for more than a pipeline needs.

use std::path::{Path, PathBuf};

use crate::common::*;
use forebay_model::run::PartOpener;
use forebay_model::*;
use forebay_plan::{PreparedProblem, learn_workload, simulate};

const SLOW: &str = "[tier.slow.profile]\nsource = \"us\"";
const FAST: &str = "capacity = \"1 GiB\"\n[tier.fast.profile]\nsource = \"us\"";
const SECOND: u64 = 1_000_000;

/// A job that makes `makes`, and removes `removes` without having opened it; each in its own second.
fn job(folder: &Path, number: u64, makes: &str, removes: Option<&str>) -> PathBuf {
    let (tree, class) = (TreeId(0), ClassId(0));
    let bytes = ByteCount(400 * MIB);
    let mut facts = vec![
        Fact::Tree(DirectoryTree {
            id: tree,
            path: b"/shared/work".to_vec(),
            fs_type: "nfs4".into(),
            passthrough: false,
            device: None,
            tier: None,
        }),
        Fact::Class { id: class, pattern: "part.#".into() },
        Fact::Process(Process {
            id: ProcessId(1),
            pid: 7,
            parent: None,
            started: Micros::ZERO,
            argv: vec![b"make-part".to_vec()],
            exe: Some(b"/usr/bin/make-part".to_vec()),
            cwd: None,
        }),
        Fact::File(FileRecord { id: FileId(1), tree, path: makes.into(), class, home: None }),
        Fact::Open(OpenSession {
            process: ProcessId(1),
            file: FileId(1),
            write: true,
            created: true,
            opened: Micros(SECOND / 10),
            closed: Some(Micros(SECOND / 2)),
            read: None,
            wrote: Some(IoCount { bytes, calls: 1 }),
            size_at_open: Some(ByteCount::ZERO),
            size_at_close: Some(bytes),
            hidden: false,
            copy: None,
        }),
    ];
    facts.extend(removes.map(|path| Fact::Removed {
        tree,
        path: path.into(),
        at: Some(Micros(SECOND / 20)),
    }));
    facts.push(Fact::ProcessEnded { id: ProcessId(1), at: Micros(SECOND) });
    facts.push(Fact::Ended(RunEnd {
        at: Micros(SECOND),
        exit: Some(CommandExit::Code(0)),
        cpu_user: None,
        cpu_system: None,
        complete: true,
    }));
    let header = Header {
        started_unix: Micros((100 + 10 * number) * SECOND),
        host: Some(format!("n{number}")),
        ..Header::default()
    };
    let path = folder.join(format!("{number}.run"));
    let mut writer = RunWriter::create(&path, header).expect("a run file");
    writer.write_facts(&facts).expect("facts");
    writer.finish_run().expect("folded");
    path
}

/// The most that lies on the tier at a time, by a plan from the joined records.
fn peak(folder: &Path, jobs: &[PathBuf]) -> u64 {
    let opener = PartOpener::default();
    let parts = jobs.iter().map(|path| (path.clone(), opener.open(path)));
    let path = folder.join("joined");
    let (writer, _) = RunWriter::join_runs(&path, parts, &[]).expect("joined");
    drop(writer);
    let run = Run::open(&path).expect("readable");
    let work = learn_workload(&run).expect("learnt").workload;
    let site = two_tiers("cores = 1", FAST, SLOW);
    let problem = PreparedProblem::new(&site, &work).expect("a problem");
    let outcome = simulate(&problem, &choice(&site, &work, "slow"), 0).expect("an outcome");
    outcome.tiers[&TierId("slow".into())].peak_bytes.get() / MIB
}

#[test]
fn a_plan_needs_no_room_for_what_a_later_job_removed_unopened() {
    // As far as a plan knows, a file goes with the end of the last job that used it.
    for (removes, expected) in [(false, 1600), (true, 400)] {
        let folder = tempfile::tempdir().expect("a directory");
        let jobs: Vec<PathBuf> = (0..4_u64)
            .map(|number| {
                let before = number.checked_sub(1).map(|before| format!("part.{before}"));
                let removed = before.as_deref().filter(|_| removes);
                job(folder.path(), number, &format!("part.{number}"), removed)
            })
            .collect();
        assert_eq!(peak(folder.path(), &jobs), expected, "removes: {removes}");
    }
}
