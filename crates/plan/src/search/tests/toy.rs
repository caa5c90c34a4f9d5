//! Small random workloads on a small site, and a judge that simulates one choice after the other.

use super::super::{ChoiceEvaluator, Score};
use crate::search_space::{Configuration, ConfigurationGrid};
use crate::seeded_rng::SeededRng;
use crate::{Choice, PolicyId, PreparedProblem, WriteBackEstimate, simulate};
use forebay_model::event::{AccessPattern, Op, OpKey};
use forebay_model::workload::*;
use forebay_model::{
    ByteCount, FileLocation, FullTierPolicy, Placement, Seconds, Site, TierId, Usd, Workload,
};

const SITE: &str = r#"
[nodes]
count = 1
cores = 4
slots = 2
[tier.net]
reach = "shared"
profile = { source = "us", latency = "4 ms", read = { stream = "80 MB/s", node = "120 MB/s" }, write = { stream = "60 MB/s", total = "90 MB/s" }, names_per_second = 300 }
[tier.disk]
reach = "node"
capacity = "9 GB"
profile = { source = "us", latency = "50 us", read = { stream = "2 GB/s" }, write = { stream = "1 GB/s", total = "1200 MB/s" } }
[tier.slow]
reach = "world"
profile = { source = "us", latency = "30 ms", read = { stream = "90 MB/s" }, write = { stream = "90 MB/s" }, contention = { streams = 0.5 } }
"#;

/// With or without memory that keeps what was read, of so many nodes.
pub(super) fn site(memory: bool, nodes: u32) -> Site {
    let text = match memory {
        true => SITE.replace("slots = 2", "slots = 2\nmemory = \"6 GB\""),
        false => SITE.to_owned(),
    };
    let text = text.replace("count = 1", &format!("count = {nodes}"));
    Site::parse(&text, "site.toml", &|_| None).expect("a site")
}

pub(super) fn project() -> TierId {
    TierId("net".to_owned())
}

pub(super) fn frames(nodes: u32) -> ConfigurationGrid {
    ConfigurationGrid {
        nodes: if nodes > 1 { vec![nodes, 1] } else { vec![1] },
        slots: vec![2],
        pipelines: vec![1, 3],
        staggers: vec![Seconds::ZERO],
        policies: vec![(PolicyId("fifo"), vec![])],
        spots: vec![None],
        split_pools: false,
    }
}

/// Each task reads what some earlier ones made, and makes something of a class.
pub(super) fn random(dice: &mut SeededRng, classes: usize, tasks: usize) -> Workload {
    let gb =
        |dice: &mut SeededRng| ByteCount(100_000_000 + 1_000_000 * dice.next_index(4000) as u64);
    let name = |class: usize| format!("c{class}/#");
    let mut workload = Workload {
        name: "random".to_owned(),
        classes: (0..classes)
            .map(|class| FileClass::new(name(class), format!("c{class}/1").into_bytes()))
            .collect(),
        kinds: vec![TaskKind { name: "t".to_owned(), cores: 1, memory: None }],
        ..Workload::default()
    };
    for number in 0..tasks {
        let made = FileSetId(number as u32);
        let class = FileClassId(if number == 0 { 0 } else { dice.next_index(classes) as u32 });
        let bytes = gb(dice);
        workload.files.push(FileSet { class, count: 1, bytes, until: DeletionPoint::End });
        // The first set is an input: nobody makes it.
        let mut accesses = Vec::new();
        let mut after = Vec::new();
        for _ in 0..2 {
            let from = dice.next_index(number.max(1));
            let set = FileSetId(from as u32);
            let names = 10.0 * dice.next_index(300) as f64;
            let (read, written) = (workload.files[from].bytes, ByteCount::ZERO);
            let reads = OpKey::with_bytes(Op::Read, 1 << 20, AccessPattern::Sequential);
            let ops = vec![(OpKey::without_bytes(Op::Lookup), names), (reads, 9.0)];
            accesses.push(FileSetAccess { files: set, ops, read, written });
            if from > 0 && from < number {
                after.push(TaskId(from as u32));
                workload.files[from].until = match workload.files[from].until {
                    DeletionPoint::End if dice.next_index(2) == 0 => DeletionPoint::End,
                    _ => DeletionPoint::Task(TaskId(number as u32)),
                };
            }
        }
        if number > 0 {
            let ops = vec![
                (OpKey::without_bytes(Op::Create), 1.0),
                (OpKey::without_bytes(Op::Fsync), 5.0),
            ];
            let read = ByteCount::ZERO;
            accesses.push(FileSetAccess { files: made, ops, read, written: bytes });
        }
        after.sort_unstable();
        after.dedup();
        let compute = Seconds(dice.next_index(40) as f64);
        let step = TaskStep { name: "s".to_owned(), compute, accesses };
        workload.tasks.push(Task { kind: TaskKindId(0), key: None, after, steps: vec![step] });
    }
    workload
}

pub(super) struct Toy<'a> {
    pub(super) scene: &'a PreparedProblem<'a>,
    homecoming: WriteBackEstimate<'a>,
}

impl<'a> Toy<'a> {
    pub(super) fn new(scene: &'a PreparedProblem<'a>) -> Self {
        Self { scene, homecoming: WriteBackEstimate::new(scene.site, scene.workload) }
    }
}

const RENT: f64 = 0.001;

impl ChoiceEvaluator for Toy<'_> {
    fn score_choices(&mut self, choices: &[Choice]) -> Vec<Result<Score, String>> {
        let one = |choice: &Choice| {
            let outcome =
                simulate(self.scene, &strict(choice), 1).map_err(|why| why.to_string())?;
            let placed = choice.placements.iter().enumerate();
            let tolls: f64 = placed.map(|(class, p)| self.placement_toll(class, p).get()).sum();
            let makespan = outcome.makespan;
            let usd = RENT * makespan.get() / f64::from(choice.pipelines) + tolls;
            Ok(Score { makespan, per_sample: Some(Usd(usd)) })
        };
        choices.iter().map(one).collect()
    }

    fn rent_per_second(&self, _frame: &Configuration) -> Option<Usd> {
        Some(Usd(RENT))
    }

    fn placement_toll(&self, class: usize, placement: &Placement) -> Usd {
        let shares = match &placement.home {
            FileLocation::Here => 1.0,
            FileLocation::Tier(tier) if tier.as_str() == "slow" => 0.2,
            FileLocation::Tier(_) => 3.0,
        };
        Usd(shares * 0.003 * (class + 1) as f64)
    }

    fn minimum_delay(&self, frame: &Configuration, class: usize, placement: &Placement) -> Seconds {
        self.homecoming.minimum_write_back_time(class, placement, &project(), frame.nodes)
    }
}

/// The same, but that what does not fit is an error.
fn strict(choice: &Choice) -> Choice {
    let mut choice = choice.clone();
    for placement in &mut choice.placements {
        placement.full = FullTierPolicy::Fail;
    }
    choice
}
