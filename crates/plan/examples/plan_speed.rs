//! How many choices of a workflow of 1,000 tasks are simulated in how many seconds:
//! `cargo run --release -p forebay-plan --example plan_speed [THREADS]`. The house promises 10,000
//! in at most 10 s on two cores.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros)] // It measures and prints.

use forebay_model::event::{AccessPattern, Op, OpKey};
use forebay_model::workload::*;
use forebay_model::{ByteCount, Seconds, Site, TierId, Workload};
use forebay_plan::bound::LowerBounds;
use forebay_plan::search::{ChoiceEvaluator, Goal, Score, SearchRequest, find_best_choice};
use forebay_plan::search_space::{Configuration, ConfigurationGrid, SearchSpace};
use forebay_plan::{Choice, PolicyId, PreparedProblem, simulate};
use std::time::Instant;

const SITE: &str = r#"
[nodes]
count = 4
cores = 16
[tier.net]
reach = "shared"
profile = { source = "made up", latency = "1 ms", read = { stream = "200 MB/s", total = "2 GB/s" }, write = { stream = "150 MB/s", total = "1 GB/s" }, names_per_second = 20000 }
[tier.fast]
reach = "shared"
capacity = "300 GB"
profile = { source = "made up", latency = "100 us", read = { stream = "1 GB/s", total = "8 GB/s" }, write = { stream = "800 MB/s", total = "4 GB/s" } }
[tier.bucket]
reach = "world"
profile = { source = "made up", latency = "30 ms", read = { stream = "90 MB/s" }, write = { stream = "90 MB/s" } }
"#;
const CHOICES: usize = 10_000;
const STAGES: u32 = 10;
const WIDTH: u32 = 100;

/// Ten stages of a hundred tasks, each reading what one or two of the stage before wrote.
fn workload() -> Workload {
    let mut workload = Workload { name: "stages".to_owned(), ..Workload::default() };
    for stage in 0..STAGES {
        let example = format!("s{stage}/1").into_bytes();
        workload.classes.push(FileClass::new(format!("s{stage}/#"), example));
        workload.kinds.push(TaskKind { name: format!("stage{stage}"), cores: 1, memory: None });
        for number in 0..WIDTH {
            let id = stage * WIDTH + number;
            let bytes = ByteCount(500_000_000 + u64::from(id * 7919 % 1000) * 1_000_000);
            let until = match stage + 1 < STAGES {
                true => DeletionPoint::Task(TaskId((stage + 1) * WIDTH + number)),
                false => DeletionPoint::End,
            };
            workload.files.push(FileSet { class: FileClassId(stage), count: 20, bytes, until });
            let before: Vec<u32> = match stage {
                0 => vec![],
                _ if number > 0 => vec![id - WIDTH - 1, id - WIDTH],
                _ => vec![id - WIDTH],
            };
            let reads = OpKey::with_bytes(Op::Read, 1 << 17, AccessPattern::Sequential);
            let mut accesses: Vec<FileSetAccess> = before
                .iter()
                .map(|from| FileSetAccess {
                    files: FileSetId(*from),
                    ops: vec![(OpKey::without_bytes(Op::Open), 20.0), (reads, 5000.0)],
                    read: workload.files[*from as usize].bytes,
                    written: ByteCount::ZERO,
                })
                .collect();
            let ops = vec![
                (OpKey::without_bytes(Op::Create), 20.0),
                (OpKey::without_bytes(Op::Lookup), 900.0),
            ];
            let read = ByteCount::ZERO;
            accesses.push(FileSetAccess { files: FileSetId(id), ops, read, written: bytes });
            let compute = Seconds(20.0 + f64::from(id * 31 % 17));
            let step = TaskStep { name: "work".to_owned(), compute, accesses };
            let after = before.into_iter().map(TaskId).collect();
            let kind = TaskKindId(stage);
            workload.tasks.push(Task { kind, key: None, after, steps: vec![step] });
        }
    }
    workload
}

struct Threads<'s>(&'s PreparedProblem<'s>, usize);

impl ChoiceEvaluator for Threads<'_> {
    fn score_choices(&mut self, choices: &[Choice]) -> Vec<Result<Score, String>> {
        let (scene, each) = (self.0, choices.len().div_ceil(self.1).max(1));
        let one = |choice: &Choice| {
            let outcome = simulate(scene, choice, 0).map_err(|why| why.to_string())?;
            Ok(Score { makespan: outcome.makespan, per_sample: None })
        };
        std::thread::scope(|scope| {
            let part = |part| scope.spawn(move || Vec::from_iter(<[Choice]>::iter(part).map(one)));
            let parts: Vec<_> = choices.chunks(each).map(part).collect();
            parts.into_iter().flat_map(|part| part.join().expect("no panic")).collect()
        })
    }

    fn rent_per_second(&self, _: &Configuration) -> Option<forebay_model::Usd> {
        None
    }
}

fn main() {
    let threads = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(2);
    let (site, workload) = (Site::parse(SITE, "site", &|_| None).expect("a site"), workload());
    let scene = PreparedProblem::new(&site, &workload).expect("a scene");
    let frames = ConfigurationGrid {
        nodes: vec![4],
        slots: vec![16],
        pipelines: vec![1],
        staggers: vec![Seconds::ZERO],
        policies: vec![(PolicyId("fifo"), vec![])],
        spots: vec![None],
        split_pools: false,
    };
    let space = SearchSpace::new(&site, &workload, &TierId("net".to_owned()), &frames);
    let mut point = space.all_in_place();
    let mut state = 1_u64;
    let choices: Vec<Choice> = (0..CHOICES)
        .map(|_| {
            for (class, pick) in point.picks.iter_mut().enumerate() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *pick = ((state >> 33) % space.options[class].len() as u64) as u8;
            }
            space.choice_at(&point)
        })
        .collect();
    let began = Instant::now();
    let scores = Threads(&scene, threads).score_choices(&choices);
    let took = began.elapsed().as_secs_f64();
    let possible = scores.iter().filter(|score| score.is_ok()).count();
    println!("{CHOICES} random choices, {possible} possible, {threads} threads: {took:.2} s");

    let began = Instant::now();
    let bounds = LowerBounds::new(&scene, &space);
    let wanted = SearchRequest { goal: Goal::Fastest, samples: 1, seed: 1, error: 0.05 };
    let mut judge = Threads(&scene, threads);
    let found =
        find_best_choice(&space, &bounds, &mut judge, wanted, &mut |_| true).expect("a plan");
    let took = began.elapsed().as_secs_f64();
    println!(
        "search over {} classes: {:?}, {} simulated, gap {:.2} %, in place {:.0} s, plan {:.0} s, {took:.2} s",
        found.classes,
        found.rung,
        found.simulated,
        found.optimality_gap() * 100.0,
        found.as_it_is_value.unwrap_or(f64::NAN),
        found.value
    );
}
