//! If these fail, a plan is called the best that is not, does not fit on its tier, or is another
//! one tomorrow.

mod toy;

use super::*;
use crate::search_space::SearchSpace;
use crate::seeded_rng::SeededRng;
use crate::{PreparedProblem, simulate};
use forebay_model::{FileLocation, Seconds, Site, TierId, Workload};
use toy::{Toy, frames, random, site};

fn wanted(goal: Goal) -> SearchRequest {
    SearchRequest { goal, samples: 3, seed: 7, error: 0.0 }
}

/// All points of a space.
fn all(space: &SearchSpace) -> Vec<SearchPoint> {
    let mut points = vec![space.all_in_place()];
    for class in space.free_classes() {
        let options = 0..space.options[class].len();
        points = options
            .flat_map(|option| points.iter().map(move |point| with_placement(point, class, option)))
            .collect();
    }
    let frames = 0..space.frames.len();
    frames
        .flat_map(|frame| points.iter().map(move |p| SearchPoint { frame, ..p.clone() }))
        .collect()
}

struct Case {
    site: Site,
    workload: Workload,
}

fn case(seed: u64, classes: usize, tasks: usize) -> Case {
    let workload = random(&mut SeededRng::new(seed), classes, tasks);
    workload.ensure_valid().expect("a workload");
    let nodes = if seed % 3 == 1 { 3 } else { 1 };
    Case { site: site(seed.is_multiple_of(2), nodes), workload }
}

/// A case that is looked at.
struct Ready<'c> {
    scene: &'c PreparedProblem<'c>,
    space: SearchSpace,
    bounds: LowerBounds,
}

impl<'c> Ready<'c> {
    fn new(scene: &'c PreparedProblem<'c>) -> Self {
        let nodes = scene.site.nodes().map_or(1, |nodes| nodes.count);
        let space = SearchSpace::new(scene.site, scene.workload, &toy::project(), &frames(nodes));
        let bounds = LowerBounds::new(scene, &space);
        Self { scene, space, bounds }
    }

    fn run(&self, wanted: SearchRequest) -> SearchResult {
        let mut toy = Toy::new(self.scene);
        find_best_choice(&self.space, &self.bounds, &mut toy, wanted, &mut |_| true)
            .expect("a plan")
    }
}

/// Exhaustion with bounds finds what plain enumeration finds, and no bound is above it.
#[test]
fn exhaustion_equals_brute_force_and_no_bound_is_above_it() {
    for seed in 0..40 {
        for goal in [Goal::Fastest, Goal::Cheapest, Goal::Throughput] {
            let case = case(seed, 4, 7);
            let scene = PreparedProblem::new(&case.site, &case.workload).expect("a scene");
            let ready = Ready::new(&scene);
            let found = ready.run(wanted(goal));
            let points = all(&ready.space);
            let choices: Vec<Choice> = points.iter().map(|p| ready.space.choice_at(p)).collect();
            let scores = Toy::new(&scene).score_choices(&choices);
            let values = points.iter().zip(scores).filter_map(|(point, score)| {
                ready.space.fits_together(point).then_some(())?;
                Some(goal.value_of_score(&ready.space.frames[point.frame], 3, &score.ok()?))
            });
            let best = values.fold(f64::INFINITY, f64::min);
            assert_eq!(found.rung, SearchExtent::Exhausted);
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
            let case = case(seed, 5, 12);
            let scene = PreparedProblem::new(&case.site, &case.workload).expect("a scene");
            let ready = Ready::new(&scene);
            let found = ready.run(wanted(goal));
            let choice = ready.space.choice_at(&found.chosen);
            let outcome = simulate(&scene, &choice, 1).expect("it is possible");
            for (id, tier) in &outcome.tiers {
                let room = case.site.tier(id).and_then(|tier| tier.capacity);
                let room = room.map_or(f64::INFINITY, |room| room.get() as f64);
                assert!(tier.peak_bytes_per_node <= room, "seed {seed}: {id}");
            }
            // Nothing spilled either: what is written is written where the plan says.
            let disk = TierId("disk".to_owned());
            let homes =
                choice.placements.iter().map(|p| p.home == FileLocation::Tier(disk.clone()));
            let homes: Vec<bool> = homes.collect();
            let accesses = case.workload.tasks.iter().flat_map(|t| &t.steps[0].accesses);
            let there =
                accesses.filter(|a| homes[case.workload.files[a.files.index()].class.index()]);
            let written: u64 = there.map(|access| access.written.get()).sum();
            let pipelines = u64::from(choice.pipelines);
            assert_eq!(outcome.tiers[&disk].written_bytes.get(), written * pipelines, "{seed}");
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
        let case = case(3, 14, 40);
        let scene = PreparedProblem::new(&case.site, &case.workload).expect("a scene");
        let ready = Ready::new(&scene);
        let found = ready.run(wanted(Goal::Fastest));
        assert!(matches!(found.rung, SearchExtent::Annealed), "{}", found.classes);
        assert!(found.bound > 0.0 && found.bound <= found.value);
        same.push(format!("{found:?}"));
    }
    assert_eq!(same[0], same[1]);
}

#[test]
fn a_budget_that_ends_leaves_a_plan_that_does_not_call_itself_proven() {
    let case = case(5, 5, 12);
    let scene = PreparedProblem::new(&case.site, &case.workload).expect("a scene");
    let ready = Ready::new(&scene);
    let space = &ready.space;
    let found = find_best_choice(
        space,
        &ready.bounds,
        &mut Toy::new(&scene),
        wanted(Goal::Fastest),
        &mut |n| n < 2,
    );
    let found = found.expect("a plan");
    assert_eq!(found.rung, SearchExtent::Stopped);
    assert!(found.value <= found.as_it_is_value.expect("in place is possible"));
    assert!(found.bound <= found.value);
}

#[test]
fn what_the_model_cannot_tell_apart_goes_to_the_cheaper() {
    let mut cheaper = 0;
    for seed in 0..20 {
        let case = case(seed, 4, 8);
        let scene = PreparedProblem::new(&case.site, &case.workload).expect("a scene");
        let ready = Ready::new(&scene);
        let plain = ready.run(wanted(Goal::Fastest));
        let blurred = ready.run(SearchRequest { error: 0.3, ..wanted(Goal::Fastest) });
        assert!(blurred.value <= plain.value * 1.3 * (1.0 + 1e-12));
        let usd = |found: &SearchResult| found.score.per_sample.expect("prices").get();
        // What stays as it is may be dearer by what nobody can measure.
        assert!(usd(&blurred) <= usd(&plain) * 1.3);
        if let Some((_, score)) = &blurred.alike {
            assert_eq!(score.makespan, plain.score.makespan, "seed {seed}");
            cheaper += 1;
        }
    }
    assert!(cheaper > 0, "only {cheaper} of 20 were alike");
}

#[test]
fn the_front_has_nothing_that_is_beaten() {
    let case = case(11, 4, 8);
    let scene = PreparedProblem::new(&case.site, &case.workload).expect("a scene");
    let ready = Ready::new(&scene);
    let found = ready.run(wanted(Goal::Fastest));
    for pair in found.front.windows(2) {
        let (a, b) = (pair[0].1, pair[1].1);
        assert!(a.makespan < b.makespan && a.per_sample > b.per_sample);
    }
    assert!(!found.front.is_empty());
}

#[test]
fn each_that_lost_has_a_figure_or_a_reason() {
    let case = case(2, 4, 8);
    let scene = PreparedProblem::new(&case.site, &case.workload).expect("a scene");
    let ready = Ready::new(&scene);
    let found = ready.run(wanted(Goal::Fastest));
    assert!(!found.rejected.is_empty());
    for rejected in &found.rejected {
        match &rejected.score {
            Ok(score) => assert!(score.makespan > Seconds::ZERO && rejected.ratio >= Some(1.0)),
            Err(why) => assert!(!why.is_empty()),
        }
    }
}

/// If this fails, people are told to move files for a gain that nobody can measure.
#[test]
fn what_gains_less_than_the_error_is_not_proposed() {
    for seed in 0..10 {
        for goal in [Goal::Fastest, Goal::Cheapest, Goal::Throughput] {
            let case = case(seed, 4, 7);
            let scene = PreparedProblem::new(&case.site, &case.workload).expect("a scene");
            let ready = Ready::new(&scene);
            let found = ready.run(SearchRequest { error: 1e6, ..wanted(goal) });
            if found.as_it_is.is_ok() {
                assert_eq!(found.chosen, ready.space.all_in_place(), "seed {seed}");
            }
        }
    }
}
