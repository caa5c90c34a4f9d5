//! Nodes that are taken away at known times. If these fail, a prediction of a run whose node was lost
//! counts other tasks as done again than the run does.

use crate::common::*;
use forebay_model::workload::DeletionPoint;
use forebay_model::{Seconds, Site, Workload};
use forebay_plan::simulate::SimulationEvent;
use forebay_plan::{
    Choice, Interruption, Interruptions, Outcome, PreparedProblem, SimulationError, simulate,
    simulate_interrupted,
};

const SLOW: &str = "[tier.slow.profile]\nsource = \"us\"\nread = { stream = \"100 MiB/s\" }";
const FAST: &str = "capacity = \"1 GiB\"\n[tier.fast.profile]\nsource = \"us\"";

/// Node `node` (from 0) is gone at `at`, and another is there `replaced` later.
fn gone(node: u32, at: f64, replaced: Option<f64>) -> Interruption {
    Interruption { node, at: Seconds(at), replaced: replaced.map(Seconds) }
}

fn interrupted(
    scene: &PreparedProblem<'_>,
    choice: &Choice,
    given: &[Interruption],
    detection: f64,
) -> Result<Outcome, SimulationError> {
    let losses =
        Interruptions::at_times(given, choice.nodes)?.detected_after(Seconds(detection))?;
    simulate_interrupted(scene, choice, losses, &mut ())
}

/// Twelve tasks of 10 s on two nodes of two slots each: four at a time, three times.
fn twelve() -> (Site, Workload) {
    let work = Workload { ordered: true, ..writers(12, 10.0, 0) };
    (two_tiers("cores = 2\ncount = 2", FAST, SLOW), work)
}

/// By task: its node and from when to when, of all attempts of it.
fn attempts(outcome: &Outcome, task: u32) -> Vec<(u32, f64, f64, bool)> {
    let of_it = outcome.tasks.iter().filter(|one| one.task.0 == task);
    of_it.map(|one| (one.node, one.started.get(), one.ended.get(), one.lost)).collect()
}

#[test]
fn only_unfinished_tasks_of_the_lost_node_begin_again() {
    let (site, work) = twelve();
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let choice = choice(&site, &work, "slow");
    let calm = simulate(&scene, &choice, 0).expect("an outcome");
    assert_eq!((calm.makespan, calm.rework().tasks), (Seconds(30.0), 0));
    let outcome = interrupted(&scene, &choice, &[gone(1, 14.0, None)], 0.0).expect("an outcome");
    // Two of the second four were on it, each for 4 s.
    let rework = outcome.rework();
    assert_eq!((rework.tasks, rework.lost), (2, Seconds(8.0)));
    let lost: Vec<u32> =
        outcome.tasks.iter().filter(|task| task.lost).map(|task| task.task.0).collect();
    for task in 0..12 {
        let all = attempts(&outcome, task);
        let again = lost.contains(&task);
        assert_eq!(all.len(), if again { 2 } else { 1 }, "task {task}: {all:?}");
        if again {
            let (node, started, ended, _) = all[0];
            assert_eq!((node, started, ended), (1, 10.0, 14.0), "task {task}");
        }
    }
    // An engine submits them anew: behind all that waited.
    let first_start = |task: u32| attempts(&outcome, task)[0].1;
    let last_start = |task: &u32| attempts(&outcome, *task)[1].1;
    let waited = (8..12).map(first_start).fold(0.0, f64::max);
    assert!(lost.iter().map(last_start).all(|again| again >= waited), "{lost:?}");
    // Those that were done by then count: four more and the two again, two at a time on what is left.
    assert_eq!(outcome.makespan, Seconds(50.0));
    assert!(outcome.tasks.iter().all(|task| task.node == 0 || task.started < Seconds(14.0)));
}

#[test]
fn a_node_that_is_replaced_works_again() {
    let (site, work) = twelve();
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let choice = choice(&site, &work, "slow");
    let given = [gone(1, 14.0, Some(8.0))];
    let outcome = interrupted(&scene, &choice, &given, 0.0).expect("an outcome");
    let later: Vec<f64> = outcome
        .tasks
        .iter()
        .filter(|task| task.node == 1 && task.started > Seconds(14.0))
        .map(|task| task.started.get())
        .collect();
    assert_eq!(later, [22.0, 22.0, 32.0, 32.0][..later.len()], "{later:?}");
    assert!(later.len() >= 2);
    // At 20 two begin on the node that is left, at 22 two here, at 30 the last two.
    assert_eq!(outcome.makespan, Seconds(40.0));
}

#[test]
fn what_happens_after_the_end_or_beside_all_tasks_changes_nothing() {
    let (site, work) = twelve();
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let choice = choice(&site, &work, "slow");
    let calm = simulate(&scene, &choice, 0).expect("an outcome");
    let mut seen = 0;
    for given in [gone(1, 30.0, None), gone(0, 1e6, Some(5.0))] {
        let losses = Interruptions::at_times(&[given], 2).expect("it can be");
        let mut watch = |_: Seconds, what: &SimulationEvent<'_>| {
            seen += u32::from(matches!(what, SimulationEvent::Interrupted { .. }));
        };
        let outcome = simulate_interrupted(&scene, &choice, losses, &mut watch);
        assert_eq!(outcome.expect("an outcome"), calm, "{given:?}");
    }
    assert!(seen <= 1, "at most the one at the very end is told");
    // Of three tasks the last is alone on a node; the other node is idle then.
    let few = writers(5, 10.0, 0);
    let scene = PreparedProblem::new(&site, &few).expect("a scene");
    let calm = simulate(&scene, &choice, 0).expect("an outcome");
    let idle = 1 - calm.tasks[4].node;
    let outcome = interrupted(&scene, &choice, &[gone(idle, 15.0, None)], 0.0);
    assert_eq!(outcome.expect("an outcome"), calm);
}

#[test]
fn a_loss_is_begun_again_when_the_engine_has_noticed() {
    let (site, work) = (two_tiers("cores = 2\ncount = 2", FAST, SLOW), writers(4, 10.0, 0));
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let choice = choice(&site, &work, "slow");
    let takes = |detection, replaced| {
        let outcome = interrupted(&scene, &choice, &[gone(1, 4.0, replaced)], detection);
        outcome.expect("an outcome")
    };
    // The node that is left is free after 10 s.
    assert_eq!(takes(0.0, None).makespan, Seconds(20.0));
    assert_eq!(takes(6.0, None).makespan, Seconds(20.0));
    let late = takes(60.0, None);
    assert_eq!(late.makespan, Seconds(74.0));
    // Who waits for the engine does not wait for a slot.
    let again = late.tasks.iter().filter(|task| task.started > Seconds(4.0));
    assert!(again.clone().count() == 2 && again.clone().all(|task| task.ready == task.started));
    // A node that is back sooner is of no use before.
    assert_eq!(takes(60.0, Some(1.0)).makespan, Seconds(74.0));
    assert_eq!(late.rework(), takes(0.0, None).rework());
}

#[test]
fn a_node_may_be_away_from_the_start_and_go_twice() {
    let (site, work) = twelve();
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let choice = choice(&site, &work, "slow");
    let outcome = interrupted(&scene, &choice, &[gone(0, 0.0, None)], 0.0).expect("an outcome");
    assert_eq!((outcome.makespan, outcome.rework().tasks), (Seconds(60.0), 0));
    let twice = [gone(1, 5.0, Some(5.0)), gone(1, 15.0, Some(5.0))];
    let outcome = interrupted(&scene, &choice, &twice, 0.0).expect("an outcome");
    assert_eq!(outcome.rework().tasks, 4);
    assert_eq!(outcome.makespan, Seconds(40.0));
    // Nobody is left, and nobody comes.
    let all = [gone(0, 5.0, None), gone(1, 6.0, None)];
    let why = interrupted(&scene, &choice, &all, 0.0).expect_err("no nodes").to_string();
    assert!(why.contains("\"write\"") && why.contains("never starts: no node"), "{why}");
}

#[test]
fn room_of_what_was_lost_is_given_back() {
    let (site, work) = (two_tiers("cores = 2\ncount = 2", FAST, SLOW), writers(4, 10.0, 100));
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let choice = choice(&site, &work, "slow");
    let calm = simulate(&scene, &choice, 0).expect("an outcome");
    let outcome = interrupted(&scene, &choice, &[gone(1, 4.0, None)], 0.0).expect("an outcome");
    let slow = forebay_model::TierId("slow".to_owned());
    assert_eq!(outcome.tiers[&slow].peak_bytes, calm.tiers[&slow].peak_bytes);
}

/// Two nodes with a disk each.
fn own_disks() -> Site {
    site(
        "[nodes]\ncores = 1\ncount = 2\n[tier.disk]\nreach = \"node\"\npath = \"/disk\"\n\
         capacity = \"1 GiB\"\n[tier.disk.profile]\nsource = \"us\"\n[tier.slow]\nreach = \"shared\"\n\
         [tier.slow.profile]\nsource = \"us\"\nread = { stream = \"100 MiB/s\" }\n",
    )
}

#[test]
fn what_a_lost_node_has_to_itself_may_be_nobody_elses() {
    let site = own_disks();
    let given = [gone(1, 4.0, None)];
    let with = |rule: &str, until: DeletionPoint| {
        let mut work = writers(2, 10.0, 1);
        for files in &mut work.files {
            files.until = until;
        }
        let scene = PreparedProblem::new(&site, &work).expect("a scene");
        let mut choice = choice(&site, &work, "slow");
        choice.placements = vec![placed(&site, rule)];
        simulate(&scene, &choice, 0).expect("nobody is taken away");
        interrupted(&scene, &choice, &given, 0.0)
    };
    let task = DeletionPoint::Task(forebay_model::workload::TaskId(0));
    // Results would come home at the end; files of a task alone, or on their way at once, need not.
    let why = with("home = \"disk\"", DeletionPoint::End).expect_err("lost").to_string();
    assert!(why.contains("would be lost with a machine") && why.contains("\"disk\""), "{why}");
    with("home = \"disk\"\nwrite_back = \"on-close\"", DeletionPoint::End).expect("an outcome");
    with("home = \"disk\"", task).expect("an outcome");
    with("home = \"in-place\"", DeletionPoint::End).expect("an outcome");
}

#[test]
fn copies_of_a_lost_node_are_not_those_of_the_next_one() {
    // One node: a task reads 500 MiB and leaves a copy in its memory, which the second one finds.
    let site = two_tiers("cores = 1\nmemory = \"2 GiB\"", FAST, SLOW);
    let mut work = writers(1, 1.0, 0);
    work.classes.push(class("in/#"));
    work.files.push(set(1, 500, DeletionPoint::End));
    work.tasks =
        vec![task(0, &[], 1.0, vec![reads(1, 500)]), task(0, &[0], 1.0, vec![reads(1, 500)])];
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let choice = choice(&site, &work, "slow");
    assert_eq!(simulate(&scene, &choice, 0).expect("an outcome").makespan, Seconds(7.0));
    let outcome = interrupted(&scene, &choice, &[gone(0, 6.0, Some(0.0))], 0.0);
    let outcome = outcome.expect("an outcome");
    assert_eq!((outcome.makespan, outcome.rework().tasks), (Seconds(12.0), 0));
}
