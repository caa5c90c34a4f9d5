//! If these fail, a script is planned as if all its programs could run at once.
use super::super::tests::{secs, task};
use super::*;
use forebay_model::run::ProcessRow;

/// Processes as number, parent, task, start and end; tasks of which 1 is the shell.
fn rows(shells: &[u32], processes: &[(u32, Option<u32>, u32, f64, f64)]) -> LoadedRun {
    let mut rows = LoadedRun::default();
    for &(id, parent, number, from, to) in processes {
        if !rows.tasks.iter().any(|task| task.id == number) {
            let driver = shells.contains(&number);
            rows.tasks.push(forebay_model::run::TaskRow { driver, ..task(number, "x", from, to) });
        }
        rows.processes.push(ProcessRow {
            id: ProcessId(id),
            parent: parent.map(ProcessId),
            task: Some(number),
            started: Some(secs(from)),
            ended: Some(secs(to)),
            ..ProcessRow::default()
        });
    }
    rows
}

/// Edges by number of task: (later, earlier).
fn found(rows: &LoadedRun) -> Vec<(u32, u32)> {
    let line = Timeline::from_rows(rows);
    let id = |at: usize| rows.tasks[line.ran[at].row].id;
    let mut all: Vec<_> = sibling_edges(rows, &line)
        .into_iter()
        .map(|(later, earlier)| (id(later), id(earlier)))
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn programs_of_a_script_wait_for_the_one_before_and_for_no_other() {
    let script = rows(
        &[1],
        &[
            (0, None, 1, 0.0, 9.0),
            (1, Some(0), 2, 0.0, 3.0),
            // An end is seen late, and a start told early.
            (2, Some(0), 3, 2.99, 6.0),
            (3, Some(0), 4, 6.1, 9.0),
        ],
    );
    assert_eq!(found(&script), [(3, 2), (4, 3)]);
}

#[test]
fn of_two_slots_each_next_one_waits_for_those_that_had_ended() {
    let xargs = rows(
        &[1],
        &[
            (0, None, 1, 0.0, 9.0),
            (1, Some(0), 2, 0.0, 2.0),
            (2, Some(0), 3, 0.0, 3.0),
            (3, Some(0), 4, 2.0, 5.0),
            (4, Some(0), 5, 3.0, 4.0),
        ],
    );
    // For 2, too: nothing says which of the two it was.
    assert_eq!(found(&xargs), [(4, 2), (5, 2), (5, 3)]);
}

#[test]
fn what_comes_after_a_wait_waits_for_all_that_a_shell_within_started() {
    // ( 3; 4 ) & 5 & wait; 6
    let script = rows(
        &[1, 2],
        &[
            (0, None, 1, 0.0, 9.0),
            (1, Some(0), 2, 0.0, 4.0),
            (2, Some(1), 3, 0.0, 2.0),
            (3, Some(1), 4, 2.0, 4.0),
            (4, Some(0), 5, 0.0, 1.0),
            (5, Some(0), 6, 4.0, 5.0),
        ],
    );
    assert_eq!(found(&script), [(4, 3), (6, 4), (6, 5)]);
}

#[test]
fn what_a_pipe_feeds_waits_for_the_end_of_its_source() {
    // 2 | xargs 4, and xargs of its own list beside 2.
    let feed = |starts: f64| {
        let script = rows(
            &[1, 3],
            &[
                (0, None, 1, 0.0, 9.0),
                (1, Some(0), 2, 0.0, 2.0),
                (2, Some(0), 3, 0.0, 3.0),
                (3, Some(2), 4, starts, 3.0),
            ],
        );
        found(&script)
    };
    assert_eq!(feed(1.99), [(4, 2)]);
    assert_eq!(feed(0.01), []);
    assert_eq!(feed(1.5), []);
}

#[test]
fn tasks_of_an_engine_wait_for_what_it_tells_alone() {
    let mut engine =
        rows(&[1], &[(0, None, 1, 0.0, 9.0), (1, Some(0), 2, 0.0, 2.0), (2, Some(0), 3, 3.0, 4.0)]);
    for task in engine.tasks.iter_mut().filter(|task| !task.driver) {
        task.engine = "snakemake".to_owned();
    }
    assert_eq!(found(&engine), []);
}

#[test]
fn a_record_of_processes_that_are_each_others_parents_ends() {
    let circle = rows(&[1], &[(0, Some(1), 1, 0.0, 9.0), (1, Some(0), 1, 0.0, 9.0)]);
    assert_eq!(found(&circle), []);
}

#[test]
fn thousands_that_thousands_wait_for_stay_affordable() {
    let all: Vec<ChildTasks> = (0..20_000)
        .map(|at| {
            let from = if at < 10_000 { 0.0 } else { 5.0 };
            ChildTasks {
                from,
                works_from: from,
                to: from + 4.0,
                first: vec![at],
                last: vec![at],
                told: false,
            }
        })
        .collect();
    let edges = waits_among(&mut all.clone());
    assert!((10_000..=EDGES_MAX).contains(&edges.len()), "{}", edges.len());
}

#[test]
fn two_shells_of_thousands_each_stay_affordable() {
    let shell = |from: f64, tasks: std::ops::Range<usize>| {
        let first: Vec<usize> = tasks.collect();
        ChildTasks {
            from,
            works_from: from,
            to: from + 4.0,
            last: first.clone(),
            first,
            told: false,
        }
    };
    let edges = waits_among(&mut [shell(0.0, 0..10_000), shell(5.0, 10_000..20_000)]);
    assert!((10_000..=EDGES_MAX).contains(&edges.len()), "{}", edges.len());
}
