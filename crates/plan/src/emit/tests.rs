//! If these fail, a plan is obeyed as something else than was planned.
use super::rules::same_placement;
use super::*;
use crate::search_space::{ConfigurationGrid, SearchSpace};
use crate::whole_folders::{propose_whole_folders, with_whole_folders};
use crate::{PolicyId, TierOutcome};
use forebay_model::FileLayout;
use forebay_model::file_classes::class_of;
use forebay_model::workload::*;
use forebay_model::{Op, OpKey, Rules, Seconds};
use std::collections::BTreeMap;

const SITE: &str = r#"
[tier.net]
reach = "shared"
profile = { source = "us" }
[tier.disk]
reach = "node"
capacity = "100 GB"
pools = { temp = "40 GB", cache = "40 GB" }
profile = { source = "us" }
"#;

/// Names as pipelines have them, with all that means something in globs.
const PARTS: &[&str] = &[
    "map",
    "0007.bwa.sam",
    "x1.sam",
    "a[1].txt",
    "{b}.txt",
    "tmp.AbC123x",
    "tmpa1b2c3d4",
    "tmpfile",
    "3f",
    "0123456789abcdef0123456789abcd",
    ".command.sh",
    "b*c",
    "q?.txt",
    "it's \"new\"",
    "7",
    "back\\slash",
    "comma,d",
    "!no",
    "work",
    "naïve",
    "out",
    "12.34",
    "#real",
];

fn workload(paths: &[Vec<u8>]) -> Workload {
    let mut workload = Workload { name: "w".to_owned(), ..Workload::default() };
    workload.kinds.push(TaskKind {
        name: "MAP:ALIGN 1".to_owned(),
        cores: 2,
        memory: Some(ByteCount(3_000_000_000)),
    });
    let mut accesses = Vec::new();
    for path in paths {
        let pattern = class_of(path);
        if workload.classes.iter().any(|class| class.pattern == pattern) {
            continue;
        }
        let id = FileClassId(workload.classes.len() as u32);
        workload.classes.push(FileClass::new(pattern, path.clone()));
        // Every third one is an input.
        let made = !id.0.is_multiple_of(3);
        workload.files.push(FileSet {
            class: id,
            count: 200,
            bytes: ByteCount(20_000),
            until: DeletionPoint::End,
        });
        accesses.push(FileSetAccess {
            files: FileSetId(id.0),
            ops: vec![(OpKey::without_bytes(if made { Op::Create } else { Op::Open }), 1.0)],
            read: ByteCount(if made { 0 } else { 9 }),
            written: ByteCount(if made { 20_000_000_000 } else { 0 }),
        });
    }
    let step = TaskStep { name: "s".to_owned(), compute: Seconds(1.0), accesses };
    workload.tasks.push(Task { kind: TaskKindId(0), key: None, after: vec![], steps: vec![step] });
    workload
}

fn site() -> Site {
    Site::parse(SITE, "site.toml", &|_| None).expect("a site")
}

fn space(site: &Site, workload: &Workload) -> SearchSpace {
    let frames = ConfigurationGrid {
        nodes: vec![1],
        slots: vec![8],
        pipelines: vec![2],
        staggers: vec![Seconds(60.0)],
        policies: vec![(PolicyId("low"), vec![TaskKindId(0)])],
        spots: vec![None],
        split_pools: false,
    };
    SearchSpace::new(site, workload, &TierId("net".to_owned()), &frames)
}

fn outcome() -> Outcome {
    let tier = TierOutcome { peak_bytes_per_node: 5.5 * 1024.0 * 1024.0, ..TierOutcome::default() };
    Outcome {
        makespan: Seconds(1.0),
        homecoming: Seconds::ZERO,
        tasks: vec![],
        tiers: BTreeMap::from([(TierId("disk".to_owned()), tier)]),
        utilisation: 1.0,
    }
}

/// A small generator: the same cases every time.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

#[test]
fn what_is_emitted_is_read_back_as_the_same_placements() {
    let site = site();
    let outcome = outcome();
    let header = ["a plan".to_owned(), String::new()];
    let mut state = 1;
    for case in 0..400 {
        let paths: Vec<Vec<u8>> = (0..1 + next(&mut state) % 12)
            .map(|_| {
                let parts = 1 + next(&mut state) % 4;
                let parts = (0..parts).map(|_| PARTS[next(&mut state) % PARTS.len()]);
                let mut path = parts.collect::<Vec<_>>().join("/").into_bytes();
                if next(&mut state).is_multiple_of(20) {
                    path.push(0xff);
                }
                path
            })
            .collect();
        let workload = workload(&paths);
        let space = space(&site, &workload);
        let mut point = space.all_in_place();
        for (class, options) in space.options.iter().enumerate() {
            point.picks[class] = (next(&mut state) % options.len()) as u8;
        }
        let choice = space.choice_at(&point);
        let emission = EmitContext {
            site: &site,
            workload: &workload,
            choice: &choice,
            whole_folders: &[],
            outcome: &outcome,
            alone: &outcome,
            samples: 4,
            header: &header,
        };
        let text = render_rules(&emission).unwrap_or_else(|why| panic!("case {case}: {why}"));
        let read = Rules::parse(&text, "rules.toml", &site).expect("rules");
        for (class, placement) in workload.classes.iter().zip(&choice.placements) {
            let placed = read.placement_for_path(&class.example, None);
            assert!(same_placement(placed, placement), "case {case}, {}:\n{text}", class.pattern);
        }
        // And the same again for whoever plans from these rules.
        for (a, b) in
            crate::choice::placements_by_rules(&read, &workload).iter().zip(&choice.placements)
        {
            assert!(same_placement(a, b));
        }
    }
}

/// A rule is for the class, not for one of its files.
/// The rules of a choice.
fn ruled(site: &Site, workload: &Workload, choice: &Choice) -> String {
    let emission = EmitContext {
        site,
        workload,
        choice,
        whole_folders: &[],
        outcome: &outcome(),
        alone: &outcome(),
        samples: 1,
        header: &[],
    };
    render_rules(&emission).expect("rules")
}

#[test]
fn a_rule_matches_the_other_files_of_its_class_too_and_no_namesake_elsewhere() {
    let site = site();
    let paths = ["in/ref.fa", "map/0007.bwa.sam", "all.bam"].map(|path| path.as_bytes().to_vec());
    let workload = workload(&paths);
    let space = space(&site, &workload);
    let point = crate::search_space::SearchPoint { frame: 0, picks: vec![1, 1, 1] };
    let text = ruled(&site, &workload, &space.choice_at(&point));
    let read = Rules::parse(&text, "rules.toml", &site).expect("rules");
    let moved = |path: &str| read.placement_for_path(path.as_bytes(), None).rule.is_some();
    assert!(moved("map/12.bwa.sam") && moved("all.bam"), "{text}");
    assert!(
        !moved("map/x.bwa.sam") && !moved("deep/all.bam") && !moved("map/y/1.bwa.sam"),
        "{text}"
    );
}

#[test]
fn a_rule_takes_the_names_that_files_have_until_they_are_whole() {
    let site = site();
    let mut workload = workload(&["in/ref.fa", "map/1.bam"].map(|path| path.as_bytes().to_vec()));
    workload.classes[1].passing_names.push(PassingName {
        pattern: "map/#.bam.tmp".to_owned(),
        example: b"map/1.bam.tmp".to_vec(),
    });
    let space = space(&site, &workload);
    let point = crate::search_space::SearchPoint { frame: 0, picks: vec![0, 1] };
    let text = ruled(&site, &workload, &space.choice_at(&point));
    let read = Rules::parse(&text, "rules.toml", &site).expect("rules");
    let home = |path: &str| read.placement_for_path(path.as_bytes(), None).home.clone();
    assert!(matches!(home("map/7.bam"), forebay_model::FileLocation::Tier(_)), "{text}");
    assert_eq!(home("map/7.bam.tmp"), home("map/7.bam"), "{text}");
    assert_eq!(home("map/7.bam.bak"), forebay_model::FileLocation::Here, "{text}");
}

#[test]
fn a_rule_says_that_files_go_home_when_they_are_closed() {
    let site = Site::parse(&SITE.replace("GB", "kB"), "site.toml", &|_| None).expect("a site");
    let paths = ["in/ref.fa", "out/1.bam", "all.bam", "x", "y", "z", "v"];
    let workload = workload(&paths.map(|path| path.as_bytes().to_vec()));
    let space = space(&site, &workload);
    let closed = |p: &forebay_model::Placement| p.drain == forebay_model::WriteBackTrigger::Closed;
    let mut point = space.all_in_place();
    point.picks[1] = space.options[1].iter().position(closed).expect("it is offered") as u8;
    let text = ruled(&site, &workload, &space.choice_at(&point));
    assert!(text.contains("write_back = \"on-close\"\n"), "{text}");
    let read = Rules::parse(&text, "rules.toml", &site).expect("rules");
    assert!(
        closed(read.placement_for_path(b"out/7.bam", None))
            && !closed(read.placement_for_path(b"all.bam", None))
    );
}

#[test]
fn rules_that_pack_ask_for_names_once_a_second() {
    let site = site();
    let workload = workload(&["in/ref.fa", "x/1.sam"].map(|path| path.as_bytes().to_vec()));
    let space = space(&site, &workload);
    let packed = |p: &forebay_model::Placement| p.layout.is_packed();
    let mut point = space.all_in_place();
    let text = ruled(&site, &workload, &space.choice_at(&point));
    assert!(!text.contains("[[metadata_cache]]"), "{text}");
    point.picks[1] = space.options[1].iter().position(packed).expect("it is offered") as u8;
    let text = ruled(&site, &workload, &space.choice_at(&point));
    let read = Rules::parse(&text, "rules.toml", &site).expect("rules");
    assert_eq!(
        read.metadata_cache_timeout(b"x/2.sam"),
        Some(forebay_model::Micros::from_secs(1)),
        "{text}"
    );
}

#[test]
fn every_engine_is_told_how_much_at_a_time_and_says_how_its_file_is_used() {
    let site = site();
    let paths = ["in/ref.fa", "map/0007.bwa.sam", "all.bam"].map(|path| path.as_bytes().to_vec());
    let workload = workload(&paths);
    let space = space(&site, &workload);
    let point = crate::search_space::SearchPoint { frame: 0, picks: vec![0, 1, 1] };
    let (choice, outcome) = (space.choice_at(&point), outcome());
    let header = ["from a.run".to_owned()];
    let emission = EmitContext {
        site: &site,
        workload: &workload,
        choice: &choice,
        whole_folders: &[],
        outcome: &outcome,
        alone: &outcome,
        samples: 4,
        header: &header,
    };
    for engine in ENGINES {
        let text = engine.render_text(&emission);
        assert!(text.contains("from a.run"), "{}: {text}", engine.name);
        assert!(text.contains('8'), "{}: {text}", engine.name);
        assert!(text.contains("MAP:ALIGN 1"), "{} names no task: {text}", engine.name);
        assert!(!engine.usage.is_empty() && engine.suffix.starts_with('.'));
    }
    let text = |name| {
        let engine = ENGINES.iter().find(|engine| engine.name == name).expect("an engine");
        engine.render_text(&emission)
    };
    // 40 GB of room, 40 GB for each task.
    assert!(text("nextflow").contains("maxForks = 1\n"), "{}", text("nextflow"));
    assert!(text("snakemake").contains("forebay_mb: 40000\n"), "{}", text("snakemake"));
    assert!(text("snakemake").contains("- forebay_mb=40000\n"));
    assert!(text("slurm").contains("#SBATCH --gres=forebay_disk:6\n#"), "{}", text("slurm"));
    assert!(!text("slurm").contains("#SBATCH --tmp"), "Slurm does not count it");
    assert!(text("slurm").contains("--array=1-4%2"), "{}", text("slurm"));
}

/// What Slurm is told of a workload whose task writes 20 GB to each node's disk: so many nodes and
/// pipelines, on a volume of 1 GB of which all together have `both` MiB at most and one has `alone`.
fn slurm_lines(site: &str, nodes: u32, pipelines: u32, (both, alone): (u64, u64)) -> String {
    let site = Site::parse(site, "site.toml", &|_| None).expect("a site");
    let workload = workload(&[b"in/a".to_vec(), b"tmp/b".to_vec()]);
    let space = space(&site, &workload);
    let on_disk = crate::search_space::SearchPoint { frame: 0, picks: vec![0, 1] };
    let choice = Choice { nodes, pipelines, ..space.choice_at(&on_disk) };
    let came = |mib: u64| {
        let mut outcome = outcome();
        let tier = TierOutcome { peak_bytes: ByteCount(mib << 20), ..TierOutcome::default() };
        outcome.tiers.insert(TierId("net".to_owned()), tier);
        outcome
    };
    let emission = EmitContext {
        site: &site,
        workload: &workload,
        choice: &choice,
        whole_folders: &[],
        outcome: &came(both),
        alone: &came(alone),
        samples: 4,
        header: &[],
    };
    slurm::ENGINE.render_text(&emission)
}

const BOUNDED: &str = r#"
[tier.net]
reach = "shared"
capacity = "1 GB"
profile = { source = "us" }
[tier.disk]
reach = "node"
capacity = "100 GB"
profile = { source = "us" }
"#;

#[test]
fn slurm_counts_the_room_of_all_nodes_by_licences_each_pipeline_its_part() {
    for (site, licence) in [(BOUNDED, true), (SITE, false)] {
        let made = slurm_lines(site, 1, 2, (5, 2));
        // Two pipelines at a time have 5 MiB.
        assert_eq!(made.contains("#SBATCH --licenses=forebay_net:3\n"), licence, "{made}");
        assert_eq!(made.contains("Licenses=forebay_net:MIB"), licence, "{made}");
    }
    // Each has most at another time in the simulation; who counts on it has no room one day.
    let made = slurm_lines(BOUNDED, 1, 2, (5, 4));
    assert!(made.contains("#SBATCH --licenses=forebay_net:4\n"), "{made}");
}

#[test]
fn slurm_lets_kinds_of_low_priority_wait_in_a_partition_of_a_lower_tier() {
    let made = slurm_lines(BOUNDED, 1, 2, (5, 5));
    assert!(made.contains("# Jobs of MAP:ALIGN 1: sbatch --partition=forebay_low\n"), "{made}");
    assert!(made.contains("PartitionName=forebay_low Nodes=ALL PriorityTier=1"), "{made}");
}

#[test]
fn slurm_gives_one_pipeline_the_nodes_and_several_their_engines_which_send_tasks() {
    let made = slurm_lines(BOUNDED, 2, 1, (5, 5));
    assert!(made.contains("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n"), "{made}");
    assert!(made.contains("#SBATCH --gres=forebay_disk:6\n"), "{made}");
    // Two jobs of all slots of all nodes would never run beside each other.
    let made = slurm_lines(BOUNDED, 2, 2, (5, 5));
    assert!(made.contains("#SBATCH --ntasks=1\n") && !made.contains("--nodes="), "{made}");
    assert!(!made.contains("#SBATCH --gres"), "the engine has no room of the nodes': {made}");
    assert!(
        made.contains("# Jobs of MAP:ALIGN 1: sbatch --gres=forebay_disk:19074 --part"),
        "{made}"
    );
}

#[test]
fn a_whole_folder_is_one_rule_before_all_others() {
    let site = site();
    let paths = ["in/ref.fa", "tmp/1.sam", "tmp/sub/2.idx", "in/3", "out/1.bam"];
    let workload = workload(&paths.map(|path| path.as_bytes().to_vec()));
    let space = space(&site, &workload);
    let emptied = ["tmp".to_owned(), "out".to_owned(), "in".to_owned()];
    let choice = |picks: [u8; 5]| {
        let point = crate::search_space::SearchPoint { frame: 0, picks: picks.to_vec() };
        space.choice_at(&point)
    };
    let proposed = |picks| propose_whole_folders(&choice(picks), &workload, &emptied);
    assert_eq!(proposed([0, 1, 0, 0, 0]), [], "half of its files stay in place");
    let several = Choice { nodes: 2, ..choice([0, 1, 1, 0, 0]) };
    assert_eq!(propose_whole_folders(&several, &workload, &emptied), []);
    let folders = proposed([0, 1, 1, 0, 0]);
    assert_eq!((folders.len(), &*folders[0].path, &*folders[0].classes), (1, "tmp", &[1, 2][..]));
    let whole = with_whole_folders(&choice([0, 1, 1, 0, 1]), &folders);
    let outcome = outcome();
    let emission = EmitContext {
        site: &site,
        workload: &workload,
        choice: &whole,
        whole_folders: &folders,
        outcome: &outcome,
        alone: &outcome,
        samples: 1,
        header: &[],
    };
    let text = render_rules(&emission).expect("rules");
    let read = Rules::parse(&text, "rules.toml", &site).expect("rules");
    assert_eq!(read.whole_folders().len(), 1, "{text}");
    assert_eq!(read.whole_folders()[0].path, std::path::Path::new("tmp"));
    let layout = |path: &str| read.placement_for_path(path.as_bytes(), None).layout;
    assert_eq!(layout("tmp/any/name"), FileLayout::Whole, "{text}");
    assert_eq!(layout("out/7.bam"), FileLayout::Plain, "{text}");
    assert!(text.find("whole_folder").expect("said") < text.find("out/").expect("said"), "{text}");
}
