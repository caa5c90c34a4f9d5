//! The published co-run: what was fitted stays fitted, what was not stays predicted. If this fails,
//! a change of the model has made the study's calibration untrue: calibrate again, and say so.

use forebay_model::{Rules, Seconds, Site, TierId, Workload};
use forebay_plan::{
    Choice, Outcome, Policy, PreparedProblem, choice, simulate, simulate_in_detail,
};

const SITE: &str = include_str!("../../../../studies/genomon-corun/site.toml");
const RULES: &str = include_str!("../../../../studies/genomon-corun/rules.toml");
const WORK: &str = include_str!("../../../../studies/genomon-corun/workload.toml");

fn run(pipelines: u32, policy: &str, judged: bool) -> Outcome {
    let site = Site::parse(SITE, "site.toml", &|_| None).expect("a site");
    let work = Workload::parse(WORK, "workload.toml").expect("a workload");
    let rules = Rules::parse(RULES, "rules.toml", &site).expect("rules");
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let kinds = work.kinds.iter().enumerate();
    let low = kinds.filter(|(_, kind)| kind.name == "map_dna_sequence");
    let low = low.map(|(place, _)| forebay_model::workload::TaskKindId(place as u32)).collect();
    let choice = Choice {
        placements: choice::placements_by_rules(&rules, &work),
        pipelines,
        stagger: Seconds(300.0),
        policy: Policy::find_by_name(policy).expect("a policy").id(),
        low,
        ..Choice::all_in_place(&site, &work, TierId("fefs".to_owned())).expect("nodes")
    };
    let engine = if judged { simulate_in_detail } else { simulate };
    engine(&scene, &choice, 0).expect("an outcome")
}

fn near(what: &str, is: f64, published: f64, tolerance: f64) {
    assert!((is / published - 1.0).abs() <= tolerance, "{what}: {is} is not {published}");
}

#[test]
fn one_and_two_pipelines_are_as_published() {
    for (pipelines, hours, utilisation, cache) in [(1, 2.48, 22.4, 2.9), (2, 3.08, 42.1, 5.2)] {
        let outcome = run(pipelines, "low-priority", false);
        near("hours", outcome.makespan.get() / 3600.0, hours, 0.01);
        near("utilisation", outcome.utilisation * 100.0, utilisation, 0.01);
        let peak = outcome.tiers[&TierId("llio.cache".to_owned())].peak_bytes_per_node;
        near("cache", peak / (1_u64 << 30) as f64, cache, 0.04);
    }
}

#[test]
fn the_queue_of_low_priority_halves_the_peak_and_finishes_the_first_sample_earlier() {
    let (low, fifo) = (run(4, "low-priority", false), run(4, "fifo", false));
    let peak =
        |outcome: &Outcome| outcome.tiers[&TierId("llio.temp".to_owned())].peak_bytes_per_node;
    assert!(peak(&low) < 0.65 * peak(&fifo), "{} {}", peak(&low), peak(&fifo));
    let first = |outcome: &Outcome| {
        let tasks = outcome.tasks.iter().filter(|task| task.pipeline == 0);
        tasks.map(|task| task.ended.get()).fold(0.0, f64::max)
    };
    assert!(first(&low) + 3600.0 < first(&fifo));
}

#[test]
fn the_judge_agrees_on_two_pipelines() {
    let (searched, judged) = (run(2, "low-priority", false), run(2, "low-priority", true));
    near("hours", searched.makespan.get(), judged.makespan.get(), 0.02);
}
