//! If these fail, a plan proposes what can't work: a home that a reader can't reach, rules that
//! contradict each other.
use super::*;
use crate::PolicyId;
use forebay_model::event::{Op, OpKey};
use forebay_model::workload::*;
use forebay_model::{ByteCount, Seconds};

const SITE: &str = r#"
[tier.net]
reach = "shared"
profile = { source = "us" }
[tier.disk]
reach = "node"
capacity = "100 GB"
pools = { temp = "40 GB", cache = "40 GB" }
profile = { source = "us" }
[tier.bucket]
reach = "world"
profile = { source = "us" }
[tier.unknown]
reach = "shared"
path = "/x"
"#;

/// One task makes small files from an input, another one reads them and writes for itself.
fn workload() -> Workload {
    let names = ["in/a", "tmp/#", "own/#"];
    let set = |class, count, bytes| FileSet {
        class: FileClassId(class),
        count,
        bytes: ByteCount(bytes),
        until: DeletionPoint::End,
    };
    let access = |files, read: u64, written: u64| FileSetAccess {
        files: FileSetId(files),
        ops: vec![(OpKey::without_bytes(Op::Open), 1.0)],
        read: ByteCount(read),
        written: ByteCount(written),
    };
    let task = |accesses| Task {
        kind: TaskKindId(0),
        key: None,
        after: vec![],
        steps: vec![TaskStep { name: "s".to_owned(), compute: Seconds(1.0), accesses }],
    };
    Workload {
        name: "w".to_owned(),
        classes: names.map(|name| FileClass::new(name.to_owned(), name.into())).to_vec(),
        files: vec![set(0, 1, 1000), set(1, 500, 1000), set(2, 1, 1 << 30)],
        kinds: vec![TaskKind { name: "t".to_owned(), cores: 1, memory: None }],
        tasks: vec![
            task(vec![access(0, 1000, 0), access(1, 0, 1000)]),
            task(vec![access(1, 1000, 0), access(2, 9, 1 << 30)]),
        ],
        ordered: false,
        doubts: vec![],
    }
}

fn frames(nodes: u32) -> ConfigurationGrid {
    ConfigurationGrid {
        nodes: vec![nodes],
        slots: vec![1],
        pipelines: vec![1, 2],
        staggers: vec![Seconds::ZERO, Seconds(60.0)],
        policies: vec![(PolicyId("fifo"), vec![]), (PolicyId("low"), vec![TaskKindId(0)])],
        spots: vec![None],
        split_pools: true,
    }
}

fn space(nodes: u32) -> SearchSpace {
    let site = Site::parse(SITE, "site.toml", &|_| None).expect("a site");
    SearchSpace::new(&site, &workload(), &TierId("net".to_owned()), &frames(nodes))
}

fn words(space: &SearchSpace, class: usize) -> Vec<String> {
    let word = |placement: &Placement| match (&placement.home, &placement.cache) {
        (FileLocation::Tier(tier), _) => format!("{tier} {:?}", placement.layout),
        (FileLocation::Here, Some(cache)) => format!("copies on {}", cache.tier),
        (FileLocation::Here, None) => "here".to_owned(),
    };
    space.options[class].iter().map(word).collect()
}

#[test]
fn inputs_are_copied_and_what_tasks_make_is_given_a_home() {
    let space = space(1);
    assert_eq!(words(&space, 0), ["here", "copies on disk.cache", "copies on disk.cache"]);
    assert_eq!(
        words(&space, 1),
        ["here", "bucket Plain", "disk.temp Plain", "disk.temp Packed", "disk.temp Apart"]
    );
    assert_eq!(words(&space, 2), ["here", "bucket Plain", "disk.temp Plain"]);
    assert_eq!(space.left_out.len(), 1, "{:?}", space.left_out);
    assert!(space.left_out[0].contains("unknown"));
}

/// Shells look for names before they make them; that is no input.
#[test]
fn names_that_are_only_looked_for_keep_no_class_in_place() {
    let mut workload = workload();
    let until = DeletionPoint::End;
    let nothing = FileSet { class: FileClassId(2), count: 1, bytes: ByteCount::ZERO, until };
    workload.files.push(nothing);
    assert!(class_facts(&workload)[2].made);
    workload.files.push(FileSet { bytes: ByteCount(1), ..workload.files[3].clone() });
    assert!(!class_facts(&workload)[2].made);
}

/// A small fast tier for results that do not fit there together.
#[test]
fn results_may_go_home_when_they_are_closed_where_room_is_short() {
    let site = |capacity: &str| {
        let text = SITE
            .replace("100 GB", capacity)
            .replace("pools = { temp = \"40 GB\", cache = \"40 GB\" }", "");
        Site::parse(&text, "site.toml", &|_| None).expect("a site")
    };
    let drained = |capacity: &str, until: DeletionPoint| {
        let mut workload = workload();
        workload.files[2].until = until;
        let space =
            SearchSpace::new(&site(capacity), &workload, &TierId("net".to_owned()), &frames(1));
        let closed =
            |placement: &&Placement| placement.drain == forebay_model::WriteBackTrigger::Closed;
        space.options[2].iter().filter(closed).count()
    };
    // Two pipelines make 1 GiB each.
    assert_eq!(drained("1.5 GB", DeletionPoint::End), 1);
    assert_eq!(drained("3 GB", DeletionPoint::End), 0, "all fits there until the end");
    assert_eq!(drained("1 GB", DeletionPoint::End), 0, "not even one fits");
    assert_eq!(drained("1.5 GB", DeletionPoint::Task(TaskId(1))), 0, "nothing is left to go home");
}

#[test]
fn what_another_node_may_read_is_never_on_one_nodes_disk() {
    let space = space(2);
    assert_eq!(words(&space, 1), ["here", "bucket Plain"]);
    assert_eq!(words(&space, 2), ["here", "bucket Plain", "disk.temp Plain"]);
}

#[test]
fn one_pipeline_has_no_stagger_and_pools_are_split_anew() {
    let space = space(1);
    // (1 of one pipeline + 2 staggers x 2 policies) x (as it is + 3 splits)
    assert_eq!(space.frames.len(), 5 * 4);
    assert!(space.frames[0].pools.is_empty());
    for frame in &space.frames {
        assert!(frame.pipelines > 1 || frame.low.is_empty());
        let sum: u64 = frame.pools.values().map(|bytes| bytes.get()).sum();
        assert!(frame.pools.is_empty() || sum == 80_000_000_000, "{frame:?}");
    }
}

#[test]
fn two_tiers_with_packed_files_do_not_fit_together() {
    let mut space = space(1);
    let packed = |tier: &str| Placement {
        home: FileLocation::Tier(TierId(tier.to_owned())),
        layout: forebay_model::FileLayout::Packed,
        ..space.options[0][0].clone()
    };
    space.options = vec![vec![packed("disk"), packed("disk.temp")]; 2];
    let fits =
        |picks: [u8; 2]| space.fits_together(&SearchPoint { frame: 0, picks: picks.to_vec() });
    assert!(fits([0, 0]) && fits([1, 1]) && !fits([0, 1]));
}

/// If this fails, somebody who wants it fastest gets a task that waits longer than before.
#[test]
fn placements_with_longer_waits_than_in_place_are_left_out() {
    let mut space = space(1);
    let before = space.clone();
    assert!(before.options[1].len() > 2, "{before:?}");
    space.drop_longer_waits(|_, option| if option == 1 { 2.0 } else { 1.0 });
    for (left, all) in space.options.iter().zip(&before.options) {
        let kept = all.iter().enumerate().filter(|(option, _)| *option != 1);
        assert_eq!(*left, kept.map(|(_, placement)| placement.clone()).collect::<Vec<_>>());
    }
}
