//! If these fail, a plan is called cheaper that is not, or a guess passes for a price.
use super::*;
use crate::{PolicyId, TierOutcome};
use forebay_model::event::{Op, OpKey};
use forebay_model::workload::*;
use forebay_model::{ByteCount, FileLocation, Placement, Seconds};

const SHEET: &str = r#"
schema = 1
sheet = "test-2026"
compiled = "2026-11-21"
hours_per_month = 730
[spot]
discount = 0.5
interrupted_per_month = 0.1
status = "seen"
date = "2026"
source = "x"
[price]
"vm.ondemand" = { usd = 2, per = "hour", status = "unverified" }
"disk.size" = { usd = 0.1, per = "GB-month reserved", status = "seen", date = "d", source = "s" }
"disk.iops" = { usd = 0.01, per = "IOPS-month", included = 100, status = "seen-2nd", date = "d", source = "s" }
"bucket.size" = { usd = 0.02, per = "GB-month used", status = "seen", date = "d", source = "s" }
"bucket.put" = { usd = 0.005, per = "1000 writes", status = "seen", date = "d", source = "s" }
"bucket.get" = { usd = 0.0004, per = "1000 reads", status = "seen", date = "d", source = "s" }
"bucket.read" = { usd = 0.01, per = "GB read", status = "seen", date = "d", source = "s" }
"bucket.other.more" = { usd = 9, per = "GB read", status = "seen", date = "d", source = "s" }
"transfer.internet" = { usd = 0.09, per = "GB out", status = "seen", date = "d", source = "s" }
"#;
const SITE: &str = r#"
[nodes]
count = 4
cores = 8
instance = "vm"
[tier.disk]
reach = "node"
capacity = "730 GB"
price = "disk"
profile = { source = "us", data_per_second = 300, read = { total = "1 GiB/s" } }
[tier.bucket]
reach = "world"
price = "bucket"
profile = { source = "us", write = { total = "100 MB/s" } }
"#;

fn prices() -> Prices {
    Prices::parse(SHEET, "prices.toml").expect("a sheet")
}

fn site(text: &str) -> Site {
    Site::parse(text, "site.toml", &|_| None).expect("a site")
}

/// One task that makes a result of 10 GB with 1000 creates and 3000 look-ups.
fn workload() -> Workload {
    let access = FileSetAccess {
        files: FileSetId(0),
        ops: vec![
            (OpKey::without_bytes(Op::Create), 1000.0),
            (OpKey::without_bytes(Op::Lookup), 3000.0),
        ],
        read: ByteCount::ZERO,
        written: ByteCount(10_000_000_000),
    };
    let step = TaskStep { name: "x".to_owned(), compute: Seconds(1.0), accesses: vec![access] };
    Workload {
        name: "one".to_owned(),
        classes: vec![FileClass::new("out/#".to_owned(), b"out/1".to_vec())],
        files: vec![FileSet {
            class: FileClassId(0),
            count: 1000,
            bytes: ByteCount(10_000_000_000),
            until: DeletionPoint::End,
        }],
        kinds: vec![TaskKind { name: "x".to_owned(), cores: 1, memory: None }],
        tasks: vec![Task { kind: TaskKindId(0), key: None, after: vec![], steps: vec![step] }],
        ordered: false,
        doubts: vec![],
    }
}

fn choice(home: FileLocation) -> Choice {
    let placement = Placement { home, rule: Some(1), ..crate::choice::in_place_placement() };
    Choice {
        placements: vec![placement],
        project: TierId("bucket".to_owned()),
        pools: BTreeMap::new(),
        nodes: 2,
        slots: 8,
        pipelines: 2,
        stagger: Seconds::ZERO,
        policy: PolicyId("fifo"),
        low: vec![],
        spot: None,
    }
}

fn outcome(tier: &str) -> Outcome {
    let used = TierOutcome {
        read_bytes: ByteCount(5_000_000_000),
        operations: 1.0,
        peak_bytes: ByteCount(20_000_000_000),
        ..TierOutcome::default()
    };
    Outcome {
        makespan: Seconds(3600.0),
        homecoming: Seconds::ZERO,
        tasks: vec![],
        tiers: BTreeMap::from([(TierId(tier.to_owned()), used)]),
        utilisation: 1.0,
    }
}

fn line(cost: &Cost, item: &str) -> f64 {
    cost.lines.iter().filter(|line| line.item == item).map(|line| line.usd.get()).sum()
}

#[track_caller]
fn near(left: f64, right: f64) {
    assert!((left - right).abs() <= right.abs() * 1e-9 + 1e-12, "{left} is not {right}");
}

#[test]
fn in_place_pays_machines_room_bytes_and_requests() {
    let (prices, site) = (prices(), site(SITE));
    let pricer = Pricer::new(&site, &workload(), &prices, PurchaseTerms::default());
    let pricer = pricer.expect("prices").expect("a price");
    let cost = pricer.cost_of_outcome(&choice(FileLocation::Here), &outcome("bucket"), None);
    near(line(&cost, "vm.ondemand"), 2.0 * 2.0);
    near(line(&cost, "bucket.size"), 20.0 * 0.02 / 730.0);
    near(line(&cost, "bucket.read"), 5.0 * 0.01);
    near(line(&cost, "bucket.get"), 2.0 * 3.0 * 0.0004);
    // 1000 creates, and a part for each 8 MiB.
    near(line(&cost, "bucket.put"), 2.0 * (1.0 + 1e10 / 8_388_608.0 / 1e3) * 0.005);
    near(line(&cost, "bucket.other.more"), 0.0);
    near(cost.total.get(), cost.lines.iter().map(|line| line.usd.get()).sum());
    near(cost.per_sample.get() * 2.0, cost.total.get());
    assert_eq!(cost.homecoming, Seconds::ZERO);
    assert_eq!(cost.unverified, ["vm.ondemand"]);
    assert_eq!((cost.sheet.as_str(), cost.compiled.as_str()), ("test-2026", "2026-11-21"));
}

#[test]
fn results_come_home_from_a_disk_while_machines_and_uploads_are_paid() {
    let (prices, site) = (prices(), site(SITE));
    let pricer = Pricer::new(&site, &workload(), &prices, PurchaseTerms::default());
    let pricer = pricer.expect("prices").expect("a price");
    let (makespan, homecoming) = (Seconds(3800.0), Seconds(200.0));
    let outcome = Outcome { makespan, homecoming, ..outcome("disk") };
    let cost = pricer.cost_of_outcome(
        &choice(FileLocation::Tier(TierId("disk".to_owned()))),
        &outcome,
        None,
    );
    near(cost.homecoming.get(), 200.0);
    near(line(&cost, "vm.ondemand"), 2.0 * 2.0 * 3800.0 / 3600.0);
    let months = 3800.0 / 3600.0 / 730.0;
    near(line(&cost, "disk.size"), 2.0 * 730.0 * 0.1 * months);
    near(line(&cost, "disk.iops"), 2.0 * 200.0 * 0.01 * months);
    assert_eq!(cost.second_hand, ["disk.iops"]);
    near(line(&cost, "bucket.put"), 2.0 * (1.0 + 1e10 / 8_388_608.0 / 1e3) * 0.005);
}

/// The search trusts these: a toll that is too high hides the best plan.
#[test]
fn tolls_are_never_more_than_what_is_paid_for_bytes_and_requests() {
    let with_memory = SITE.replace("cores = 8", "cores = 8\nmemory = \"64 GiB\"");
    let (prices, site) = (prices(), site(&with_memory));
    let pricer = Pricer::new(&site, &workload(), &prices, PurchaseTerms::default());
    let pricer = pricer.expect("prices").expect("a price");
    for home in [FileLocation::Here, FileLocation::Tier(TierId("disk".to_owned()))] {
        let choice = choice(home);
        let workload = workload();
        let scene = crate::PreparedProblem::new(&site, &workload).expect("a scene");
        let outcome = crate::simulate(&scene, &choice, 1).expect("possible");
        let cost = pricer.cost_of_outcome(&choice, &outcome, None);
        let by_use = ["bucket.read", "bucket.put", "bucket.get"];
        let paid: f64 = by_use.iter().map(|item| line(&cost, item)).sum();
        let toll = pricer.placement_toll(0, &choice.placements[0], &choice.project).get();
        assert!(toll > 0.0);
        near(toll * 2.0, paid);
    }
}

#[test]
fn what_memory_answers_costs_nothing() {
    let with_memory = SITE.replace("cores = 8", "cores = 8\nmemory = \"64 GiB\"");
    let prices = prices();
    let mut workload = workload();
    let reads =
        OpKey::with_bytes(Op::Read, 1 << 20, forebay_model::event::AccessPattern::Sequential);
    let step = &mut workload.tasks[0].steps[0].accesses[0];
    (step.ops, step.read) = (vec![(reads, 10_000.0)], std::mem::take(&mut step.written));
    workload.tasks.push(Task { after: vec![TaskId(0)], ..workload.tasks[0].clone() });
    let choice = Choice { nodes: 1, pipelines: 1, ..choice(FileLocation::Here) };
    let paid = |text: &str| {
        let site = site(text);
        let pricer = Pricer::new(&site, &workload, &prices, PurchaseTerms::default());
        let pricer = pricer.expect("prices").expect("a price");
        let scene = crate::PreparedProblem::new(&site, &workload).expect("a scene");
        let outcome = crate::simulate(&scene, &choice, 1).expect("possible");
        let cost = pricer.cost_of_outcome(&choice, &outcome, None);
        let toll = pricer.placement_toll(0, &choice.placements[0], &choice.project).get();
        let by_use = line(&cost, "bucket.read") + line(&cost, "bucket.get");
        assert!(toll <= by_use * (1.0 + 1e-9), "a toll of {toll} for {by_use}");
        by_use
    };
    let (once, twice) = (paid(&with_memory), paid(SITE));
    near(once, 10.0 * 0.01 + 10.0 * 0.0004);
    near(twice, once * 2.0);
}

#[test]
fn spot_costs_less_and_says_how_often_machines_go() {
    let (prices, site) = (prices(), site(SITE));
    let terms = PurchaseTerms { download: true };
    let pricer = Pricer::new(&site, &workload(), &prices, terms).expect("prices").expect("a price");
    let spot = Some(crate::SpotMachines { per_hour: 1e-4, replaced: Seconds(120.0) });
    let often = Choice { spot, ..choice(FileLocation::Here) };
    let again = crate::ExpectedRework { interruptions: 0.5, time: Seconds(9.0), share: 0.25 };
    let calm = pricer.cost_of_outcome(&choice(FileLocation::Here), &outcome("bucket"), None);
    let cost = pricer.cost_of_outcome(&often, &outcome("bucket"), Some(again));
    near(line(&cost, "vm.ondemand") + line(&cost, "spot"), 2.0);
    assert_eq!((cost.interruptions, cost.again), (Some(0.5), Seconds(9.0)));
    // A quarter of the requests is made twice.
    near(line(&cost, "bucket.get"), line(&calm, "bucket.get") * 1.25);
    near(line(&cost, "transfer.internet"), 20.0 * 0.09);
}

#[test]
fn a_site_without_prices_has_no_cost_and_a_wrong_name_is_told() {
    let prices = prices();
    let bare = site("[tier.a]\npath = '/a'\nreach = 'node'\n");
    let none = Pricer::new(&bare, &workload(), &prices, PurchaseTerms::default()).expect("no flaw");
    assert!(none.is_none());
    for (from, to, words) in [
        ("price = \"disk\"", "price = \"dsik\"", "tier disk costs \"dsik\", and sheet test-2026"),
        ("instance = \"vm\"", "instance = \"pm\"", "no price for an hour of machine \"pm\""),
    ] {
        let site = site(&SITE.replace(from, to));
        let flaw =
            Pricer::new(&site, &workload(), &prices, PurchaseTerms::default()).expect_err(words);
        assert!(flaw.to_string().contains(words), "{flaw}");
    }
}

/// If this fails, `forebay bench` prices a run by what it did not do.
#[test]
fn a_recorded_run_pays_its_machine_its_bytes_and_its_requests() {
    let prices = prices();
    let run = RecordedUsage {
        ops: vec![(Op::Create, 1000), (Op::Lookup, 3000), (Op::Close, 9000)],
        read: ByteCount(5_000_000_000),
        written: ByteCount(8 << 30),
        peak: ByteCount(20_000_000_000),
    };
    let hour = Seconds(3600.0);
    let cost =
        cost_of_recorded_run(&prices, hour, Some("vm"), Some(("bucket", &run))).expect("priced");
    near(line(&cost, "vm.ondemand"), 2.0);
    near(line(&cost, "bucket.size"), 20.0 * 0.02 / 730.0);
    near(line(&cost, "bucket.read"), 5.0 * 0.01);
    near(line(&cost, "bucket.get"), 3.0 * 0.0004);
    // 1000 creates, and a part for each 8 MiB.
    near(line(&cost, "bucket.put"), (1.0 + 1.024) * 0.005);
    assert_eq!(cost.unverified, ["vm.ondemand"]);
    let disk = cost_of_recorded_run(&prices, hour, None, Some(("disk", &run))).expect("priced");
    near(disk.total.get(), 20.0 * 0.1 / 730.0);
    for (instance, storage, words) in [(Some("pm"), "disk", "\"pm\""), (None, "dsik", "\"dsik\"")] {
        let flaw =
            cost_of_recorded_run(&prices, hour, instance, Some((storage, &run))).expect_err(words);
        assert!(flaw.to_string().contains(words), "{flaw}");
    }
}
