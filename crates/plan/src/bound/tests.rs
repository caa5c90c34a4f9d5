//! If these fail, a plan says that it is near the best, and is not.
use super::*;
use crate::PolicyId;
use crate::search_space::ConfigurationGrid;
use forebay_model::event::{Op, OpKey};
use forebay_model::workload::*;
use forebay_model::{ByteCount, Seconds, Site, TierId};

const SITE: &str = r#"
[nodes]
count = 1
cores = 2
[tier.net]
reach = "shared"
profile = { source = "us", write = { stream = "100 MB/s", total = "150 MB/s" } }
[tier.disk]
reach = "node"
capacity = "1 GB"
profile = { source = "us", write = { stream = "1 GB/s" } }
"#;

/// So many tasks, each writing 1 GB of a class of its own, one after the other or all at once.
fn bounds(count: u32, chain: bool) -> (LowerBounds, SearchSpace) {
    let site = Site::parse(SITE, "site.toml", &|_| None).expect("a site");
    let written = ByteCount(1_000_000_000);
    let task = |number: u32| {
        let ops = vec![(OpKey::without_bytes(Op::Create), 1.0)];
        let files = FileSetId(number);
        let access = FileSetAccess { files, ops, read: ByteCount::ZERO, written };
        let step = TaskStep { name: "s".to_owned(), compute: Seconds(1.0), accesses: vec![access] };
        let after = if chain && number > 0 { vec![TaskId(number - 1)] } else { vec![] };
        Task { kind: TaskKindId(0), key: None, after, steps: vec![step] }
    };
    let class =
        |number: u32| FileClass::new(format!("c{number}"), format!("c{number}").into_bytes());
    let set = |number: u32| FileSet {
        class: FileClassId(number),
        count: 1,
        bytes: written,
        until: DeletionPoint::End,
    };
    let workload = Workload {
        name: "w".to_owned(),
        classes: (0..count).map(class).collect(),
        files: (0..count).map(set).collect(),
        kinds: vec![TaskKind { name: "t".to_owned(), cores: 1, memory: None }],
        tasks: (0..count).map(task).collect(),
        ordered: false,
        doubts: vec![],
    };
    workload.ensure_valid().expect("a workload");
    let project = TierId("net".to_owned());
    let frames = ConfigurationGrid {
        nodes: vec![1],
        slots: vec![2],
        pipelines: vec![1],
        staggers: vec![Seconds::ZERO],
        policies: vec![(PolicyId("fifo"), vec![])],
        spots: vec![None],
        split_pools: false,
    };
    let mut space = SearchSpace::new(&site, &workload, &project, &frames);
    // What goes home when it is closed holds no room that a bound could count on.
    for options in &mut space.options {
        options.retain(|placement| placement.drain == forebay_model::WriteBackTrigger::End);
    }
    let scene = PreparedProblem::new(&site, &workload).expect("a scene");
    (LowerBounds::new(&scene, &space), space)
}

#[track_caller]
fn near(left: f64, right: f64) {
    assert!((left - right).abs() <= right * 1e-9, "{left} is not {right}");
}

#[test]
fn chains_work_and_volumes_each_bind_where_they_are_longest() {
    let aim = Objective::time_only(1.0);
    // A chain in place: 11 s each. Side by side on two slots: 5.5 s each by work, 6.67 by volume.
    for (chain, seconds) in [(true, 44.0), (false, 4.0 / 0.15)] {
        let (bounds, space) = bounds(4, chain);
        near(bounds.partial_bound(&space.frames[0], &[Some(0); 4], &aim), seconds);
    }
    // On the disk: 2 s each, two at a time.
    let (bounds, space) = bounds(4, false);
    near(bounds.partial_bound(&space.frames[0], &[Some(1); 4], &aim), 4.0);
    near(bounds.partial_bound(&space.frames[0], &[None; 4], &aim), 4.0);
}

/// Only one of the four fits on the disk: the relaxation knows it, the plain bound does not.
#[test]
fn the_relaxation_respects_the_room_that_there_is() {
    let (bounds, space) = bounds(4, true);
    let (frame, aim) = (&space.frames[0], Objective::time_only(1.0));
    near(bounds.partial_bound(frame, &[None; 4], &aim), 8.0);
    let relaxed = bounds.relaxed_bound(frame, &aim, 1);
    // The best that fits has one on the disk: 2 + 3 * 11.
    assert!(relaxed <= 35.0 + 1e-9, "{relaxed}");
    assert!(relaxed > 34.0, "the bound is weak: {relaxed}");
}

#[test]
fn tolls_count_in_a_bound_on_dollars() {
    let (bounds, space) = bounds(2, true);
    let aim = Objective { time: 0.0, tolls: vec![vec![3.0, 1.0], vec![2.0, 5.0]] };
    near(bounds.partial_bound(&space.frames[0], &[Some(0), None], &aim), 5.0);
    near(bounds.relaxed_bound(&space.frames[0], &aim, 1), 3.0);
}
