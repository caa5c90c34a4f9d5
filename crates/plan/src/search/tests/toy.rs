//! A model that is small enough to be exact: list scheduling on slots, with times from profiles,
//! room over time, and dollars for machines and for bytes on the project's storage.

use super::super::dice::Dice;
use super::super::{Judge, Score};
use crate::bound::{Floor, Profiles};
use crate::space::{Frame, Frames};
use crate::{Choice, PolicyId};
use forebay_model::event::{Op, OpKey, Pattern};
use forebay_model::workload::*;
use forebay_model::{ByteCount, Home, Placement, Seconds, Site, TierId, Usd, Workload};
use std::collections::BTreeMap;

const SITE: &str = r#"
[nodes]
count = 1
cores = 4
[tier.net]
reach = "shared"
profile = { source = "us", latency = "4 ms", read = { stream = "80 MB/s" }, write = { stream = "60 MB/s", total = "90 MB/s" } }
[tier.disk]
reach = "node"
capacity = "9 GB"
profile = { source = "us", latency = "50 us", read = { stream = "2 GB/s" }, write = { stream = "1 GB/s" } }
[tier.slow]
reach = "world"
profile = { source = "us", latency = "30 ms", read = { stream = "90 MB/s" }, write = { stream = "90 MB/s" } }
"#;

pub(super) fn site() -> Site {
    Site::parse(SITE, "site.toml", &|_| None).expect("a site")
}

pub(super) fn project() -> TierId {
    TierId("net".to_owned())
}

pub(super) fn frames() -> Frames {
    Frames {
        nodes: vec![1],
        slots: vec![2],
        pipelines: vec![1, 3],
        staggers: vec![Seconds::ZERO],
        policies: vec![(PolicyId("fifo"), vec![])],
        split_pools: false,
    }
}

/// Each task reads what some earlier ones made, and makes something of a class.
pub(super) fn random(dice: &mut Dice, classes: usize, tasks: usize) -> Workload {
    let gb = |dice: &mut Dice| ByteCount(100_000_000 + 1_000_000 * dice.below(4000) as u64);
    let name = |class: usize| format!("c{class}/#");
    let mut workload = Workload {
        name: "random".to_owned(),
        classes: (0..classes)
            .map(|class| FileClass {
                pattern: name(class),
                example: format!("c{class}/1").into_bytes(),
            })
            .collect(),
        kinds: vec![TaskKind { name: "t".to_owned(), cores: 1, memory: None }],
        ..Workload::default()
    };
    for number in 0..tasks {
        let made = FileSetId(number as u32);
        let class = FileClassId(if number == 0 { 0 } else { dice.below(classes) as u32 });
        let bytes = gb(dice);
        workload.files.push(FileSet { class, count: 1, bytes, until: Until::End });
        // The first set is an input: nobody makes it.
        let mut accesses = Vec::new();
        let mut after = Vec::new();
        for _ in 0..2 {
            let from = dice.below(number.max(1));
            let set = FileSetId(from as u32);
            let names = 10.0 * dice.below(300) as f64;
            let (read, written) = (workload.files[from].bytes, ByteCount::ZERO);
            let reads = OpKey::data(Op::Read, 1 << 20, Pattern::Sequential);
            let ops = vec![(OpKey::plain(Op::Lookup), names), (reads, 9.0)];
            accesses.push(Access { files: set, ops, read, written });
            if from > 0 && from < number {
                after.push(TaskId(from as u32));
                workload.files[from].until = match workload.files[from].until {
                    Until::End if dice.below(2) == 0 => Until::End,
                    _ => Until::Task(TaskId(number as u32)),
                };
            }
        }
        if number > 0 {
            let ops = vec![(OpKey::plain(Op::Create), 1.0), (OpKey::plain(Op::Fsync), 5.0)];
            let read = ByteCount::ZERO;
            accesses.push(Access { files: made, ops, read, written: bytes });
        }
        after.sort_unstable();
        after.dedup();
        let compute = Seconds(dice.below(40) as f64);
        let step = Step { name: "s".to_owned(), compute, accesses };
        workload.tasks.push(Task { kind: TaskKindId(0), key: None, after, steps: vec![step] });
    }
    workload
}

pub(super) struct Toy {
    site: Site,
    workload: Workload,
}

impl Toy {
    pub(super) fn new(site: Site, workload: Workload) -> Self {
        Self { site, workload }
    }

    /// For each pipeline and task when it starts and ends.
    fn schedule(&self, choice: &Choice) -> Vec<Vec<(f64, f64)>> {
        let floor = Profiles::new(&self.site, &choice.project, false);
        let mut slots = vec![0.0_f64; (choice.nodes * choice.slots) as usize];
        let mut all = Vec::new();
        for _ in 0..choice.pipelines {
            let mut times: Vec<(f64, f64)> = Vec::new();
            for (number, task) in self.workload.tasks.iter().enumerate() {
                let ready = task.after.iter().map(|t| times[t.index()].1).fold(0.0, f64::max);
                let slot = (0..slots.len()).min_by(|a, b| slots[*a].total_cmp(&slots[*b]));
                let slot = &mut slots[slot.expect("a slot")];
                let start = ready.max(*slot);
                let mut time = 0.0;
                for step in &task.steps {
                    time += step.compute.get();
                    for access in &step.accesses {
                        time += floor.least(number, access, self.placed(choice, access)).time.get();
                    }
                }
                *slot = start + time;
                times.push((start, start + time));
            }
            all.push(times);
        }
        all
    }

    fn placed<'c>(&self, choice: &'c Choice, access: &Access) -> &'c Placement {
        let class = self.workload.files[access.files.index()].class;
        &choice.placements[class.index()]
    }

    /// A tier that holds more at some moment than it can.
    pub(super) fn overfull(&self, choice: &Choice) -> Option<TierId> {
        let times = self.schedule(choice);
        let end = times.iter().flatten().map(|(_, end)| *end).fold(0.0, f64::max);
        let mut changes: BTreeMap<&TierId, Vec<(f64, i8, f64)>> = BTreeMap::new();
        for times in &times {
            for (number, (start, _)) in times.iter().enumerate().skip(1) {
                let set = &self.workload.files[number];
                let placement = &choice.placements[set.class.index()];
                let Home::Tier(tier) = &placement.home else { continue };
                let freed = match set.until {
                    Until::End => end + 1.0,
                    Until::Task(task) => times[task.index()].1,
                };
                let bytes = set.bytes.get() as f64;
                let list = changes.entry(tier).or_default();
                list.push((*start, 1, bytes));
                list.push((freed, 0, -bytes));
            }
        }
        for (tier, mut list) in changes {
            list.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let Some(room) = self.site.tier(tier).and_then(|tier| tier.capacity) else { continue };
            let mut there = 0.0;
            for (_, _, bytes) in list {
                there += bytes;
                if there > room.get() as f64 {
                    return Some(tier.clone());
                }
            }
        }
        None
    }

    /// What goes through each limit, in seconds.
    fn volume(&self, choice: &Choice) -> f64 {
        let floor = Profiles::new(&self.site, &choice.project, false);
        let mut most = 0.0_f64;
        let mut sums: Vec<(crate::bound::Resource, f64)> = Vec::new();
        for access in self.workload.tasks.iter().flat_map(|t| &t.steps).flat_map(|s| &s.accesses) {
            for (resource, amount) in floor.least(0, access, self.placed(choice, access)).uses {
                match sums.iter_mut().find(|(known, _)| *known == resource) {
                    Some((_, sum)) => *sum += amount,
                    None => sums.push((resource, amount)),
                }
            }
        }
        for (resource, sum) in sums {
            most = most.max(sum * f64::from(choice.pipelines) / resource.rate);
        }
        most
    }
}

const RENT: f64 = 0.001;

impl Judge for Toy {
    fn judge(&mut self, choices: &[Choice]) -> Vec<Result<Score, String>> {
        let one = |choice: &Choice| {
            if let Some(tier) = self.overfull(choice) {
                return Err(format!("tier {tier} is full"));
            }
            let times = self.schedule(choice);
            let last = times.iter().flatten().map(|(_, end)| *end).fold(0.0, f64::max);
            let makespan = last.max(self.volume(choice));
            let tolls = self.workload.classes.iter().zip(&choice.placements).enumerate();
            let tolls: f64 = tolls.map(|(class, (_, p))| self.toll(class, p).get()).sum();
            let usd = RENT * makespan / f64::from(choice.pipelines) + tolls;
            Ok(Score { makespan: Seconds(makespan), per_sample: Some(Usd(usd)) })
        };
        choices.iter().map(one).collect()
    }

    fn rent(&self, _frame: &Frame) -> Option<Usd> {
        Some(Usd(RENT))
    }

    fn toll(&self, class: usize, placement: &Placement) -> Usd {
        let shares = match &placement.home {
            Home::Here => 1.0,
            Home::Tier(tier) => {
                if tier.as_str() == "slow" {
                    0.2
                } else {
                    3.0
                }
            }
        };
        Usd(shares * 0.003 * (class + 1) as f64)
    }
}
