//! If these fail, the work of a run is put down to the wrong task. (Each engine has its own tests;
//! these walk the table and the process tree.)

use super::process_claims::PersistedNote;
use super::*;
use crate::run_rows::ProcessRow;
use crate::{Micros, ProcessCounters, ProcessId};

/// A process with the words of `line` (a shell's `-c` takes the rest as one word).
pub(crate) fn process(id: u32, parent: Option<u32>, line: &str) -> ProcessRow {
    let mut argv: Vec<Vec<u8>> = Vec::new();
    let mut rest = line;
    while let Some((word, after)) = rest.split_once(' ') {
        argv.push(word.into());
        rest = after;
        if matches!(word, "-c" | "-ec") {
            break;
        }
    }
    if !rest.is_empty() {
        argv.push(rest.into());
    }
    ProcessRow {
        id: ProcessId(id),
        pid: Some(1000 + id),
        parent: parent.map(ProcessId),
        task: None,
        started: Some(Micros(u64::from(id) * 10)),
        ended: None,
        argv,
        exe: None,
        cwd: None,
        counters: None,
        stranger: false,
    }
}

/// The same with counters, read at 5 s.
pub(super) fn counted(mut row: ProcessRow, user_us: u64, system_us: u64) -> ProcessRow {
    row.counters = Some(ProcessCounters {
        id: row.id,
        at: Micros::from_secs(5),
        user: Micros(user_us),
        system: Micros(system_us),
        children_user: Micros::ZERO,
        children_system: Micros::ZERO,
        io: None,
    });
    row
}

/// Notes of a control file below the tree `tree`.
pub(super) fn kept(tree: &str, path: &str, content: &str, at: u64) -> Vec<PersistedNote> {
    assert!(is_control_file(path.as_bytes()), "{path}");
    let notes = parse_control_file(path.as_bytes(), content.as_bytes()).into_iter();
    notes
        .map(|(engine, note)| PersistedNote {
            engine: engine.into(),
            subject: [tree.as_bytes(), b"/", &note.subject].concat(),
            what: note.what.into(),
            value: note.value,
            at: Micros(at),
        })
        .collect()
}

/// The name of each process's task.
pub(super) fn task_names(claims: &TaskClaims) -> Vec<&str> {
    claims.of.iter().map(|task| claims.tasks[task.expect("claimed")].name.as_str()).collect()
}

fn assigned(lines: &[(u32, Option<u32>, &str)]) -> TaskClaims {
    let processes = lines.iter().map(|(id, parent, line)| process(*id, *parent, line)).collect();
    assign_tasks(&ObservedRun::new(processes, vec![], vec![]))
}

#[test]
fn every_engine_has_a_name_of_its_own_and_the_last_takes_all() {
    for (i, engine) in ENGINES.iter().enumerate() {
        assert!(ENGINES[..i].iter().all(|other| other.name != engine.name), "{}", engine.name);
    }
    assert_eq!(ENGINES.last().map(|e| e.name), Some("processes"));
}

#[test]
fn the_topmost_program_below_drivers_is_the_task() {
    let claims = assigned(&[
        (1, None, "bash pipeline.sh"),
        (2, Some(1), "bash -c zcat x | split"),
        (3, Some(2), "zcat x"),
        (4, Some(2), "python split.py"),
        (5, Some(4), "bash -c gzip"),
        (6, Some(5), "gzip"),
        (7, Some(1), "time -v bwa mem"),
        (8, Some(7), "bwa mem r"),
    ]);
    assert_eq!(
        task_names(&claims),
        ["pipeline.sh", "bash", "zcat", "split.py", "split.py", "split.py", "time", "bwa mem"]
    );
    assert_eq!(claims.tasks.iter().filter(|task| task.driver).count(), 3);
}

#[test]
fn the_command_is_a_driver_if_it_starts_others() {
    let claims = assigned(&[(1, None, "my_pipeline"), (2, Some(1), "step"), (3, Some(1), "step")]);
    assert_eq!(task_names(&claims), ["my_pipeline", "step", "step"]);
    assert_ne!(claims.of[1], claims.of[2], "two steps are two tasks");
    assert!(claims.tasks[claims.of[0].expect("claimed")].driver);
    let driver = |line: &str| {
        let claims = assigned(&[(1, None, line)]);
        claims.tasks[claims.of[0].expect("claimed")].driver
    };
    assert!(!driver("bowtie2 -x hg38"), "alone it does the work");
    assert!(driver("bash -c true"));
}

#[test]
fn forks_of_the_command_that_start_programs_are_drivers_as_it_is() {
    // As Ruffus, a library of Python, runs jobs; the last fork works itself.
    let lines = [
        (1, None, "python flow.py"),
        (2, Some(1), "python flow.py"),
        (3, Some(2), "python flow.py"),
        (4, Some(3), "sort a"),
        (5, Some(3), "sh -c gzip b"),
        (6, Some(5), "gzip b"),
        (7, Some(1), "python flow.py"),
        // It is no fork of the command's.
        (8, Some(4), "python flow.py"),
        (9, Some(8), "wc c"),
    ];
    let processes = lines.map(|(id, parent, line)| process(id, parent, line)).to_vec();
    let claims = assign_tasks(&ObservedRun::new(processes, Vec::new(), Vec::new()));
    let drives: Vec<bool> =
        claims.of.iter().map(|of| claims.tasks[of.expect("claimed")].driver).collect();
    let names = ["flow.py", "flow.py", "flow.py", "sort", "sh", "gzip", "flow.py", "sort", "sort"];
    assert_eq!(task_names(&claims), names);
    assert_eq!(drives, [true, true, true, false, true, false, false, false, false]);
}

#[test]
fn drivers_of_one_name_are_one_row() {
    let claims = assigned(&[(1, None, "make"), (2, Some(1), "sh -c a"), (3, Some(1), "sh -c b")]);
    assert_eq!(claims.of[1], claims.of[2]);
}

#[test]
fn strange_trees_end() {
    let claims =
        assigned(&[(1, Some(2), "a"), (2, Some(1), "b"), (3, Some(3), "c"), (4, Some(9), "d")]);
    assert!(claims.of.iter().all(Option::is_some));
    assert!(assigned(&[]).of.is_empty());
}

#[test]
fn a_process_that_was_gone_too_soon_is_part_of_its_parent() {
    let mut nameless = process(2, Some(1), "");
    nameless.argv.clear();
    let rows = vec![process(1, None, "snakemake"), nameless, process(3, Some(1), "cbc in.mps")];
    let claims = assign_tasks(&ObservedRun::new(rows, vec![], vec![]));
    assert_eq!(claims.of, [Some(0), Some(0), Some(1)]);
    assert!(claims.tasks.iter().all(|task| task.driver), "the solver is the engine's");
}
