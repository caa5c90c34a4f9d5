//! From what a search found to what is told.

use super::class_placements::describe_placement;
use super::rejected_choices::{describe_rejected, list_rejected};
use super::{PlacedClass, Plan, PlanFigures, PlanSetting, ReportContext, SCHEMA};
use crate::advise::{Evidence, collect_advice};
use crate::outcome::TaskOutcome;
use crate::search::{Goal, SearchExtent};
use crate::search_space::{Configuration, SearchPoint, class_facts};
use crate::{Choice, Cost, Outcome};
use forebay_model::{Seconds, Workload};

/// Tells it.
pub fn build_plan(story: &ReportContext<'_>) -> Plan {
    let (found, space) = (story.found, story.space);
    let choice = space.choice_at(&found.chosen);
    let frame = &space.frames[found.chosen.frame];
    let evidence = Evidence {
        site: story.site,
        workload: story.workload,
        choice: &choice,
        outcome: story.chosen.0,
    };
    let first = &space.frames[0];
    Plan {
        schema: SCHEMA,
        runs: story.runs.to_vec(),
        learnt_from: Some(story.learnt_from.clone()),
        site: story.site_name.to_owned(),
        goal: story.wanted.goal.name().to_owned(),
        samples: story.wanted.samples,
        seed: story.wanted.seed,
        error: story.wanted.error,
        doubts: story.workload.doubts.iter().map(|doubt| doubt.what.clone()).collect(),
        as_it_is: story
            .as_it_is
            .map(|(outcome, cost)| figures_of_outcome(story, first, outcome, cost)),
        as_it_is_why: found.as_it_is.as_ref().err().cloned(),
        chosen: figures_of_outcome(story, frame, story.chosen.0, story.chosen.1),
        setting: setting_of_choice(&choice, story.workload),
        moved: placed_classes(story, &found.chosen, false),
        stay: placed_classes(story, &found.chosen, true),
        value: found.value,
        bound: found.bound,
        gap: found.optimality_gap(),
        unit: unit_of_goal(story.wanted.goal).to_owned(),
        search: match found.rung {
            SearchExtent::Exhausted => "exhausted",
            SearchExtent::Stopped => "stopped",
            SearchExtent::Annealed => "annealed",
        }
        .to_owned(),
        classes: found.classes,
        simulated: found.simulated,
        alike: found.alike.as_ref().map(|(point, score)| {
            let why =
                "the model can't tell it from the proposal, which costs or moves less".to_owned();
            describe_rejected(story, point, Ok(*score), why)
        }),
        lost: list_rejected(story),
        front: found
            .front
            .iter()
            .map(|(point, score)| describe_rejected(story, point, Ok(*score), String::new()))
            .collect(),
        prices: story.prices.map(str::to_owned),
        unverified: story.chosen.1.map(|cost| cost.unverified.clone()).unwrap_or_default(),
        left_out: space.left_out.clone(),
        advice: collect_advice(&evidence),
        whole_folders: story
            .whole_folders
            .iter()
            .map(|folder| (folder.path.clone(), folder.tier.0.clone()))
            .collect(),
    }
}

fn unit_of_goal(goal: Goal) -> &'static str {
    match goal {
        Goal::Fastest => "seconds",
        Goal::Cheapest => "dollars for a sample",
        Goal::Throughput => "seconds for a sample",
    }
}

/// Storage that nobody ran on takes what is said of it give or take this share: with the waits seen
/// on one storage and none other tried, a workload's waits on emulated ones were predicted so well.
const UNTRIED: f64 = 0.25;

/// By what the sum below is multiplied so that nine of ten predictions are within it: as found by split
/// conformal prediction (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005) in
/// 32 of four workflows that the model was not made with, on four storages. `studies/closed-loop` does
/// it again, each workflow with the width that the others teach.
const WIDTH: f64 = 1.2;

/// By which share this may be wrong: by as much as any prediction, by as much as runs differ, and by
/// a part of all waits that no run has shown.
fn prediction_error(story: &ReportContext<'_>, outcome: &Outcome) -> f64 {
    let sum = |time: fn(&TaskOutcome) -> f64| outcome.tasks.iter().map(time).sum::<f64>();
    let busy = sum(|task| task.ended.get() - task.started.get());
    let waits = if busy > 0.0 { sum(|task| task.waited.get()) / busy } else { 0.0 };
    let whole = outcome.makespan.get();
    let home = if whole > 0.0 { outcome.homecoming.get() / whole } else { 0.0 };
    let waits_known = story.learnt_from.waited_share.unwrap_or(0.0);
    let unseen = (waits * (1.0 - home) + home - waits_known).max(0.0);
    let computing = (1.0 - waits) * (1.0 - home);
    let computing = story.computing_error * computing;
    let parts = [story.wanted.error, story.scatter, UNTRIED * unseen, computing];
    // Not `hypot`, whose last bit differs between machines.
    WIDTH * parts.map(|part| part * part).iter().sum::<f64>().sqrt()
}

fn figures_of_outcome(
    story: &ReportContext<'_>,
    frame: &Configuration,
    outcome: &Outcome,
    cost: Option<&Cost>,
) -> PlanFigures {
    let hours = outcome.makespan.get() / 3600.0;
    let peaks = outcome.tiers.iter().map(|(id, tier)| (id.0.clone(), tier.peak_bytes));
    PlanFigures {
        makespan_s: outcome.makespan,
        homecoming_s: outcome.homecoming,
        error: prediction_error(story, outcome),
        samples_per_hour: if hours > 0.0 { f64::from(frame.pipelines) / hours } else { 0.0 },
        per_sample_usd: cost.map(|cost| cost.per_sample),
        utilisation: outcome.utilisation,
        peak_bytes: peaks.collect(),
        cost: cost.cloned(),
    }
}

fn setting_of_choice(choice: &Choice, workload: &Workload) -> PlanSetting {
    let name = |kind: &forebay_model::workload::TaskKindId| {
        workload.kinds.get(kind.index()).map_or(String::new(), |kind| kind.name.clone())
    };
    PlanSetting {
        nodes: choice.nodes,
        slots: choice.slots,
        pipelines: choice.pipelines,
        stagger_s: choice.stagger,
        policy: choice.policy.0.to_owned(),
        low: choice.low.iter().map(name).collect(),
        spot: choice.spot.is_some(),
        pools: choice.pools.iter().map(|(id, bytes)| (id.0.clone(), *bytes)).collect(),
    }
}

/// Classes that stay in place, or those that do not.
fn placed_classes(story: &ReportContext<'_>, point: &SearchPoint, stay: bool) -> Vec<PlacedClass> {
    let facts = class_facts(story.workload);
    let one = |class: usize| {
        let pick = usize::from(point.picks[class]);
        ((pick == 0) == stay && facts[class].files > 0).then(|| PlacedClass {
            pattern: story.workload.classes[class].pattern.clone(),
            to: match story.whole_folders.iter().find(|folder| folder.classes.contains(&class)) {
                Some(folder) => format!("{}, as a whole folder", folder.tier),
                None => describe_placement(story.space.placement_at(point, class)),
            },
            files: facts[class].files,
            bytes: facts[class].bytes,
            waits_in_place_s: Seconds(story.bounds.waiting_seconds(class, 0)),
            waits_s: Seconds(story.bounds.waiting_seconds(class, pick)),
        })
    };
    let mut moved: Vec<PlacedClass> = (0..point.picks.len()).filter_map(one).collect();
    let weight = |moved: &PlacedClass| {
        moved.waits_in_place_s.get() - if stay { 0.0 } else { moved.waits_s.get() }
    };
    moved.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    moved
}
