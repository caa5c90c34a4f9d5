//! If these fail, a plan is called the best that is not, does not fit on its tier, or is another
//! one tomorrow.

mod toy;

use super::dice::Dice;
use super::*;
use crate::bound::Profiles;
use crate::space::Space;
use forebay_model::Seconds;
use toy::{Toy, frames, random, site};

fn wanted(goal: Goal) -> Wanted {
    Wanted { goal, samples: 3, seed: 7, error: 0.0 }
}

/// All points of a space.
fn all(space: &Space) -> Vec<Point> {
    let mut points = vec![space.as_it_is()];
    for class in space.free() {
        let options = 0..space.options[class].len();
        points = options
            .flat_map(|option| points.iter().map(move |point| with(point, class, option)))
            .collect();
    }
    let frames = 0..space.frames.len();
    frames.flat_map(|frame| points.iter().map(move |p| Point { frame, ..p.clone() })).collect()
}

struct Case {
    toy: Toy,
    space: Space,
    bounds: Bounds,
}

fn case(seed: u64, classes: usize, tasks: usize) -> Case {
    let site = site();
    let workload = random(&mut Dice::new(seed), classes, tasks);
    workload.check().expect("a workload");
    let project = toy::project();
    let space = Space::new(&site, &workload, &project, &frames());
    let floor = Profiles::new(&site, &project, false);
    let bounds = Bounds::new(&site, &workload, &space, &floor);
    Case { toy: Toy::new(site, workload), space, bounds }
}

fn run(case: &mut Case, wanted: Wanted) -> Found {
    search(&case.space, &case.bounds, &mut case.toy, wanted, &mut |_| true).expect("a plan")
}

/// Exhaustion with bounds finds what plain enumeration finds, and no bound is above it.
#[test]
fn exhaustion_equals_brute_force_and_no_bound_is_above_it() {
    for seed in 0..40 {
        for goal in [Goal::Fastest, Goal::Cheapest, Goal::Throughput] {
            let mut case = case(seed, 4, 7);
            let found = run(&mut case, wanted(goal));
            let points = all(&case.space);
            let choices: Vec<Choice> = points.iter().map(|p| case.space.choice(p)).collect();
            let scores = case.toy.judge(&choices);
            let values = points.iter().zip(scores).filter_map(|(point, score)| {
                case.space.fits_together(point).then_some(())?;
                Some(goal.value(&case.space.frames[point.frame], 3, &score.ok()?))
            });
            let best = values.fold(f64::INFINITY, f64::min);
            assert_eq!(found.rung, Rung::Exhausted);
            assert!((found.value - best).abs() <= best * 1e-12, "seed {seed}: {found:?} {best}");
            assert!(found.bound <= best * (1.0 + 1e-9), "seed {seed}: {} > {best}", found.bound);
            assert!(found.simulated <= points.len());
        }
    }
}

#[test]
fn no_plan_exceeds_a_capacity_or_is_worse_than_leaving_all_in_place() {
    for seed in 0..40 {
        for goal in [Goal::Fastest, Goal::Cheapest] {
            let mut case = case(seed, 5, 12);
            let found = run(&mut case, wanted(goal));
            let choice = case.space.choice(&found.chosen);
            assert!(case.toy.overfull(&choice).is_none(), "seed {seed}");
            if let Some(as_it_is) = found.as_it_is_value {
                assert!(found.value <= as_it_is * (1.0 + 1e-12), "seed {seed}");
            }
        }
    }
}

#[test]
fn with_many_classes_the_gap_is_told_and_the_same_seed_gives_the_same_plan() {
    let mut same = Vec::new();
    for _ in 0..2 {
        let mut case = case(3, 14, 40);
        let found = run(&mut case, wanted(Goal::Fastest));
        assert!(matches!(found.rung, Rung::Annealed), "{}", found.classes);
        assert!(found.bound > 0.0 && found.bound <= found.value);
        same.push(format!("{found:?}"));
    }
    assert_eq!(same[0], same[1]);
}

#[test]
fn a_budget_that_ends_leaves_a_plan_that_does_not_call_itself_proven() {
    let mut case = case(5, 5, 12);
    let space = &case.space;
    let found = search(space, &case.bounds, &mut case.toy, wanted(Goal::Fastest), &mut |n| n < 2);
    let found = found.expect("a plan");
    assert_eq!(found.rung, Rung::Stopped);
    assert!(found.value <= found.as_it_is_value.expect("in place is possible"));
    assert!(found.bound <= found.value);
}

#[test]
fn what_the_model_cannot_tell_apart_goes_to_the_cheaper() {
    let mut cheaper = 0;
    for seed in 0..20 {
        let mut case = case(seed, 4, 8);
        let plain = run(&mut case, wanted(Goal::Fastest));
        let blurred = run(&mut case, Wanted { error: 0.3, ..wanted(Goal::Fastest) });
        assert!(blurred.value <= plain.value * 1.3 * (1.0 + 1e-12));
        let usd = |found: &Found| found.score.per_sample.expect("prices").get();
        assert!(usd(&blurred) <= usd(&plain));
        if let Some((_, score)) = &blurred.alike {
            assert_eq!(score.makespan, plain.score.makespan, "seed {seed}");
            cheaper += 1;
        }
    }
    assert!(cheaper > 3, "only {cheaper} of 20 were alike");
}

#[test]
fn the_front_has_nothing_that_is_beaten() {
    let mut case = case(11, 4, 8);
    let found = run(&mut case, wanted(Goal::Fastest));
    for pair in found.front.windows(2) {
        let (a, b) = (pair[0].1, pair[1].1);
        assert!(a.makespan < b.makespan && a.per_sample > b.per_sample);
    }
    assert!(!found.front.is_empty());
}

#[test]
fn each_that_lost_has_a_figure_or_a_reason() {
    let mut case = case(2, 4, 8);
    let found = run(&mut case, wanted(Goal::Fastest));
    assert!(!found.rejected.is_empty());
    for rejected in &found.rejected {
        match &rejected.score {
            Ok(score) => assert!(score.makespan > Seconds::ZERO && rejected.ratio >= Some(1.0)),
            Err(why) => assert!(!why.is_empty()),
        }
    }
}
