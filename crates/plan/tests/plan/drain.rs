//! Files come home from tiers: cases by hand, and laws over odd ones. If these fail, a plan says a
//! run is over while its results are still somewhere else, or counts bytes twice or never.

use crate::common::*;
use forebay_model::workload::{DeletionPoint, TaskId};
use forebay_model::{FileLocation, Seconds, Site, TierId, Workload, WriteBackTrigger};
use forebay_plan::simulate::SimulationEvent;
use forebay_plan::{Choice, Outcome, PreparedProblem, SimulationError, simulate, simulate_watched};

const SLOW: &str = "[tier.slow.profile]\nsource = \"us\"\nlatency = { create = \"1 s\" }\n\
    read = { stream = \"100 MiB/s\" }\nwrite = { stream = \"100 MiB/s\", total = \"200 MiB/s\" }";
const FAST: &str = "capacity = \"1 GiB\"\n[tier.fast.profile]\nsource = \"us\"";
const HOME: &str = "home = \"fast\"\nfull = \"fail\"";

fn near(a: Seconds, b: f64) {
    assert!((a.get() - b).abs() <= 1e-6 * b.max(1.0), "{a:?} is not {b} s");
}

/// As in all tests, but names cost nothing as they are made: here it is about those at home.
fn writers(count: u32, compute: f64, mib: u64) -> Workload {
    let mut work = crate::common::writers(count, compute, mib);
    let steps = work.tasks.iter_mut().flat_map(|task| &mut task.steps);
    steps.flat_map(|step| &mut step.accesses).for_each(|access| access.ops.clear());
    work
}

/// What comes of it, and all that was seen, in words.
fn run(
    site: &Site,
    work: &Workload,
    rule: &str,
) -> (Result<Outcome, SimulationError>, Vec<String>) {
    let scene = PreparedProblem::new(site, work).expect("a scene");
    let placements = vec![placed(site, rule); work.classes.len()];
    let choice = Choice { placements, ..choice(site, work, "slow") };
    let mut seen = Vec::new();
    let mut watch = |at: Seconds, what: &SimulationEvent<'_>| match what {
        SimulationEvent::Leaves { files, bytes, .. } => {
            seen.push(format!("{:.0} leaves {} {bytes}", at.get(), files.0));
        }
        SimulationEvent::Landed { files, .. } => {
            seen.push(format!("{:.0} landed {}", at.get(), files.0))
        }
        SimulationEvent::Stays { files, .. } => {
            seen.push(format!("{:.0} stays {}", at.get(), files.0))
        }
        _ => {}
    };
    let outcome = simulate_watched(&scene, &choice, 0, &mut watch);
    (outcome, seen)
}

fn tier<'o>(outcome: &'o Outcome, name: &str) -> &'o forebay_plan::TierOutcome {
    &outcome.tiers[&TierId(name.to_owned())]
}

#[test]
fn a_run_ends_when_its_files_are_home() {
    let site = two_tiers("cores = 2", FAST, SLOW);
    let (outcome, seen) = run(&site, &writers(2, 5.0, 400), HOME);
    let outcome = outcome.expect("an outcome");
    // One after the other: each is made in 1 s and copied in 4.
    near(outcome.makespan, 15.0);
    near(outcome.homecoming, 10.0);
    near(outcome.tasks[1].ended, 5.0);
    assert_eq!(seen, ["5 leaves 0 400 MiB", "10 landed 0", "10 leaves 1 400 MiB", "15 landed 1"]);
    let (fast, slow) = (tier(&outcome, "fast"), tier(&outcome, "slow"));
    assert_eq!((fast.read_bytes.get(), slow.written_bytes.get()), (800 * MIB, 800 * MIB));
    assert_eq!((fast.drained_bytes.get(), slow.peak_bytes.get()), (800 * MIB, 800 * MIB));
    for (after, home) in [("keep", 0.0), ("discard", 0.0)] {
        let (outcome, _) = run(&site, &writers(2, 5.0, 400), &format!("{HOME}\nafter = {after:?}"));
        near(outcome.expect("an outcome").homecoming, home);
    }
}

#[test]
fn many_files_come_home_several_at_a_time_and_each_asks_for_what_it_needs() {
    let latency = "{ create = \"1 s\", setattr = \"0.5 s\", rename = \"0.5 s\", link = \"1 s\" }";
    let site = two_tiers("cores = 1", FAST, &SLOW.replace("{ create = \"1 s\" }", latency));
    let mut work = writers(1, 5.0, 160);
    work.files[0].count = 160;
    for (layout, each) in [("plain", 2.0), ("packed", 2.5)] {
        let (outcome, _) = run(&site, &work, &format!("{HOME}\nlayout = {layout:?}"));
        near(outcome.expect("an outcome").homecoming, (1.6 + 160.0 * each) / 16.0);
    }
}

#[test]
fn two_nodes_carry_at_once_and_share_what_there_is() {
    let slow = SLOW.replace("total = \"200 MiB/s\"", "total = \"100 MiB/s\"");
    // Each asks for 80 MiB/s of its 5 s: together they take 1.6 times as long where there are 100.
    for (slow, seconds) in [(SLOW, 10.0), (slow.as_str(), 13.0)] {
        let site = two_tiers("cores = 1\ncount = 2", FAST, slow);
        let (outcome, _) = run(&site, &writers(2, 5.0, 400), HOME);
        near(outcome.expect("an outcome").makespan, seconds);
    }
}

#[test]
fn what_is_closed_makes_room_while_the_run_goes_on() {
    let site = two_tiers("cores = 1", FAST, SLOW);
    let mut work = writers(6, 10.0, 400);
    for number in 1..6 {
        work.tasks[number].after = vec![TaskId(number as u32 - 1)];
    }
    let (outcome, _) = run(&site, &work, HOME);
    assert!(outcome.expect_err("2.4 GiB in one").to_string().contains("no room"));
    let (outcome, seen) = run(&site, &work, &format!("{HOME}\nwrite_back = \"on-close\""));
    let outcome = outcome.expect("an outcome");
    // Writes are free there; the last leaves at once when the run is done, those before 2 s later.
    near(outcome.makespan, 65.0);
    near(outcome.homecoming, 5.0);
    assert_eq!(seen[..3], ["12 leaves 0 400 MiB", "17 landed 0", "22 leaves 1 400 MiB"]);
    assert_eq!(tier(&outcome, "fast").peak_bytes.get(), 800 * MIB);
}

#[test]
fn who_comes_too_late_reads_in_place_and_who_comes_early_keeps_it_there() {
    let site = two_tiers("cores = 1", FAST, SLOW);
    let mut work = writers(3, 4.0, 400);
    work.tasks[1].after = vec![TaskId(0)];
    work.tasks[2].after = vec![TaskId(1)];
    work.tasks[1].steps[0].accesses = vec![reads(0, 400)];
    work.tasks[2].steps[0].accesses = vec![reads(0, 400)];
    let closed = format!("{HOME}\nwrite_back = \"on-close\"");
    let (outcome, seen) = run(&site, &work, &closed);
    // The second opens it as the first closes it, and so does the third.
    near(outcome.expect("an outcome").makespan, 17.0);
    assert_eq!(seen, ["12 leaves 0 400 MiB", "17 landed 0"]);
    // With 10 s between, it is gone when the third comes.
    work.tasks.insert(2, task(0, &[1], 10.0, vec![]));
    work.tasks[3].after = vec![TaskId(2)];
    let (outcome, seen) = run(&site, &work, &closed);
    assert_eq!(seen, ["10 leaves 0 400 MiB", "15 landed 0"]);
    near(outcome.expect("an outcome").makespan, 26.0);
    // With 3 s it is on its way, and is called back.
    work.tasks[2].steps[0].compute = Seconds(3.0);
    let (outcome, seen) = run(&site, &work, &closed);
    assert_eq!(seen, ["10 leaves 0 400 MiB", "11 stays 0", "15 leaves 0 400 MiB", "20 landed 0"]);
    let outcome = outcome.expect("an outcome");
    near(outcome.homecoming, 5.0);
    assert_eq!(tier(&outcome, "fast").drained_bytes.get(), 400 * MIB);
}

#[test]
fn what_is_deleted_does_not_come_home_and_no_room_in_place_is_told() {
    let site = two_tiers("cores = 1", FAST, &format!("capacity = \"500 MiB\"\n{SLOW}"));
    let mut work = writers(2, 10.0, 400);
    work.files[0].until = DeletionPoint::Task(TaskId(1));
    work.tasks[1].after = vec![TaskId(0)];
    let (outcome, _) = run(&site, &work, HOME);
    assert_eq!(tier(&outcome.expect("an outcome"), "fast").drained_bytes.get(), 400 * MIB);
    work.files[0].until = DeletionPoint::End;
    let (outcome, _) = run(&site, &work, HOME);
    let why = outcome.expect_err("no room").to_string();
    assert!(why.contains("no room in place for 400 MiB of \"out/#\""), "{why}");
}

#[test]
fn what_is_written_on_a_tier_comes_home_once() {
    let nodes = "cores = 3\ncount = 3";
    let fast = "capacity = \"20 GiB\"\n[tier.fast.profile]\nsource = \"us\"\nlatency = \"1 ms\"\n\
        read = { stream = \"300 MiB/s\", node = \"310 MiB/s\" }";
    let slow = "[tier.slow.profile]\nsource = \"us\"\nlatency = \"9 ms\"\n\
        write = { stream = \"90 MiB/s\", total = \"200 MiB/s\" }";
    let site = two_tiers(nodes, fast, slow);
    let rules = [
        HOME,
        "home = \"fast\"\nfull = \"fail\"\nwrite_back = \"on-close\"",
        "home = \"in-place\"",
    ];
    let mut some = 0;
    for seed in 0..200 {
        let work = layered(seed);
        let scene = PreparedProblem::new(&site, &work).expect("a scene");
        let choice = strewn(&site, &work, &mut Dice(seed), &rules);
        let Ok(outcome) = simulate(&scene, &choice, 0) else { continue };
        let (mut least, mut most) = (0, 0);
        for (number, set) in work.files.iter().enumerate().skip(1) {
            let placement = &choice.placements[set.class.index()];
            if placement.home == FileLocation::Here {
                continue;
            }
            // Files that are deleted may have come home before.
            let stays = work.files[number].until == DeletionPoint::End;
            least += if stays { set.bytes.get() } else { 0 };
            most += if stays || placement.drain == WriteBackTrigger::Closed {
                set.bytes.get()
            } else {
                0
            };
        }
        let home = tier(&outcome, "fast").drained_bytes.get();
        let pipelines = u64::from(choice.pipelines);
        assert!((least * pipelines..=most * pipelines).contains(&home), "seed {seed}: {home}");
        let last = outcome.tasks.iter().map(|task| task.ended.get()).fold(0.0, f64::max);
        near(Seconds(outcome.makespan.get() - outcome.homecoming.get()), last);
        some += usize::from(home > 0);
    }
    assert!(some > 50, "only {some} brought files home");
}
