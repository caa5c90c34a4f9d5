//! If these fail, "local as measured" is another storage than the one that was measured.
use super::*;
use forebay_model::run::OpKind;
use forebay_model::{AccessPattern, ByteCount, ClassId, Micros, TreeId};

fn row(key: OpKey, count: u64, bytes: u64, secs: f64) -> OpRow {
    OpRow {
        task: Some(1),
        tree: TreeId(0),
        class: ClassId(0),
        kind: OpKind::Known(key),
        count,
        failed: 0,
        time: Micros((secs * 1e6).round() as u64),
        bytes: ByteCount(bytes),
    }
}

#[test]
fn a_storage_with_known_prices_is_found_again() {
    let (price, rate) = (200e-6, 100e6);
    let small = OpKey::with_bytes(Op::Read, 4096, AccessPattern::Sequential);
    let large = OpKey::with_bytes(Op::Read, 1 << 20, AccessPattern::Sequential);
    let mut rows = Vec::new();
    for count in [10, 200, 3_000] {
        for (key, size) in [(small, 1_000), (small, 4_096), (large, 300_000), (large, 1_048_576)] {
            let bytes = count * size;
            rows.push(row(key, count, bytes, count as f64 * price + bytes as f64 / rate));
        }
        rows.push(row(OpKey::without_bytes(Op::Fsync), count, 0, count as f64 * 5e-3));
    }
    let (profile, fitted) = fit_profile("test", rows.iter());
    assert_eq!(fitted, 4);
    for key in [small, large] {
        let found = profile.operation_latency(key).get();
        assert!((found - price).abs() < 2e-6, "{key:?}: {found}");
    }
    let found = profile.read.stream.expect("bytes cost time").get();
    assert!((found / rate - 1.0).abs() < 0.01, "{found}");
    assert!((profile.operation_latency(OpKey::without_bytes(Op::Fsync)).get() - 5e-3).abs() < 1e-6);
    assert_eq!(profile.operation_latency(OpKey::without_bytes(Op::Rename)), Seconds::ZERO);
}

#[test]
fn operations_of_one_size_have_a_price_and_no_rate() {
    let key = OpKey::with_bytes(Op::Write, 4096, AccessPattern::Random);
    let rows = [row(key, 100, 409_600, 0.5), row(key, 10, 40_960, 0.05)];
    let (profile, _) = fit_profile("test", rows.iter());
    assert_eq!(profile.write.stream, None);
    assert!((profile.operation_latency(key).get() - 5e-3).abs() < 1e-9);
}

#[test]
fn the_time_of_all_operations_is_kept_whatever_the_points_are() {
    let key = OpKey::with_bytes(Op::Read, 9_000, AccessPattern::Sequential);
    let other = OpKey::with_bytes(Op::Read, 90_000, AccessPattern::Sequential);
    let rows =
        [row(key, 100, 900_000, 0.9), row(other, 7, 630_000, 0.01), row(other, 9, 1_000, 0.3)];
    let (profile, _) = fit_profile("test", rows.iter());
    let rate = profile.read.stream.map_or(0.0, |rate| 1.0 / rate.get());
    let priced: f64 = rows
        .iter()
        .zip([key, other, other])
        .map(|(row, key)| {
            row.count as f64 * profile.operation_latency(key).get() + row.bytes.get() as f64 * rate
        })
        .sum();
    assert!((priced - 1.21).abs() < 1e-6, "{priced}");
}
