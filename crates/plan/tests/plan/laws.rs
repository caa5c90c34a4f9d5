//! Laws that hold for every workload, site and choice. If one breaks, the simulation makes or loses
//! time, bytes or room.

use crate::common::*;
use forebay_model::workload::FileSetAccess;
use forebay_model::{Site, TierId, Workload};
use forebay_plan::{Choice, Outcome, POLICIES, PreparedProblem, SimulationError, simulate};

const NODES: &str = "cores = 3\ncount = 3";
const FAST: &str = "capacity = \"2 GiB\"\n[tier.fast.profile]\nsource = \"us\"\nlatency = \"1 ms\"\n\
    read = { stream = \"300 MiB/s\", node = \"310 MiB/s\" }\n\
    write = { stream = \"200 MiB/s\", total = \"500 MiB/s\" }";
const SLOW: &str = "[tier.slow.profile]\nsource = \"us\"\nlatency = \"9 ms\"\nnames_per_second = 20\n\
    read = { stream = \"100 MiB/s\", total = \"250 MiB/s\" }\nwrite = { stream = \"90 MiB/s\" }\n\
    contention = { streams = 0.5, fill = 0.5 }";

/// Every policy, on many workloads, with files of each class here or there.
fn all(each: impl Fn(&Site, &Workload, &Choice, Result<Outcome, SimulationError>)) {
    let site = two_tiers(NODES, FAST, SLOW);
    let homes = [
        "home = \"in-place\"",
        "home = \"fast\"",
        "home = \"fast\"\nfull = \"fail\"",
        "home = \"fast\"\nwrite_back = \"on-close\"",
        "home = \"fast\"\nafter = \"discard\"",
        "home = \"in-place\"\ncache = \"fast\"",
    ];
    for seed in 0..200 {
        let work = layered(seed);
        let scene = PreparedProblem::new(&site, &work).expect("a scene");
        let mut dice = Dice(seed);
        let mut choice = strewn(&site, &work, &mut dice, &homes);
        choice.policy = POLICIES[dice.below(POLICIES.len() as u64) as usize].id();
        choice.low = vec![forebay_model::workload::TaskKindId(0)];
        each(&site, &work, &choice, simulate(&scene, &choice, seed));
    }
}

fn accesses(work: &Workload) -> impl Iterator<Item = &FileSetAccess> {
    work.tasks.iter().flat_map(|task| &task.steps).flat_map(|step| &step.accesses)
}

#[test]
fn bytes_are_conserved() {
    all(|_, work, choice, outcome| {
        let Ok(outcome) = outcome else { return };
        let times = u64::from(choice.pipelines);
        let read: u64 = accesses(work).map(|access| access.read.get()).sum();
        let written: u64 = accesses(work).map(|access| access.written.get()).sum();
        let sum = |of: fn(&forebay_plan::TierOutcome) -> u64| -> u64 {
            outcome.tiers.values().map(of).sum()
        };
        // What comes home is read once more where it was, and written once more in place.
        let home = sum(|tier| tier.drained_bytes.get());
        assert_eq!(sum(|tier| tier.read_bytes.get()), read * times + home);
        assert_eq!(sum(|tier| tier.written_bytes.get()), written * times + home);
    });
}

/// What memory answers never reaches a tier, and nobody pays for it.
#[test]
fn bytes_from_memory_are_counted_apart() {
    let memory = format!("{NODES}\nmemory = \"1 GiB\"");
    let site = two_tiers(&memory, FAST, SLOW);
    let mut answered = 0;
    for seed in 0..100 {
        let work = layered(seed);
        let scene = PreparedProblem::new(&site, &work).expect("a scene");
        let outcome = simulate(&scene, &choice(&site, &work, "slow"), seed).expect("an outcome");
        let read: u64 = accesses(&work).map(|access| access.read.get()).sum();
        let operations: f64 =
            accesses(&work).flat_map(|access| &access.ops).map(|(_, count)| count).sum();
        let tiers = || outcome.tiers.values();
        let memory: u64 = tiers().map(|tier| tier.memory_bytes.get()).sum();
        let reached: u64 = tiers().map(|tier| tier.read_bytes.get()).sum();
        assert_eq!(reached + memory, read, "seed {seed}");
        let counted: f64 = tiers().map(|tier| tier.operations + tier.memory_operations).sum();
        assert!((counted - operations).abs() <= 1e-6 * operations.max(1.0), "seed {seed}");
        answered += u64::from(memory > 0);
    }
    assert!(answered > 10, "memory answered in {answered} of 100");
}

#[test]
fn capacity_is_never_exceeded() {
    all(|_, _, _, outcome| {
        if let Ok(outcome) = outcome {
            assert!(outcome.tiers[&TierId("fast".into())].peak_bytes.get() <= 2 << 30);
        }
    });
    all(|_, _, choice, outcome| {
        // Where a policy looks at room, no writer fails for want of it.
        if let (Err(why), "capacity") = (outcome, choice.policy.0) {
            assert!(why.to_string().contains("never starts"), "{why}");
        }
    });
}

#[test]
fn no_run_is_shorter_than_its_longest_path_or_its_work() {
    all(|site, work, choice, outcome| {
        let Ok(outcome) = outcome else { return };
        let mut end = vec![0.0_f64; work.tasks.len()];
        let mut sum = 0.0;
        for (number, task) in work.tasks.iter().enumerate() {
            let compute: f64 = task.steps.iter().map(|step| step.compute.get()).sum();
            let ready = task.after.iter().map(|before| end[before.index()]).fold(0.0, f64::max);
            end[number] = ready + compute;
            sum += compute * f64::from(choice.pipelines);
        }
        let slots = f64::from(site.nodes().expect("nodes").slots * choice.nodes);
        let longest = end.into_iter().fold(0.0, f64::max);
        let least = longest.max(sum / slots) * (1.0 - 1e-9);
        assert!(outcome.makespan.get() >= least, "{} < {least}", outcome.makespan.get());
        assert!((0.0..=1.0 + 1e-9).contains(&outcome.utilisation));
    });
}

#[test]
fn tasks_wait_for_those_before_them_and_slots_hold_one_each() {
    all(|site, work, choice, outcome| {
        let Ok(outcome) = outcome else { return };
        let tasks = work.tasks.len();
        assert_eq!(outcome.tasks.len(), tasks * choice.pipelines as usize);
        let mut ended = vec![0.0; outcome.tasks.len()];
        let place = |pipeline: u32, task: usize| pipeline as usize * tasks + task;
        for task in &outcome.tasks {
            ended[place(task.pipeline, task.task.index())] = task.ended.get();
        }
        let mut edges = Vec::new();
        for task in &outcome.tasks {
            for before in &work.tasks[task.task.index()].after {
                assert!(ended[place(task.pipeline, before.index())] <= task.ready.get());
            }
            assert!(task.ready <= task.started && task.started <= task.ended);
            let cores = i64::from(work.kinds[work.tasks[task.task.index()].kind.index()].cores);
            edges.push((task.started.get(), 1, task.node, cores));
            edges.push((task.ended.get(), 0, task.node, -cores));
        }
        edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut cores = vec![0; choice.nodes as usize];
        for (_, _, node, change) in edges {
            cores[node as usize] += change;
            assert!(cores[node as usize] <= i64::from(site.nodes().expect("nodes").cores));
        }
    });
}

#[test]
fn the_same_input_and_seed_give_the_same_bits() {
    all(|site, work, choice, outcome| {
        let scene = PreparedProblem::new(site, work).expect("a scene");
        let again = simulate(&scene, choice, 0);
        assert_eq!(format!("{outcome:?}"), format!("{again:?}"));
    });
}
