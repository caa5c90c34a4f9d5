//! If these fail, what a probe prints is another storage than the one that it measured.
use super::*;
use forebay_model::Rate;

const MIB: u64 = 1 << 20;

fn plain(name: &str, ops: &[(Op, f64)]) -> Batch {
    Batch {
        name: name.to_owned(),
        threads: 1,
        ops: ops.iter().map(|(op, count)| (OpKey::without_bytes(*op), *count)).collect(),
        read: ByteCount::ZERO,
        written: ByteCount::ZERO,
        seconds: Vec::new(),
    }
}

fn data(
    name: &str,
    op: Op,
    (count, size): (u64, u64),
    pattern: AccessPattern,
    syncs: f64,
) -> Batch {
    let bytes = ByteCount(count * size);
    let read = if op == Op::Read { bytes } else { ByteCount::ZERO };
    let ops = [
        (OpKey::with_bytes(op, size, pattern), count as f64),
        (OpKey::without_bytes(Op::Fsync), syncs),
    ];
    Batch {
        ops: ops.into_iter().filter(|(_, count)| *count > 0.0).collect(),
        read,
        written: bytes - read,
        ..plain(name, &[])
    }
}

/// The batches of a probe, with the seconds that they would take on this storage.
fn measured(profile: &StorageProfile, reach: Reach) -> Vec<Batch> {
    let (seq, random) = (AccessPattern::Sequential, AccessPattern::Random);
    let mut small = data("small files", Op::Write, (1, 4096), seq, 0.0);
    small.ops.extend(
        [Op::LookupFailed, Op::Create, Op::Flush].map(|op| (OpKey::without_bytes(op), 1.0)),
    );
    let mut all = vec![
        plain("absent", &[(Op::LookupFailed, 1.0)]),
        plain("present", &[(Op::Lookup, 1.0)]),
        plain("create", &[(Op::LookupFailed, 1.0), (Op::Create, 1.0)]),
        plain("close", &[(Op::Flush, 1.0)]),
        plain("unlink", &[(Op::Unlink, 1.0)]),
        plain("fsync", &[(Op::Fsync, 1.0)]),
        plain("readdir", &[(Op::Readdir, 2.0)]),
        data("first read", Op::Read, (1, 4096), seq, 0.0),
        small,
    ];
    for threads in [1, 2, 4, 8, 16] {
        let pieces = 16 / u64::from(threads);
        let churn = [(Op::LookupFailed, 1.0), (Op::Create, 1.0), (Op::Flush, 1.0)];
        let mut names = plain("names", &churn);
        names.ops.push((OpKey::without_bytes(Op::Unlink), 1.0));
        let at = [
            names,
            data("read", Op::Read, (pieces, MIB), seq, 0.0),
            data("write", Op::Write, (pieces, MIB), seq, 1.0),
            data("random read", Op::Read, (16, 4096), random, 0.0),
            data("random write", Op::Write, (16, 4096), random, 1.0),
        ];
        all.extend(at.map(|batch| Batch { threads, ..batch }));
    }
    for batch in &mut all {
        let seconds = simulate_batch(profile, reach, batch).expect("it can be simulated").get();
        batch.seconds = [0.99, 1.0, 1.01, 1.0, 1.0, 0.995, 1.005].map(|by| by * seconds).to_vec();
    }
    all
}

/// A storage behind a network, with a limit of everything.
fn served() -> StorageProfile {
    let mut profile = StorageProfile::zero_cost("known");
    for (op, us) in [
        (Op::LookupFailed, 400.0),
        (Op::Lookup, 500.0),
        (Op::Create, 2_000.0),
        (Op::Flush, 900.0),
        (Op::Unlink, 1_500.0),
        (Op::Fsync, 3_000.0),
        (Op::Readdir, 700.0),
        (Op::Read, 300.0),
        (Op::Write, 100.0),
    ] {
        profile.set_latencies(op, Seconds(us * 1e-6));
    }
    for (op, us) in [(Op::Read, 450.0), (Op::Write, 600.0)] {
        ProfileParameter::Price(op, AccessPattern::Random).set_in_profile(
            &mut profile,
            Reach::Node,
            us * 1e-6,
        );
    }
    profile.read.stream = Some(Rate(400e6));
    profile.write.stream = Some(Rate(250e6));
    profile.names_per_second = Some(4_000.0);
    profile.data_per_second = Some(9_000.0);
    profile
}

#[track_caller]
fn near(what: &str, found: Option<f64>, known: f64) {
    let found = found.unwrap_or_else(|| panic!("{what} was not found"));
    assert!((found / known - 1.0).abs() < 0.03, "{what}: {found}, and it is {known}");
}

#[test]
fn a_byte_that_takes_no_time_has_no_rate() {
    let mut profile = StorageProfile::zero_cost("a test");
    ProfileParameter::Stream(Op::Write).set_in_profile(&mut profile, Reach::Shared, 5e-324);
    assert_eq!(profile.write.stream, None);
    ProfileParameter::Stream(Op::Write).set_in_profile(&mut profile, Reach::Shared, 0.5);
    assert_eq!(profile.write.stream, Some(Rate(2.0)));
}

#[test]
fn a_storage_with_known_prices_and_limits_is_found_again() {
    for reach in [Reach::Node, Reach::Shared] {
        let mut known = served();
        ProfileParameter::Limit(LimitKind::Read).set_in_profile(&mut known, reach, 900e6);
        ProfileParameter::Limit(LimitKind::Write).set_in_profile(&mut known, reach, 500e6);
        let batches = measured(&known, reach);
        let found = calibrate_profile(&batches, reach, "found", 1).expect("a profile");
        let (_, off) = found.worst_batch_error(&batches).expect("batches");
        assert!(off.abs() < 0.03, "the simulator reproduces each batch: {off}");
        let profile = &found.profile;
        for op in [Op::LookupFailed, Op::Lookup, Op::Create, Op::Flush, Op::Unlink, Op::Fsync] {
            let price = |profile: &StorageProfile| {
                profile.operation_latency(OpKey::without_bytes(op)).get()
            };
            near(op.name(), Some(price(profile)), price(&known));
        }
        for pattern in AccessPattern::ALL {
            for op in [Op::Read, Op::Write] {
                let price = |profile: &StorageProfile| {
                    profile.operation_latency(OpKey::with_bytes(op, 1, pattern)).get()
                };
                near(op.name(), Some(price(profile)), price(&known));
            }
        }
        let rate = |rate: Option<Rate>| rate.map(Rate::get);
        near("reading", rate(profile.read.stream), 400e6);
        near("writing", rate(profile.write.stream), 250e6);
        let all = |lane: forebay_model::profile::BandwidthLimits| match reach {
            Reach::Node => rate(lane.total),
            _ => rate(lane.node),
        };
        near("all reads", all(profile.read), 900e6);
        near("all writes", all(profile.write), 500e6);
        near("names", profile.names_per_second, 4_000.0);
        near("reads and writes", profile.data_per_second, 9_000.0);
        assert_eq!(found.unlimited, []);
        assert_eq!(found.at_once, Some(8));
        let span = found.spans[&ProfileParameter::Price(Op::Lookup, AccessPattern::Sequential)];
        assert!(!span.range && span.low <= 500e-6 && span.high >= 500e-6, "{span:?}");
    }
}

#[test]
fn a_storage_that_gets_more_done_with_each_thread_has_no_limit() {
    let mut known = served();
    (known.names_per_second, known.data_per_second) = (None, None);
    let batches = measured(&known, Reach::Node);
    let found = calibrate_profile(&batches, Reach::Node, "found", 1).expect("a profile");
    let profile = &found.profile;
    assert_eq!((profile.names_per_second, profile.data_per_second), (None, None));
    assert_eq!((profile.read.total, profile.write.total, found.at_once), (None, None, None));
    let growing = |(_, why): &(LimitKind, NoLimitReason)| *why == NoLimitReason::Growing;
    assert!(found.unlimited.len() == 4 && found.unlimited.iter().all(growing));
    assert!(found.worst_batch_error(&batches).expect("batches").1.abs() < 0.03);
}

#[test]
fn a_limit_that_one_thread_exceeds_is_none_of_the_storage() {
    let mut batches = measured(&served(), Reach::Node);
    // Attributes come from memory, at a million a second.
    batches.push(Batch { seconds: vec![1e-6; 7], ..plain("stat", &[(Op::Getattr, 1.0)]) });
    let found = calibrate_profile(&batches, Reach::Node, "found", 1).expect("a profile");
    assert!(found.unlimited.contains(&(LimitKind::Names, NoLimitReason::Uneven)));
    assert_eq!(found.profile.names_per_second, None);
    near("reads and writes", found.profile.data_per_second, 9_000.0);
}

#[test]
fn a_price_that_is_dropped_or_wrong_shows() {
    let batches = measured(&served(), Reach::Node);
    let mut found = calibrate_profile(&batches, Reach::Node, "found", 1).expect("a profile");
    for op in [Op::Create, Op::Fsync, Op::Read] {
        let mut profile = found.profile.clone();
        profile.set_latencies(op, Seconds::ZERO);
        let again =
            |batch| simulate_batch(&profile, Reach::Node, batch).expect("it can be simulated");
        found.simulated = batches.iter().map(|batch| Some(again(batch))).collect();
        let (_, off) = found.worst_batch_error(&batches).expect("batches");
        assert!(off < -0.2, "without the price of {} nothing is off: {off}", op.name());
    }
}

#[test]
fn what_was_not_measured_is_not_guessed() {
    let mut batches = measured(&served(), Reach::Node);
    for batch in batches.iter_mut().filter(|batch| batch.read.get() > 0) {
        batch.seconds.clear();
    }
    let found = calibrate_profile(&batches, Reach::Node, "found", 1).expect("a profile");
    assert_eq!(found.profile.read, forebay_model::profile::BandwidthLimits::default());
    assert!(!found.spans.contains_key(&ProfileParameter::Stream(Op::Read)));
    assert_eq!(found.profile.operation_latency(OpKey::without_bytes(Op::Read)), Seconds::ZERO);
    assert!(found.simulated.iter().zip(&batches).all(|(s, b)| s.is_none() == b.seconds.is_empty()));
}
