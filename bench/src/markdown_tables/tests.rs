//! Lost if these fail: the tables that are published.

use super::*;
use crate::launch::CommandOutcome;
use crate::saved_results::RunLabel;

fn record(name: &str, who: RunUser, arm: Arm, block: u32, seconds: f64) -> RunRecord {
    let label =
        RunLabel { session: "s1".to_owned(), name: name.to_owned(), who, arm, block, order: 0 };
    let measured = Measurement { ops: 1_000, ops_all: 1_000, seconds, ..Measurement::default() };
    let requests = match arm {
        Arm::Bare => BTreeMap::new(),
        _ => BTreeMap::from([("create".to_owned(), 1_000), ("lookup".to_owned(), 2_000)]),
    };
    let ended =
        CommandOutcome { wall_s: seconds, cpu_s: seconds * 1.5, ..CommandOutcome::default() };
    RunRecord { label, at_unix: 0, ended, measured: Some(measured), requests, failure: None }
}

fn saved(name: &str, covered_s: &[f64]) -> SavedResults {
    let sessions = vec![Session {
        session: "s1".to_owned(),
        mode: "micro".to_owned(),
        build: "b".to_owned(),
        seed: 1,
        conditions: vec!["two cores".to_owned()],
    }];
    let mut records = Vec::new();
    for (block, covered_s) in covered_s.iter().enumerate() {
        records.push(record(name, RunUser::Root, Arm::Bare, block as u32, 1.0));
        records.push(record(name, RunUser::Root, Arm::Covered, block as u32, *covered_s));
        records.push(record(name, RunUser::User, Arm::Covered, block as u32, *covered_s * 2.0));
    }
    SavedResults { sessions, records }
}

#[test]
fn a_micro_row_is_paired_with_the_bare_run_of_its_block() {
    let mut missed = 0;
    let text = micro_tables(&saved("create-300", &[2.0; 7]), &mut missed);
    assert!(
        text.contains(
            "| create-300 | root | 1,000/s | 500/s | 0.50 | ratio ≥ 0.25 | 0.50 | pass |"
        ),
        "{text}"
    );
    assert!(text.contains("| create-300 | user | 1,000/s | 250/s | 0.25 |"), "{text}");
    assert!(
        text.contains("| create-300 | root | 3.00 |  |  | lookup 2.00, create 1.00 |"),
        "{text}"
    );
    assert!(text.contains("two cores"));
    assert_eq!(missed, 0);
}

#[test]
fn a_promise_of_requests_is_judged() {
    let mut missed = 0;
    let mut saved = saved("packed-create-300", &[1.0; 7]);
    let text = micro_tables(&saved, &mut missed);
    assert!(text.contains("| packed-create-300 | root | 3.00 | ≤ 5 | pass | lookup"), "{text}");
    assert_eq!(missed, 0);
    for record in saved.records.iter_mut().filter(|record| record.label.arm != Arm::Bare) {
        record.requests.insert("write".to_owned(), 2_500);
    }
    let text = micro_tables(&saved, &mut missed);
    assert!(text.contains("| user | 5.50 | ≤ 5 | **miss** |"), "{text}");
    assert_eq!(missed, 2);
}

#[test]
fn a_miss_is_counted_and_few_runs_are_called_a_range() {
    let mut missed = 0;
    let text = micro_tables(&saved("create-300", &[5.0, 6.0, 5.5]), &mut missed);
    assert!(text.contains("**miss**") && text.contains("(range, 3 runs)"), "{text}");
    assert_eq!(missed, 2);
}

#[test]
fn only_whole_pairs_count_and_failures_are_told() {
    let mut saved = saved("rename", &[2.0; 7]);
    saved.records[1].failure = Some("killed".to_owned());
    let text = micro_tables(&saved, &mut 0);
    assert!(text.contains("| 6 | 0.0 / – | 1 failed |"), "{text}");
}

#[test]
fn a_pipeline_row_shows_more_wall_and_more_cpu() {
    let text = pipeline_table(&saved("wgs", &[1.02; 15]), &mut 0);
    assert!(
        text.contains("| wgs | root | covered | 1.00 s | 1.02 s | +2.0 % | ≤ 3 %, bound ≤ 6 % |"),
        "{text}"
    );
    assert!(text.contains("| pass | 15 | 1.50 | 1.53 | +2.0 % |"), "{text}");
}

#[test]
fn thousands_are_grouped() {
    assert_eq!(group_thousands(1_234_567.0, 0), "1,234,567");
    assert_eq!(group_thousands(999.94, 1), "999.9");
    assert_eq!(group_thousands(12.0, 2), "12.00");
}

#[test]
fn each_goal_stands_beside_its_figure_with_met_or_missed() {
    let small = saved("uring-create-300", &[5.0; 7]);
    let text = goal_tables::goal_tables(&small, &SavedResults::default());
    assert!(text.contains("| mount, root, in place | 0.20, goal 0.29, **missed** | – |"), "{text}");
    assert!(text.contains("| mount, ordinary user | 0.10, goal 0.25, **missed** | – |"), "{text}");
    assert!(text.contains("| run, bpf | – | – | – | – | – | – |"), "{text}");
    let barely = goal_tables::goal_tables(&saved("bpf-unlink", &[1.055; 7]), &small);
    assert!(barely.contains("| – | 0.948, goal 0.95, **missed** | – |"), "{barely}");
}

#[test]
fn each_way_of_recording_a_pipeline_has_its_goal() {
    let mut large = saved("git", &[1.04; 15]);
    for at in 0..large.records.len() {
        let mut again = large.records[at].clone();
        if again.label.arm == Arm::Covered {
            again.ended.daemon_mib = Some(17.4);
            large.records[at].ended.daemon_mib = Some(17.4);
            again.label.arm = Arm::Rules;
            large.records.push(again.clone());
            again.label.arm = Arm::Notify;
            large.records.push(again);
        }
    }
    let text = goal_tables::goal_tables(&SavedResults::default(), &large);
    let row = "| git | root | – | 1.040, goal 1.03, **missed** | 1.040, goal 1.03, **missed** | \
               1.040, goal 1.05, met | – | 17 MiB, goal 20, met |";
    assert!(text.contains(row), "{text}");
}
