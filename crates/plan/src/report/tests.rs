//! If these fail, a plan is explained with other words than it has figures.
use super::*;
use forebay_model::{ByteCount, Seconds, Usd};
use std::collections::BTreeMap;

fn figures(seconds: f64, usd: f64) -> PlanFigures {
    PlanFigures {
        error: 0.1,
        makespan_s: Seconds(seconds),
        homecoming_s: Seconds(0.5),
        samples_per_hour: 3600.0 / seconds,
        per_sample_usd: Some(Usd(usd)),
        utilisation: 0.5,
        peak_bytes: BTreeMap::new(),
        cost: None,
    }
}

fn plan() -> Plan {
    let lost = |what: &str| RejectedChoice {
        what: what.to_owned(),
        why: "12.0 % slower".to_owned(),
        makespan_s: Some(Seconds(1120.0)),
        per_sample_usd: Some(Usd(3.0)),
    };
    Plan {
        schema: SCHEMA,
        runs: vec!["a.run".to_owned()],
        learnt_from: None,
        site: "aws.toml".to_owned(),
        goal: "fastest".to_owned(),
        samples: 2,
        seed: 1,
        error: 0.1,
        doubts: vec!["contention was never measured".to_owned()],
        as_it_is: Some(figures(2000.0, 4.0)),
        as_it_is_why: None,
        // Both samples at a time.
        chosen: PlanFigures { samples_per_hour: 7.2, ..figures(1000.0, 2.5) },
        setting: PlanSetting {
            nodes: 1,
            slots: 8,
            pipelines: 2,
            stagger_s: Seconds(60.0),
            policy: "low".to_owned(),
            low: vec!["map".to_owned()],
            spot: true,
            pools: BTreeMap::from([("disk.cache".to_owned(), ByteCount(1 << 30))]),
        },
        moved: vec![PlacedClass {
            pattern: "tmp/#".to_owned(),
            to: "disk".to_owned(),
            files: 3,
            bytes: ByteCount(1 << 20),
            waits_in_place_s: Seconds(30.0),
            waits_s: Seconds(1.0),
        }],
        stay: vec![],
        value: 1000.0,
        bound: 800.0,
        gap: 0.25,
        unit: "seconds".to_owned(),
        search: "annealed".to_owned(),
        classes: 14,
        simulated: 99,
        alike: Some(lost("tmp/# in place")),
        lost: vec![lost("everything in place")],
        front: vec![lost("as proposed")],
        prices: None,
        unverified: vec![],
        left_out: vec!["tier x has no profile".to_owned()],
        advice: vec![],
        whole_folders: vec![],
    }
}

#[test]
fn everything_that_a_person_must_know_is_in_the_sentences() {
    let text = explain_plan(&plan()).join("\n");
    for words in [
        "The fastest way to do 2 samples on aws.toml",
        " for 2 at a time (of them 500 ms after the last task, to write results back)",
        "The plan saves 50 min 00 s for all samples, 75 %. A sample costs $1.50 less.",
        "Files of \"tmp/#\" (1.0 MiB in 3 files) go to disk: tasks wait 1.0 s for them instead of 30.0 s",
        "1 node with 8 slots each, 2 pipelines at a time, started 1 min 00 s apart, policy low with map",
        ", machines that may be taken away (spot), pool disk.cache of 1.0 GiB (set it in the site file)",
        "no placement can be below 800.0000 seconds, this is 1000.0000: a gap of 25.0 %",
        "wrong by 10 % either way, because: contention was never measured.",
        "no measurable difference to tmp/# in place",
        "Not everything in place (18 min 40 s, $3.00 a sample): 12.0 % slower.",
        "Not considered: tier x has no profile.",
    ] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
}

#[test]
fn a_difference_below_the_error_is_called_none() {
    let mut plan = plan();
    plan.as_it_is = Some(figures(525.0, 2.5));
    let text = explain_plan(&plan).join("\n");
    assert!(text.contains("no measurable difference in time"), "{text}");
    plan.search = "exhausted".to_owned();
    assert!(explain_plan(&plan).join("\n").contains("Optimal in the model"));
}

#[test]
fn of_many_classes_those_that_move_or_matter_are_told() {
    let mut plan = plan();
    let class = |number: usize, to: &str, waits: f64| PlacedClass {
        pattern: format!("{to}/{number}"),
        to: to.to_owned(),
        waits_s: Seconds(waits),
        ..plan.moved[0].clone()
    };
    let moved: Vec<PlacedClass> = (0..12).map(|number| class(number, "disk", 1.0)).collect();
    let stay = |number: usize| class(number, "in place", if number < 2 { 9.0 } else { 1e-3 });
    plan.stay = (0..40).map(stay).collect();
    plan.moved = moved;
    let rows = file_rows(&plan, false);
    let names: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names[7..], ["disk/7", "and 4 more", "in place/0", "in place/1", "and 38 more"]);
    assert_eq!(rows[8][1..], ["on disk", "12", "4.0 MiB", "4.0 s", "2 min 00 s"]);
    assert_eq!((rows[11][1].as_str(), rows[11][5].as_str()), ("in place", ""));
    assert_eq!(file_rows(&plan, true).len(), 52);
    plan.lost = vec![plan.lost[0].clone(); 12];
    let told =
        |all| closing_sentences(&plan, all).iter().filter(|told| told.starts_with("Not ")).count();
    assert_eq!((told(false), told(true)), (6, 13), "and one that was not considered");
    assert!(
        closing_sentences(&plan, false).iter().any(|told| told.starts_with("7 other choices lost"))
    );
}

#[test]
fn a_plan_is_written_and_read_back() {
    let text = serde_json::to_string(&plan()).expect("plain data");
    assert_eq!(serde_json::from_str::<Plan>(&text).expect("the same"), plan());
}
