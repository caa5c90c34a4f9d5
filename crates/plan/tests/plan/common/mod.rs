//! Sites and workloads for tests: small ones by hand, and odd ones from a seed.
#![allow(dead_code)]

use forebay_model::event::{Op, OpKey};
use forebay_model::workload::*;
use forebay_model::{ByteCount, Placement, Rules, Seconds, Site, TierId, Workload};
use forebay_plan::{Choice, PolicyId};

pub(crate) const MIB: u64 = 1 << 20;

pub(crate) fn site(text: &str) -> Site {
    Site::parse(text, "site.toml", &|_| None).expect("a site")
}

/// Numbers that look random and are the same each time.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// A choice for files of "slow", each class with one of these placements, and one to three pipelines.
pub(crate) fn strewn(site: &Site, work: &Workload, dice: &mut Dice, rules: &[&str]) -> Choice {
    let mut choice = choice(site, work, "slow");
    for placement in &mut choice.placements {
        *placement = placed(site, rules[dice.below(rules.len() as u64) as usize]);
    }
    choice.pipelines = 1 + dice.below(3) as u32;
    choice
}

/// Two tiers, and nodes.
pub(crate) fn two_tiers(nodes: &str, fast: &str, slow: &str) -> Site {
    site(&format!(
        "[nodes]\n{nodes}\n[tier.fast]\nreach = \"shared\"\n{fast}\n[tier.slow]\nreach = \"shared\"\n{slow}\n"
    ))
}

pub(crate) fn writes(files: u32, mib: u64) -> FileSetAccess {
    FileSetAccess {
        files: FileSetId(files),
        ops: vec![(OpKey::without_bytes(Op::Create), 1.0)],
        read: ByteCount::ZERO,
        written: ByteCount(mib * MIB),
    }
}

pub(crate) fn reads(files: u32, mib: u64) -> FileSetAccess {
    FileSetAccess {
        files: FileSetId(files),
        ops: vec![(OpKey::without_bytes(Op::Open), 1.0)],
        read: ByteCount(mib * MIB),
        written: ByteCount::ZERO,
    }
}

pub(crate) fn class(pattern: &str) -> FileClass {
    FileClass::new(pattern.to_owned(), pattern.as_bytes().to_vec())
}

pub(crate) fn set(class: u32, mib: u64, until: DeletionPoint) -> FileSet {
    FileSet { class: FileClassId(class), count: 1, bytes: ByteCount(mib * MIB), until }
}

pub(crate) fn kind(name: &str, cores: u32) -> TaskKind {
    TaskKind { name: name.to_owned(), cores, memory: None }
}

pub(crate) fn task(kind: u32, after: &[u32], compute: f64, accesses: Vec<FileSetAccess>) -> Task {
    Task {
        kind: TaskKindId(kind),
        key: None,
        after: after.iter().map(|task| TaskId(*task)).collect(),
        steps: vec![TaskStep { name: "step".to_owned(), compute: Seconds(compute), accesses }],
    }
}

/// So many tasks that each compute and write a file of their own.
pub(crate) fn writers(count: u32, compute: f64, mib: u64) -> Workload {
    Workload {
        name: "writers".to_owned(),
        classes: vec![class("out/#")],
        files: (0..count).map(|_| set(0, mib, DeletionPoint::End)).collect(),
        kinds: vec![kind("write", 1)],
        tasks: (0..count).map(|task_| task(0, &[], compute, vec![writes(task_, mib)])).collect(),
        ordered: false,
        doubts: vec![],
    }
}

pub(crate) fn choice(site: &Site, workload: &Workload, project: &str) -> Choice {
    Choice::all_in_place(site, workload, TierId(project.to_owned())).expect("a site with nodes")
}

/// The placement of a rule.
pub(crate) fn placed(site: &Site, rule: &str) -> Placement {
    let text = format!("[[rule]]\nmatch = \"**\"\n{rule}\n");
    let rules = Rules::parse(&text, "rules.toml", site).expect("rules");
    rules.placement_for_path(std::path::Path::new("a").as_os_str().as_encoded_bytes(), None).clone()
}

pub(crate) fn with_policy(choice: Choice, policy: &'static str) -> Choice {
    Choice { policy: PolicyId(policy), ..choice }
}

/// Layers of tasks, each of which reads what some of the layer before wrote.
pub(crate) fn layered(seed: u64) -> Workload {
    let mut dice = Dice(seed);
    let kinds: u32 = 1 + dice.below(4) as u32;
    let count = 2 + dice.below(60) as u32;
    let (mut tasks, mut files) =
        (Vec::new(), vec![set(0, 1 + dice.below(500), DeletionPoint::End)]);
    for number in 0..count {
        let before: Vec<u32> = (0..if number > 0 { dice.below(3) } else { 0 })
            .map(|_| dice.below(u64::from(number)) as u32)
            .collect();
        let mut accesses = vec![reads(0, dice.below(100)), writes(number + 1, 1 + dice.below(300))];
        accesses.extend(
            before.iter().map(|task| reads(task + 1, files[*task as usize + 1].bytes.get() / MIB)),
        );
        files.push(set(1 + number % kinds, accesses[1].written.get() / MIB, DeletionPoint::End));
        let mut one = task(number % kinds, &before, dice.below(100) as f64 / 3.0, accesses);
        one.after.sort_unstable();
        one.after.dedup();
        tasks.push(one);
    }
    // Half of the files are freed by the last who reads them.
    for number in 0..count {
        let last = (0..count).rev().find(|task| {
            tasks[*task as usize].steps[0]
                .accesses
                .iter()
                .any(|access| access.files.0 == number + 1)
        });
        if let (0, Some(last)) = (dice.below(2), last) {
            files[number as usize + 1].until = DeletionPoint::Task(TaskId(last));
        }
    }
    Workload {
        name: "layers".to_owned(),
        classes: (0..=kinds).map(|class_| class(&format!("c{class_}/#"))).collect(),
        files,
        kinds: (0..kinds).map(|number| kind(&format!("k{number}"), 1 + number % 2)).collect(),
        tasks,
        ordered: dice.below(2) == 0,
        doubts: vec![],
    }
}
