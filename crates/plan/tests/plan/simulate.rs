//! Cases that can be worked out by hand. If these fail, every prediction is wrong.

use crate::common::*;
use forebay_model::workload::{DeletionPoint, FileClass, FileClassId};
use forebay_model::{FileLayout, Op, OpKey, Placement, Seconds, TierId, Workload};
use forebay_plan::{Choice, ForebayOverhead, PreparedProblem, simulate, simulate_with_rework};

fn near(a: Seconds, b: f64) {
    assert!((a.get() - b).abs() <= 1e-6 * b.max(1.0), "{a:?} is not {b} s");
}

/// Names that Forebay itself asks for in place, one after the other, around a command with rules.
const OF_RUN: f64 = 41.0;
/// The same when it looks for links in the end, where files lie in one directory below the top: two
/// levels, and a 16th of what so many directories take.
const OF_WALK: f64 = 5.0 * (2.0 + 1.0 / 16.0);
const OF_WALK_OF_TWO: f64 = 5.0 * (2.0 + 2.0 / 16.0);

const SLOW: &str = "[tier.slow.profile]\nsource = \"us\"\nread = { stream = \"100 MiB/s\" }\n\
                    write = { stream = \"100 MiB/s\", total = \"200 MiB/s\" }";
const FAST: &str = "capacity = \"1 GiB\"\n[tier.fast.profile]\nsource = \"us\"";

#[test]
fn streams_share_what_there_is() {
    let site = two_tiers("cores = 8", FAST, SLOW);
    // One writes 1,000 MiB in 10 s of 15; more than three share 200 MiB/s, while others compute.
    for (tasks, seconds) in [(1, 15.0), (2, 15.0), (4, 20.0), (8, 40.0)] {
        let work = writers(tasks, 5.0, 1000);
        let scene = PreparedProblem::new(&site, &work).expect("a scene");
        let outcome = simulate(&scene, &choice(&site, &work, "slow"), 0).expect("an outcome");
        near(outcome.makespan, seconds);
        near(Seconds(outcome.utilisation), f64::from(tasks) / 8.0);
        assert_eq!(
            outcome.tiers[&TierId("slow".into())].written_bytes.get(),
            u64::from(tasks) * 1000 * MIB
        );
        near(outcome.tasks[0].waited, seconds - 5.0);
    }
}

#[test]
fn computing_is_not_slowed_by_others_that_write() {
    let site = two_tiers("cores = 9", FAST, SLOW);
    let mut work = writers(9, 0.0, 1000);
    work.tasks[8].steps[0].accesses.clear();
    work.tasks[8].steps[0].compute = Seconds(7.0);
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let outcome = simulate(&scene, &choice(&site, &work, "slow"), 0).expect("an outcome");
    near(outcome.tasks[8].ended, 7.0);
    near(outcome.makespan, 40.0);
}

#[test]
fn operations_have_prices_and_limits() {
    let slow = format!("{SLOW}\nlatency = {{ create = \"1 s\" }}\nnames_per_second = 2.0");
    let site = two_tiers("cores = 8", FAST, &slow);
    for (tasks, seconds) in [(1, 2.0), (2, 2.0), (8, 4.0)] {
        let work = writers(tasks, 1.0, 0);
        let scene = PreparedProblem::new(&site, &work).expect("a scene");
        let outcome = simulate(&scene, &choice(&site, &work, "slow"), 0).expect("an outcome");
        near(outcome.makespan, seconds);
    }
}

/// Where each name in place takes a second, and on the fast tier a tenth. Writing a MiB in place takes
/// a hundredth; an empty file lives where its rule says as any other.
#[test]
fn a_plain_file_that_lives_elsewhere_has_its_name_in_place() {
    let slow = format!("{SLOW}\nlatency = {{ names = \"1 s\" }}");
    let fast = format!("{FAST}\nlatency = {{ names = \"100ms\" }}");
    let site = two_tiers("cores = 1", &fast, &slow);
    for mib in [1, 0] {
        let mut work = writers(1, 0.0, mib);
        let ops = [Op::LookupFailed, Op::Create, Op::Getattr, Op::Rename, Op::Unlink];
        work.tasks[0].steps[0].accesses[0].ops =
            ops.map(|op| (OpKey::without_bytes(op), 1.0)).to_vec();
        let scene = PreparedProblem::new(&site, &work).expect("a scene");
        let takes = |rule: &str| {
            let placements = vec![placed(&site, rule)];
            let choice = Choice { placements, ..choice(&site, &work, "slow") };
            simulate(&scene, &choice, 0).expect("an outcome").makespan
        };
        near(takes("home = \"in-place\""), 5.0 + 0.01 * mib as f64);
        // Four in place, and there: the body is made, asked for and removed.
        near(takes("home = \"fast\"\nafter = \"keep\""), 4.3);
        // Only whether there is such a name is asked in place.
        for layout in ["packed", "apart"] {
            near(takes(&format!("home = \"fast\"\nafter = \"keep\"\nlayout = \"{layout}\"")), 1.0);
        }
    }
}

/// In place each name takes a second, on the fast tier a tenth, and a request to Forebay a quarter.
#[test]
fn forebay_costs_something_where_it_puts_files_and_nothing_where_all_stay() {
    let slow = format!("{SLOW}\nlatency = {{ names = \"1 s\" }}");
    let fast = format!("{FAST}\nlatency = {{ names = \"100ms\" }}");
    let site = two_tiers("cores = 1", &fast, &slow);
    let mut work = writers(1, 0.0, 1);
    work.tasks[0].steps[0].accesses[0].ops = vec![(OpKey::without_bytes(Op::Create), 1.0)];
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let scene =
        scene.with_own_cost(ForebayOverhead { request: Seconds(0.25), remembers_answers: true });
    let takes_placed = |placement: Placement| {
        let choice = Choice { placements: vec![placement], ..choice(&site, &work, "slow") };
        simulate(&scene, &choice, 0).expect("an outcome").makespan
    };
    let takes = |rule: &str| takes_placed(placed(&site, rule));
    near(takes("home = \"in-place\""), 1.01);
    // Four more in place: a look-up, a getattr, a getxattr and a readlink.
    near(takes("home = \"fast\"\nafter = \"keep\""), 1.1 + 4.0 + 0.25 + OF_RUN + OF_WALK);
    near(takes("home = \"fast\"\nafter = \"keep\"\nlayout = \"packed\""), 0.25 + OF_RUN);
    // A packed file is made, dated, closed and linked, looked up, and asked about 2.65 times.
    let home = 7.65 + 0.01;
    near(takes("home = \"fast\"\nlayout = \"packed\""), 0.25 + home + OF_RUN);
    // Forebay is not asked for what is in a whole folder.
    let kept = placed(&site, "home = \"fast\"\nafter = \"keep\"");
    near(takes_placed(Placement { layout: FileLayout::Whole, ..kept }), 0.1 + OF_RUN + OF_WALK);
}

/// In place each name takes a second; what is fast takes nothing. A packed file that comes home asks for
/// 7.65 names, sixteen files at a time, and for 3.8 of them others in its directory wait.
#[test]
fn files_that_come_home_to_one_directory_wait_for_each_other() {
    let slow = format!("{SLOW}\nlatency = {{ names = \"1 s\" }}");
    let site = two_tiers("cores = 1", FAST, &slow);
    let named = |sets: u32, files: u64| {
        let mut work = writers(sets, 0.0, 0);
        for set in &mut work.files {
            set.count = files;
        }
        for task in &mut work.tasks {
            task.steps[0].accesses[0].ops = vec![(OpKey::without_bytes(Op::Create), 1.0)];
        }
        work
    };
    let takes_work = |directories: u64, mut work: Workload| {
        for class in &mut work.classes {
            class.directories = directories;
        }
        let scene = PreparedProblem::new(&site, &work).expect("a scene");
        let scene = scene
            .with_own_cost(ForebayOverhead { request: Seconds::ZERO, remembers_answers: true });
        let packed = placed(&site, "home = \"fast\"\nlayout = \"packed\"");
        let placements = vec![packed; work.classes.len()];
        let choice = Choice { placements, ..choice(&site, &work, "slow") };
        simulate(&scene, &choice, 0).expect("an outcome").makespan - Seconds(OF_RUN)
    };
    let takes = |directories, sets, files| takes_work(directories, named(sets, files));
    near(takes(1, 1, 32), 32.0 * 3.8);
    near(takes(32, 1, 32), 32.0 * 7.65 / 16.0);
    // Of so many that come one at a time the last few have fewer beside them.
    let beside: f64 = (1..=32_u32).map(|left| 7.65 / f64::from(left.min(16))).sum();
    near(takes(32, 32, 1), beside);
    near(takes(1, 32, 1), 32.0 * 3.8 + (7.65 - 3.8) + (7.65 / 2.0 - 3.8));
    // Two directories do not wait for each other.
    let mut work = named(2, 32);
    let other = FileClass { pattern: "other/#".into(), ..work.classes[0].clone() };
    work.classes.push(other);
    work.files[1].class = FileClassId(1);
    near(takes_work(1, work), 32.0 * 3.8);
}

/// Each name in place takes a second; requests to Forebay and the fast tier take nothing.
#[test]
fn where_files_are_packed_answers_count_for_a_second() {
    let slow = format!("{SLOW}\nlatency = {{ names = \"1 s\" }}");
    let site = two_tiers("cores = 1", FAST, &slow);
    let mut work = writers(2, 0.0, 1);
    work.files[1].class = FileClassId(1);
    let other = work.classes[0].clone();
    work.classes.push(FileClass { pattern: "other/#".into(), ..other });
    let ops = |ops: &[(Op, f64)]| {
        ops.iter().map(|(op, count)| (OpKey::without_bytes(*op), *count)).collect::<Vec<_>>()
    };
    let stays = ops(&[(Op::Mkdir, 1.0), (Op::Create, 1.0), (Op::Getattr, 50.0)]);
    work.tasks[0].steps[0].accesses[0].ops = stays;
    work.tasks[1].steps[0].accesses[0].ops = ops(&[(Op::LookupFailed, 7.0), (Op::Create, 1.0)]);
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let scene =
        scene.with_own_cost(ForebayOverhead { request: Seconds::ZERO, remembers_answers: true });
    let takes_on = |scene: &PreparedProblem<'_>, layout: &str| {
        let rule = format!("home = \"fast\"\nafter = \"keep\"\n{layout}");
        let placements = vec![placed(&site, "home = \"in-place\""), placed(&site, &rule)];
        let choice = Choice { placements, ..choice(&site, &work, "slow") };
        simulate(scene, &choice, 0).expect("an outcome").makespan
    };
    let takes = |layout: &str| takes_on(&scene, layout);
    // What stays: a directory, a file and the 2.6 questions that Forebay adds for it, and 50 more.
    // Its MiB takes 0.01 s. What is moved: eight names in place, and four questions that Forebay adds.
    near(takes(""), 2.0 + 2.6 + 50.0 + 8.0 + 4.0 + 0.01 + OF_RUN + OF_WALK_OF_TWO);
    // Of the 50 two are left, for a file and a directory; a directory may get packed names, which is
    // four questions; and what is packed asks for nothing.
    near(takes("layout = \"packed\""), 2.0 + 2.6 + 2.0 + 4.0 + 0.01 + OF_RUN);
    // Rules without a `metadata_cache` ask each time.
    let forgets = ForebayOverhead { request: Seconds::ZERO, remembers_answers: false };
    let scene = PreparedProblem::new(&site, &work).expect("a scene").with_own_cost(forgets);
    near(takes_on(&scene, "layout = \"packed\""), 2.0 + 2.6 + 50.0 + 7.0 + 4.0 + 0.01 + OF_RUN);
}

#[test]
fn files_take_room_until_their_last_reader_is_done() {
    let site = two_tiers("cores = 1", FAST, SLOW);
    let mut work = writers(4, 1.0, 400);
    work.files[0].until = DeletionPoint::Task(forebay_model::workload::TaskId(1));
    work.files[1].until = DeletionPoint::Task(forebay_model::workload::TaskId(1));
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let outcome = simulate(&scene, &choice(&site, &work, "slow"), 0).expect("an outcome");
    assert_eq!(outcome.tiers[&TierId("slow".into())].peak_bytes.get(), 800 * MIB);
}

#[test]
fn a_full_tier_spills_or_fails() {
    let site = two_tiers("cores = 1", FAST, SLOW);
    let work = writers(4, 1.0, 400);
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let mut choice = choice(&site, &work, "slow");
    choice.placements = vec![placed(&site, "home = \"fast\"\nafter = \"keep\"")];
    let outcome = simulate(&scene, &choice, 0).expect("an outcome");
    assert_eq!(outcome.tiers[&TierId("fast".into())].peak_bytes.get(), 800 * MIB);
    assert_eq!(outcome.tiers[&TierId("slow".into())].written_bytes.get(), 800 * MIB);
    near(outcome.makespan, 12.0);
    choice.placements = vec![placed(&site, "home = \"fast\"\nfull = \"fail\"")];
    let why = simulate(&scene, &choice, 0).expect_err("no room").to_string();
    assert!(why.contains("tier \"fast\" has no room"), "{why}");
    // With admission by room, nothing is freed, so the third never starts.
    let why = simulate(&scene, &with_policy(choice, "capacity"), 0).expect_err("stuck").to_string();
    assert!(why.contains("never starts: it writes 400 MiB to tier \"fast\""), "{why}");
}

#[test]
fn pipelines_begin_apart_and_low_kinds_wait() {
    let site = two_tiers("cores = 1", FAST, SLOW);
    let mut work = writers(2, 10.0, 0);
    work.kinds.push(kind("last", 1));
    work.tasks[1].kind = forebay_model::workload::TaskKindId(1);
    work.tasks[1].after = vec![forebay_model::workload::TaskId(0)];
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let both = Choice { pipelines: 2, stagger: Seconds(5.0), ..choice(&site, &work, "slow") };
    let ends = |choice: &Choice| -> Vec<(u32, u32, f64)> {
        let outcome = simulate(&scene, choice, 0).expect("an outcome");
        outcome.tasks.iter().map(|task| (task.pipeline, task.task.0, task.ended.get())).collect()
    };
    // First come first served, the second pipeline's first task is before the first one's last.
    assert_eq!(ends(&both), [(0, 0, 10.0), (1, 0, 20.0), (0, 1, 30.0), (1, 1, 40.0)]);
    let low = Choice {
        low: vec![forebay_model::workload::TaskKindId(0)],
        ..with_policy(both, "low-priority")
    };
    assert_eq!(ends(&low), [(0, 0, 10.0), (0, 1, 20.0), (1, 0, 30.0), (1, 1, 40.0)]);
}

#[test]
fn what_cannot_be_is_named() {
    let work = writers(1, 1.0, 1);
    let none = site("[tier.a]\nreach = \"node\"\npath = \"/a\"\n");
    let why = PreparedProblem::new(&none, &work).expect_err("no nodes").to_string();
    assert!(why.contains("[nodes]"), "{why}");
    let small = site("[nodes]\ncores = 1\n[tier.a]\nreach = \"node\"\npath = \"/a\"\n");
    let mut big = work.clone();
    big.kinds[0].cores = 4;
    let why = PreparedProblem::new(&small, &big).expect_err("too large").to_string();
    assert!(why.contains("takes 4 cores, but a node of the site has 1"), "{why}");
    let scene = PreparedProblem::new(&small, &work).expect("a scene");
    let why = simulate(&scene, &choice(&small, &work, "a"), 0).expect_err("no profile").to_string();
    assert!(why.contains("tier \"a\"") && why.contains("no profile"), "{why}");
    let site = site(
        "[nodes]\ncores = 1\ncount = 2\n[tier.a]\nreach = \"node\"\n[tier.a.profile]\nsource = \"us\"\n",
    );
    let mut shared = writers(2, 1.0, 1);
    shared.tasks[1].steps[0].accesses.push(reads(0, 1));
    let scene = PreparedProblem::new(&site, &shared).expect("a scene");
    let why =
        scene.check_choice(&choice(&site, &shared, "a")).expect_err("out of reach").to_string();
    assert!(why.contains("\"out/#\"") && why.contains("only one node reaches"), "{why}");
}

#[test]
fn tasks_begin_again_when_their_machine_is_taken_away() {
    let site = two_tiers("cores = 2\ncount = 4", FAST, SLOW);
    let work = writers(40, 600.0, 10);
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let calm = choice(&site, &work, "slow");
    let spot = Some(forebay_plan::SpotMachines { per_hour: 1.0, replaced: Seconds(120.0) });
    let often = Choice { spot, ..calm.clone() };
    let (a, b) =
        (simulate(&scene, &calm, 1).expect("calm"), simulate(&scene, &often, 1).expect("spot"));
    assert!(b.makespan > a.makespan && b.tasks.len() > 40, "{:?} {}", b.makespan, b.tasks.len());
    assert_eq!(b, simulate(&scene, &often, 1).expect("again"));
    assert_ne!(b, simulate(&scene, &often, 2).expect("another seed"));
    assert_eq!(
        b.tiers[&TierId("slow".into())].peak_bytes,
        a.tiers[&TierId("slow".into())].peak_bytes
    );
    let spot = Some(forebay_plan::SpotMachines { per_hour: 3000.0, replaced: Seconds(120.0) });
    let why = simulate(&scene, &Choice { spot, ..calm }, 1).expect_err("never").to_string();
    assert!(why.contains("never ends"), "{why}");
}

#[test]
fn what_is_done_again_is_counted_as_often_as_machines_go() {
    let site = two_tiers("cores = 2\ncount = 4", FAST, SLOW);
    let work = writers(40, 600.0, 10);
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let calm = choice(&site, &work, "slow");
    let (plain, none) = simulate_with_rework(&scene, &calm, 1).expect("an outcome");
    assert!(none.is_none() && plain == simulate(&scene, &calm, 1).expect("the same"));
    let with = |per_hour| {
        let spot = Some(forebay_plan::SpotMachines { per_hour, replaced: Seconds(120.0) });
        let (outcome, again) =
            simulate_with_rework(&scene, &Choice { spot, ..calm.clone() }, 1).expect("an outcome");
        (outcome, again.expect("something is done again"))
    };
    let ((rare, one), (_, two)) = (with(1e-5), with(2e-5));
    near(Seconds(one.interruptions), 1e-5 * plain.makespan.get() / 3600.0 * 4.0);
    near(two.time, one.time.get() * 2.0);
    near(rare.makespan, plain.makespan.get() + one.time.get());
    // Two tasks of ten minutes begin again, and another machine comes two minutes later.
    let each = one.time.get() / one.interruptions;
    assert!((1.0..1400.0).contains(&each), "{each} s for each interruption");
    let (often, many) = with(2.0);
    assert!(many.interruptions > 2.0 && many.share > 0.05, "{many:?}");
    let slow = |outcome: &forebay_plan::Outcome| outcome.tiers[&TierId("slow".into())];
    assert!(slow(&often).written_bytes > slow(&plain).written_bytes, "bytes are written again");
}

#[test]
fn reserved_pipelines_wait_for_room_and_give_it_back() {
    let site = two_tiers("cores = 8", FAST, SLOW);
    let mut work = writers(2, 10.0, 400);
    for files in &mut work.files {
        files.until = DeletionPoint::Task(forebay_model::workload::TaskId(1));
    }
    work.tasks[1].after = vec![forebay_model::workload::TaskId(0)];
    let scene = PreparedProblem::new(&site, &work).expect("a scene");
    let mut choice = Choice { pipelines: 3, ..choice(&site, &work, "slow") };
    choice.placements = vec![placed(&site, "home = \"fast\"\nfull = \"fail\"")];
    // Each holds 800 MiB at its end, and there is 1 GiB: one after the other.
    let outcome = simulate(&scene, &with_policy(choice, "reserve"), 0).expect("an outcome");
    near(outcome.makespan, 60.0);
}
