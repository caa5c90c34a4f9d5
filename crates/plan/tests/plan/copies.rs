//! Copies on caches and in memory: who finds one, and who makes room. If these fail, a plan counts
//! on copies that a run does not have.

use crate::common::*;
use forebay_model::{Seconds, Site, TierId, Workload};
use forebay_plan::simulate::SimulationEvent;
use forebay_plan::{Outcome, Policy, PreparedProblem, simulate, simulate_watched};

const SLOW: &str = "[tier.slow.profile]\nsource = \"us\"\nread = { stream = \"100 MiB/s\" }";
const FAST: &str = "capacity = \"1 GiB\"\n[tier.fast.profile]\nsource = \"us\"";
const CACHED: &str = "home = \"in-place\"\ncache = \"fast\"";

/// Tasks one after the other, each of which reads one set; sets have these sizes in MiB.
fn readers(sizes: &[u64], order: &[u32]) -> Workload {
    let mut work = writers(sizes.len() as u32, 0.0, 0);
    for (number, size) in sizes.iter().enumerate() {
        work.classes.push(class(&format!("in{number}/#")));
        work.files[number] =
            set(number as u32 + 1, *size, forebay_model::workload::DeletionPoint::End);
    }
    let one = |(number, files): (usize, &u32)| {
        let after: &[u32] = if number > 0 { &[number as u32 - 1] } else { &[] };
        task(0, after, 1.0, vec![reads(*files, sizes[*files as usize])])
    };
    work.tasks = order.iter().enumerate().map(one).collect();
    work
}

/// How long each task waited, and what was copied and displaced.
fn waits(site: &Site, work: &Workload, rules: &[&str]) -> (Vec<f64>, Vec<String>) {
    let scene = PreparedProblem::new(site, work).expect("a scene");
    let mut choice = choice(site, work, "slow");
    for (class, placement) in choice.placements.iter_mut().enumerate().skip(1) {
        *placement = placed(site, rules[(class - 1).min(rules.len() - 1)]);
    }
    let mut seen = Vec::new();
    let mut watch = |_: Seconds, what: &SimulationEvent<'_>| match what {
        SimulationEvent::Cached { files, .. } => seen.push(format!("+{}", files.0)),
        SimulationEvent::Evicted { files, .. } => seen.push(format!("-{}", files.0)),
        _ => {}
    };
    let outcome = simulate_watched(&scene, &choice, 0, &mut watch).expect("an outcome");
    (outcome.tasks.iter().map(|task| (task.waited.get() * 100.0).round() / 100.0).collect(), seen)
}

#[test]
fn the_second_reader_finds_a_copy() {
    let site = two_tiers("cores = 1", FAST, SLOW);
    let (waited, seen) = waits(&site, &readers(&[500], &[0, 0, 0]), &[CACHED]);
    assert_eq!(waited, [5.0, 0.0, 0.0]);
    assert_eq!(seen, ["+0"]);
}

#[test]
fn what_is_read_once_displaces_what_others_come_back_for_unless_it_goes_past_the_cache() {
    let site = two_tiers("cores = 1", FAST, SLOW);
    let work = readers(&[500, 800], &[0, 1, 0, 0]);
    let (waited, seen) = waits(&site, &work, &[CACHED]);
    assert_eq!(waited, [5.0, 8.0, 5.0, 0.0]);
    assert_eq!(seen, ["+0", "-0", "+1", "-1", "+0"]);
    let (waited, seen) = waits(&site, &work, &[CACHED, "home = \"in-place\""]);
    assert_eq!(waited, [5.0, 8.0, 0.0, 0.0]);
    assert_eq!(seen, ["+0"]);
}

#[test]
fn the_copy_that_was_opened_longest_ago_goes() {
    let site = two_tiers("cores = 1", FAST, SLOW);
    // The first is older, but was opened again.
    let (waited, seen) = waits(&site, &readers(&[400, 400, 400], &[0, 1, 0, 2, 0, 1]), &[CACHED]);
    assert_eq!(seen, ["+0", "+1", "-1", "+2", "-2", "+1"]);
    assert_eq!(waited, [4.0, 4.0, 0.0, 4.0, 0.0, 4.0]);
    // What can't fit is read in place, and displaces nothing.
    let (waited, seen) = waits(&site, &readers(&[400, 2000], &[0, 1, 1, 0]), &[CACHED]);
    assert_eq!((waited, seen), (vec![4.0, 20.0, 20.0, 0.0], vec!["+0".to_owned()]));
}

#[test]
fn a_copy_that_is_open_stays() {
    let site = two_tiers("cores = 2", FAST, SLOW);
    let mut work = readers(&[600, 600], &[0, 0, 1, 0]);
    work.tasks[1].steps[0].compute = Seconds(100.0);
    work.tasks[2].after = vec![forebay_model::workload::TaskId(0)];
    let (waited, seen) = waits(&site, &work, &[CACHED]);
    assert_eq!((waited, seen), (vec![6.0, 0.0, 6.0, 0.0], vec!["+0".to_owned()]));
}

#[test]
fn files_that_live_on_a_tier_come_before_copies() {
    let site = two_tiers("cores = 1", FAST, SLOW);
    let mut work = readers(&[600], &[0, 0]);
    work.classes.push(class("out/#"));
    work.files.push(set(2, 600, forebay_model::workload::DeletionPoint::End));
    work.tasks.insert(1, task(0, &[0], 1.0, vec![writes(1, 600)]));
    work.tasks[2].after = vec![forebay_model::workload::TaskId(1)];
    let home = "home = \"fast\"\nfull = \"fail\"\nafter = \"keep\"";
    let (waited, seen) = waits(&site, &work, &[CACHED, home]);
    assert_eq!(seen, ["+0", "-0"]);
    assert_eq!(waited, [6.0, 0.0, 6.0]);
}

#[test]
fn memory_keeps_what_was_used_again_and_loses_what_passed_by() {
    let site = two_tiers("cores = 1\nmemory = \"1 GiB\"", FAST, SLOW);
    let waited = |sizes: &[u64], order: &[u32]| {
        waits(&site, &readers(sizes, order), &["home = \"in-place\""]).0
    };
    assert_eq!(waited(&[500, 800], &[0, 1, 0]), [5.0, 8.0, 5.0]);
    assert_eq!(waited(&[500, 800], &[0, 0, 1, 0]), [5.0, 0.0, 8.0, 0.0]);
    // What comes back has its turn, too.
    assert_eq!(waited(&[500, 800], &[0, 0, 1, 1, 1, 0]), [5.0, 0.0, 8.0, 8.0, 0.0, 5.0]);
    // More than there is passes through, again and again.
    assert_eq!(waited(&[300, 2000], &[0, 1, 1, 0]), [3.0, 20.0, 20.0, 3.0]);
}

#[test]
fn a_task_finds_in_memory_what_it_read_or_wrote_itself() {
    // One reads its file three times; one writes one and reads that twice; one adds 100 of 400 MiB
    // to a file and reads it all.
    let mut work = readers(&[500, 400, 400], &[0, 1, 2]);
    let mib = |mib: u64| forebay_model::ByteCount(mib * MIB);
    for (task, read, written) in [(0, 1500, 0), (1, 800, 400), (2, 400, 100)] {
        let access = &mut work.tasks[task].steps[0].accesses[0];
        (access.read, access.written) = (mib(read), mib(written));
    }
    let waited =
        |nodes: &str| waits(&two_tiers(nodes, FAST, SLOW), &work, &["home = \"in-place\""]).0;
    assert_eq!(waited("cores = 1"), [15.0, 8.0, 4.0]);
    assert_eq!(waited("cores = 1\nmemory = \"8 GiB\""), [5.0, 0.0, 3.0]);
    // A client that lets go of what it wrote reads it once.
    let forgets = SLOW.replace("source", "keeps_written = false\nsource");
    let forgotten = two_tiers("cores = 1\nmemory = \"8 GiB\"", FAST, &forgets);
    assert_eq!(waits(&forgotten, &work, &["home = \"in-place\""]).0, [5.0, 4.0, 4.0]);
    // The beginning of what is larger than memory is gone when it is read again.
    assert_eq!(waited("cores = 1\nmemory = \"100 MiB\""), [15.0, 8.0, 4.0]);
}

#[test]
fn tasks_take_memory_from_copies() {
    let site = two_tiers("cores = 2\nmemory = \"1 GiB\"", FAST, SLOW);
    let mut work = readers(&[500], &[0, 0, 0]);
    work.kinds.push(forebay_model::workload::TaskKind {
        memory: Some(forebay_model::ByteCount(700 * MIB)),
        ..kind("large", 1)
    });
    work.tasks[2].kind = forebay_model::workload::TaskKindId(1);
    let (waited, _) = waits(&site, &work, &["home = \"in-place\""]);
    assert_eq!(waited, [5.0, 0.0, 5.0]);
}

/// Two nodes, each with a cache of its own; two inputs, each read by one task and then by another.
fn on_two_nodes(policy: &str) -> Outcome {
    let site = site(&format!(
        "[nodes]\ncores = 1\ncount = 2\n[tier.fast]\nreach = \"node\"\n{FAST}\n[tier.slow]\n\
         reach = \"shared\"\n{SLOW}\n"
    ));
    let mut work = readers(&[500, 500], &[0, 1, 1, 0]);
    work.tasks[1].after.clear();
    work.tasks[2].after = vec![0, 1].into_iter().map(forebay_model::workload::TaskId).collect();
    work.tasks[3].after = work.tasks[2].after.clone();
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let mut choice = choice(&site, &work, "slow");
    choice.placements = vec![placed(&site, CACHED); 3];
    choice.policy = Policy::find_by_name(policy).expect("a policy").id();
    simulate(&scene, &choice, 0).expect("an outcome")
}

#[test]
fn locality_sends_tasks_where_their_inputs_are() {
    let read = |outcome: &Outcome| outcome.tiers[&TierId("fast".to_owned())].read_bytes.get() / MIB;
    let (near, far) = (on_two_nodes("locality"), on_two_nodes("fifo"));
    assert_eq!(read(&near), 1000);
    assert!((near.makespan.get() - 7.0).abs() < 1e-6, "{near:?}");
    assert!(read(&far) < 1000 && far.makespan > near.makespan, "{far:?}");
    for pair in [(0, 3), (1, 2)] {
        assert_eq!(
            near.tasks[pair.0].node,
            near.tasks.iter().find(|t| t.task.0 == pair.1).map_or(9, |t| t.node)
        );
    }
}
