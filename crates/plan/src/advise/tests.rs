//! If these fail, people mend what costs nothing, or are not told what costs most.
use super::*;
use crate::{PolicyId, TaskOutcome};
use forebay_model::event::OpKey;
use forebay_model::workload::*;
use forebay_model::{ByteCount, TierId};
use std::collections::BTreeMap;

const SITE: &str = r#"
[tier.net]
reach = "shared"
profile = { source = "us", latency = "10 ms" }
"#;

fn workload() -> Workload {
    let access = FileSetAccess {
        files: FileSetId(0),
        ops: vec![
            (OpKey::without_bytes(Op::LookupFailed), 4500.0),
            // Each after a look at whether it is there.
            (OpKey::without_bytes(Op::Create), 500.0),
            (OpKey::without_bytes(Op::Fsync), 2000.0),
            (OpKey::without_bytes(Op::Open), 9.0),
        ],
        read: ByteCount(1 << 30),
        written: ByteCount::ZERO,
    };
    let step = TaskStep { name: "s".to_owned(), compute: Seconds(100.0), accesses: vec![access] };
    Workload {
        name: "w".to_owned(),
        classes: vec![FileClass::new("lib/#.py".to_owned(), b"lib/1.py".to_vec())],
        files: vec![FileSet {
            class: FileClassId(0),
            count: 1,
            bytes: ByteCount(1 << 30),
            until: DeletionPoint::End,
        }],
        kinds: vec![TaskKind { name: "split".to_owned(), cores: 1, memory: None }],
        tasks: vec![Task { kind: TaskKindId(0), key: None, after: vec![], steps: vec![step] }],
        ordered: false,
        doubts: vec![],
    }
}

fn advice(ended: f64, utilisation: f64) -> Vec<Advice> {
    let site = Site::parse(SITE, "site.toml", &|_| None).expect("a site");
    let workload = workload();
    let in_place = crate::choice::in_place_placement();
    let choice = Choice {
        placements: vec![in_place],
        project: TierId("net".to_owned()),
        pools: BTreeMap::new(),
        nodes: 1,
        slots: 4,
        pipelines: 1,
        stagger: Seconds::ZERO,
        policy: PolicyId("fifo"),
        low: vec![],
        spot: None,
    };
    let task = TaskOutcome {
        pipeline: 0,
        task: TaskId(0),
        node: 0,
        ready: Seconds::ZERO,
        started: Seconds::ZERO,
        ended: Seconds(ended),
        waited: Seconds::ZERO,
        lost: false,
    };
    let makespan = Seconds(ended);
    let outcome = Outcome {
        makespan,
        homecoming: Seconds::ZERO,
        tasks: vec![task],
        tiers: BTreeMap::new(),
        utilisation,
    };
    collect_advice(&Evidence {
        site: &site,
        workload: &workload,
        choice: &choice,
        outcome: &outcome,
    })
}

#[test]
fn each_kind_speaks_where_it_saves_and_the_most_comes_first() {
    let advice = advice(160.0, 0.25);
    let kinds: Vec<&str> = advice.iter().map(|advice| advice.kind.as_str()).collect();
    assert_eq!(kinds, ["serial", "failed_lookups", "fsyncs"]);
    let saves: Vec<f64> = advice.iter().map(|advice| advice.saves.get()).collect();
    // Alone for 160 s on 4 slots; 4000 look-ups and 2000 fsyncs of 10 ms.
    assert_eq!(saves, [120.0, 40.0, 20.0]);
    for (advice, words) in advice.iter().zip(["split runs alone", "4,000 look-ups", "2,000 times"])
    {
        assert!(advice.sentence.contains(words), "{}", advice.sentence);
        assert!(advice.sentence.ends_with('.'), "{}", advice.sentence);
    }
}

#[test]
fn what_saves_little_is_not_told() {
    assert!(advice(1e6, 1.0).iter().all(|advice| advice.kind == "serial"));
}

#[test]
fn the_table_has_names_for_all() {
    let mut names: Vec<&str> = ADVICE.iter().map(|kind| kind.name).collect();
    names.dedup();
    assert_eq!(names.len(), ADVICE.len());
}
