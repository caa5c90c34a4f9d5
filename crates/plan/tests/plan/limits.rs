//! Limits of a storage beside plain rates, worked out by hand. If these fail, credits last longer in
//! predictions than in accounts, and servers work on more at a time than they have hands.

use crate::common::*;
use forebay_model::{AccessPattern, Op, OpKey, Site, Workload};
use forebay_plan::{PreparedProblem, simulate, simulate_in_detail};

const FAST: &str = "capacity = \"1 GiB\"\n[tier.fast.profile]\nsource = \"us\"";

/// The same seconds by both engines.
fn takes(site: &Site, work: &Workload, seconds: f64) {
    let scene = PreparedProblem::new(site, work).expect("a scene");
    for engine in [simulate, simulate_in_detail] {
        let outcome = engine(&scene, &choice(site, work, "slow"), 0).expect("an outcome");
        let makespan = outcome.makespan.get();
        assert!((makespan - seconds).abs() < 1e-3 * seconds, "{makespan} is not {seconds}");
    }
}

fn site_with(profile: &str) -> Site {
    two_tiers("cores = 8", FAST, &format!("[tier.slow.profile]\nsource = \"us\"\n{profile}"))
}

#[test]
fn a_burst_lasts_as_long_as_its_credits() {
    // 400 MiB pay for 2 s of 200 MiB/s above the limit, in which 600 MiB go; the rest is slow.
    for level in ["total", "node"] {
        let site = site_with(&format!(
            "write = {{ {level} = \"100 MiB/s\", burst = \"300 MiB/s\", credits = \"400 MiB\" }}"
        ));
        takes(&site, &writers(1, 0.0, 600), 2.0);
        takes(&site, &writers(1, 0.0, 1000), 6.0);
        takes(&site, &writers(4, 0.0, 250), 6.0);
    }
}

#[test]
fn credits_come_back_with_time() {
    let site = site_with(
        "write = { total = \"100 MiB/s\", burst = \"300 MiB/s\", credits = \"400 MiB\" }",
    );
    // The second waits for the first, and computes for 4 s, which are 400 MiB.
    let mut work = writers(2, 0.0, 600);
    work.tasks[1].after = vec![forebay_model::workload::TaskId(0)];
    let mut pause = work.tasks[1].steps[0].clone();
    pause.accesses.clear();
    pause.compute = forebay_model::Seconds(4.0);
    work.tasks[1].steps.insert(0, pause);
    takes(&site, &work, 2.0 + 4.0 + 2.0);
}

#[test]
fn operations_have_credits_too() {
    let site = site_with(
        "data_per_second = 100\ndata_burst_per_second = 300\ndata_credits = 400\n\
         latency = { write = \"0.1 ms\" }",
    );
    let mut work = writers(1, 0.0, 0);
    let access = &mut work.tasks[0].steps[0].accesses[0];
    access.ops = vec![(OpKey::with_bytes(Op::Write, 4096, AccessPattern::Random), 1000.0)];
    takes(&site, &work, 6.0);
}

#[test]
fn so_many_work_at_once() {
    let site = site_with("latency = { create = \"1 s\" }\nat_once = 2");
    takes(&site, &writers(1, 0.0, 0), 1.0);
    takes(&site, &writers(2, 0.0, 0), 1.0);
    takes(&site, &writers(8, 0.0, 0), 4.0);
}

#[test]
fn short_ones_that_go_on_are_one_operation() {
    let site = site_with("latency = { write = \"1 ms\" }\nmerges = \"256 KiB\"");
    let mut work = writers(1, 0.0, 64);
    let access = &mut work.tasks[0].steps[0].accesses[0];
    access.ops = vec![(OpKey::with_bytes(Op::Write, 65_536, AccessPattern::Sequential), 1024.0)];
    takes(&site, &work, 0.256);
    // Half of them are copied from file to file.
    let merged =
        site_with("latency = { write = \"0.1 ms\" }\ndata_per_second = 200\nmerges = \"256 KiB\"");
    let ops = [Op::Write, Op::CopyRange]
        .map(|op| OpKey::with_bytes(op, 65_536, AccessPattern::Sequential));
    work.tasks[0].steps[0].accesses[0].ops = ops.map(|key| (key, 512.0)).to_vec();
    takes(&merged, &work, 1.28);
    let random = OpKey::with_bytes(Op::Write, 65_536, AccessPattern::Random);
    work.tasks[0].steps[0].accesses[0].ops = vec![(random, 1024.0)];
    takes(&site, &work, 1.024);
}
