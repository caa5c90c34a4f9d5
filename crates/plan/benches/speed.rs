//! How fast the engines are: `cargo bench -p forebay-plan`. It prints figures and judges none: a
//! shared machine is no clock.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

#[path = "../tests/plan/common/mod.rs"]
mod common;

use forebay_model::workload::TaskKindId;
use forebay_model::{Rules, Seconds, Site, TierId, Workload};
use forebay_plan::{Choice, Policy, PreparedProblem, choice, simulate, simulate_in_detail};
use std::time::Instant;

const SITE: &str = include_str!("../../../studies/genomon-corun/site.toml");
const RULES: &str = include_str!("../../../studies/genomon-corun/rules.toml");
const WORK: &str = include_str!("../../../studies/genomon-corun/workload.toml");

/// The best of several: others use the machine too.
fn best(times: u32, mut run: impl FnMut()) -> f64 {
    (0..times)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn steps(work: &Workload) -> f64 {
    work.tasks.iter().map(|task| task.steps.len() as f64).sum()
}

fn genomon() {
    let site = Site::parse(SITE, "site.toml", &|_| None).expect("a site");
    let work = Workload::parse(WORK, "workload.toml").expect("a workload");
    let rules = Rules::parse(RULES, "rules.toml", &site).expect("rules");
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let choice = Choice {
        placements: choice::placements_by_rules(&rules, &work),
        pipelines: 4,
        stagger: Seconds(300.0),
        policy: Policy::find_by_name("low-priority").expect("a policy").id(),
        low: vec![TaskKindId(2)],
        ..Choice::all_in_place(&site, &work, TierId("fefs".to_owned())).expect("nodes")
    };
    let seconds = best(10, || drop(simulate(&scene, &choice, 0).expect("an outcome")));
    let events = steps(&work) * 4.0;
    println!(
        "genomon x 4, contended: {:.1} ms, {:.2} M steps/s",
        seconds * 1e3,
        events / seconds / 1e6
    );
    let calm =
        Site::parse(&SITE.replace("moved = 1.7", "moved = 0"), "s", &|_| None).expect("a site");
    let scene = PreparedProblem::new(&calm, &work).expect("a scene");
    let seconds = best(10, || drop(simulate(&scene, &choice, 0).expect("an outcome")));
    println!("genomon x 4, calm: {:.1} ms, {:.2} M steps/s", seconds * 1e3, events / seconds / 1e6);
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let seconds = best(1, || drop(simulate_in_detail(&scene, &choice, 0).expect("an outcome")));
    println!("genomon x 4, judged: {:.0} ms", seconds * 1e3);
}

fn writers(tasks: u32, cores: u32, limit: &str, times: u32) {
    let slow = format!(
        "[tier.slow.profile]\nsource = \"us\"\nwrite = {{ stream = \"100 MiB/s\"{limit} }}"
    );
    let site = common::two_tiers(
        &format!("cores = {cores}"),
        "[tier.fast.profile]\nsource = \"us\"",
        &slow,
    );
    let mut work = common::writers(tasks, 5.0, 300);
    for (number, task) in work.tasks.iter_mut().enumerate() {
        task.steps[0].compute = Seconds(5.0 + (number % 97) as f64);
    }
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let choice = common::choice(&site, &work, "slow");
    let seconds = best(times, || drop(simulate(&scene, &choice, 0).expect("an outcome")));
    let rate = f64::from(tasks) / seconds / 1e6;
    println!("{tasks} tasks on {cores} cores{limit}: {:.2} ms, {rate:.2} M steps/s", seconds * 1e3);
}

fn main() {
    genomon();
    writers(1000, 16, "", 200);
    writers(1000, 16, ", total = \"400 MiB/s\"", 200);
    writers(100_000, 256, "", 5);
    writers(100_000, 256, ", total = \"9 GiB/s\"", 3);
}
