//! The two engines against each other. If they part where nothing is uneven, one of them is wrong.

mod common;

use common::*;
use forebay_model::workload::TaskId;
use forebay_plan::{Scene, judge, simulate};

const FREE: &str = "[tier.fast.profile]\nsource = \"us\"\nread = { stream = \"300 MiB/s\" }";

#[test]
fn engines_agree_where_nothing_is_full() {
    let slow = "[tier.slow.profile]\nsource = \"us\"\nlatency = \"9 ms\"\n\
        read = { stream = \"100 MiB/s\", node = \"90 GiB/s\", total = \"99 GiB/s\" }\nservers = 7";
    let site = two_tiers("cores = 3\ncount = 3", FREE, slow);
    for seed in 0..60 {
        let work = layered(seed);
        let scene = Scene::new(&site, &work).expect("a scene");
        let choice = choice(&site, &work, "slow");
        let (a, b) = (simulate(&scene, &choice, 0), judge(&scene, &choice, 0));
        assert_eq!(a.expect("an outcome"), b.expect("an outcome"));
    }
}

#[test]
fn engines_agree_where_all_links_are_equally_full() {
    let slow = "[tier.slow.profile]\nsource = \"us\"\n\
        write = { stream = \"100 MiB/s\", node = \"150 MiB/s\", total = \"360 MiB/s\" }\nservers = 4";
    let site = two_tiers("cores = 3\ncount = 3", FREE, slow);
    let work = writers(9, 2.0, 500);
    let scene = Scene::new(&site, &work).expect("a scene");
    let choice = choice(&site, &work, "slow");
    let (a, b) = (simulate(&scene, &choice, 0), judge(&scene, &choice, 0));
    let (a, b) = (a.expect("an outcome").makespan.get(), b.expect("an outcome").makespan.get());
    assert!((a / b - 1.0).abs() < 1e-6, "{a} {b}");
}

#[test]
fn the_judge_sees_one_link_that_is_full() {
    let slow = "[tier.slow.profile]\nsource = \"us\"\n\
        write = { stream = \"100 MiB/s\", node = \"100 MiB/s\" }";
    let site = two_tiers("cores = 2\ncount = 2", FREE, slow);
    // The third task only computes: its node's link is free, and of no use to the other two.
    let mut work = writers(4, 0.0, 1000);
    for task in [1, 3] {
        work.tasks[task].steps[0].accesses.clear();
        work.tasks[task].steps[0].compute = forebay_model::Seconds(50.0);
    }
    work.tasks[3].after = vec![TaskId(0)];
    let scene = Scene::new(&site, &work).expect("a scene");
    let choice = choice(&site, &work, "slow");
    let ended = |outcome: forebay_plan::Outcome| -> Vec<(u32, f64)> {
        outcome.tasks.iter().map(|task| (task.node, task.ended.get())).collect()
    };
    let b = ended(judge(&scene, &choice, 0).expect("an outcome"));
    assert_eq!(b[0].0, b[2].0, "two writers are on one node");
    assert!(b[0].1 > 19.0 && b[2].1 > 19.0, "they share its link: {b:?}");
}
