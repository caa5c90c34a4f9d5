//! If these fail, an emulated storage takes other times than a simulated one.
use super::*;
use crate::fuse::abi::op;
use forebay_model::profile::BandwidthLimits;
use forebay_model::{ByteCount, Rate, Seconds};

const MS: f64 = 1e6;

fn ask(kind: Op, began: f64, offset: u64, bytes: u64) -> StorageDemand {
    let opcode = if kind == Op::Lookup { op::LOOKUP } else { 0 };
    let collected = false;
    StorageDemand { opcode, kind, began: began as u64, node: 7, open: 1, offset, bytes, collected }
}

fn found(bytes: u64) -> ReplyOutcome {
    ReplyOutcome { failed: false, absent: false, bytes }
}

fn profile(set: impl Fn(&mut StorageProfile)) -> StorageProfile {
    let mut profile = StorageProfile::zero_cost("a test");
    profile.keeps_written = false;
    set(&mut profile);
    profile
}

fn shape(set: impl Fn(&mut StorageProfile)) -> LatencyModel {
    LatencyModel::new(&profile(set), 1 << 30, None)
}

/// Milliseconds at which the replies to these are due, all asked at once.
fn together(shape: &mut LatencyModel, asks: impl IntoIterator<Item = StorageDemand>) -> Vec<u64> {
    let due = asks.into_iter().map(|asked| shape.reply_due(&asked, &found(asked.bytes)).0 as f64);
    due.map(|nanos| (nanos / MS).round() as u64).collect()
}

#[test]
fn each_kind_has_its_price_and_absent_names_theirs() {
    let mut shape = shape(|p| {
        p.set_latencies(Op::Lookup, Seconds(5e-3));
        p.set_latencies(Op::LookupFailed, Seconds(2e-3));
        p.set_latencies(Op::Close, Seconds(3e-3));
    });
    let lookup = ask(Op::Lookup, 0.0, 0, 0);
    assert_eq!(shape.reply_due(&lookup, &found(0)).0 as f64, 5.0 * MS);
    let absent = ReplyOutcome { failed: true, absent: true, bytes: 0 };
    assert_eq!(shape.reply_due(&lookup, &absent).0 as f64, 2.0 * MS);
    let flush = || ask(Op::Flush, 0.0, 0, 0);
    assert_eq!(together(&mut shape, [flush()]), [0], "there is nothing to send");
    for (before, waits) in [(Op::Write, [3, 0]), (Op::Fsync, [0, 0])] {
        together(&mut shape, [ask(Op::Write, 0.0, 0, 10), ask(before, 0.0, 0, 10)]);
        assert_eq!(together(&mut shape, [flush(), flush()]), waits, "the first close(2) sends it");
    }
    assert_eq!(together(&mut shape, [ask(Op::Close, 0.0, 0, 0)]), [0], "nobody waits");
    assert_eq!(together(&mut shape, [ask(Op::Ioctl, 0.0, 0, 0)]), [0]);
}

#[test]
fn reading_ahead_is_no_faster_than_one_stream() {
    let set = |p: &mut StorageProfile| {
        p.set_latencies(Op::Read, Seconds(1e-3));
        p.read = BandwidthLimits { stream: Some(Rate(1e8)), ..BandwidthLimits::default() };
    };
    // 1 MB takes 10 ms at 100 MB/s, and each operation 1 ms.
    let piece = |n: u64| ask(Op::Read, 0.0, n * 1_000_000, 1_000_000);
    assert_eq!(together(&mut shape(set), (0..3).map(piece)), [11, 22, 33]);
    let overtaken = [0, 2, 1, 3].map(piece);
    assert_eq!(together(&mut shape(set), overtaken)[3], 44, "in whatever order they come");
    let far = |n: u64| ask(Op::Read, 0.0, 50_000_000 * (n + 1), 1_000_000);
    assert_eq!(together(&mut shape(set), (0..3).map(far)), [11, 11, 11], "of random reads");
    let awaited = |asked: StorageDemand| shape(set).reply_due(&asked, &found(asked.bytes)).1;
    assert!(awaited(piece(0)) && !awaited(far(0)), "a random read owes nothing to the next");
}

#[test]
fn what_a_slow_machine_loses_a_stream_makes_good() {
    const PIECE: u64 = 100_000;
    let with = |price: f64| {
        shape(|p| {
            p.set_latencies(Op::Read, Seconds(price));
            p.read = BandwidthLimits { stream: Some(Rate(4e8)), ..BandwidthLimits::default() };
        })
    };
    // 0.25 ms each, of which every fourth is asked for 0.9 ms after the one before was due.
    let mut free = with(0.0);
    let (mut due, mut first) = (0, None);
    for piece in 0..400 {
        let now = if piece % 4 == 0 { due + 900_000 } else { due };
        let asked = ask(Op::Read, now as f64, piece * PIECE, PIECE);
        due = free.reply_due(&asked, &found(PIECE)).0;
        first.get_or_insert(due);
    }
    assert_eq!(due - first.unwrap_or(0), 399 * 250_000);
    // Whoever pays for each piece, and waits a millisecond before the next one, waited by choice.
    let mut priced = with(1e-3);
    let one = priced.reply_due(&ask(Op::Read, 0.0, 0, PIECE), &found(PIECE)).0;
    let two = priced.reply_due(&ask(Op::Read, one as f64 + MS, PIECE, PIECE), &found(PIECE)).0;
    assert_eq!((one, two), (1_250_000, 3_500_000));
}

#[test]
fn limits_that_all_share_let_no_more_through() {
    let set = |p: &mut StorageProfile| {
        p.set_latencies(Op::Create, Seconds(5e-3));
        p.names_per_second = Some(100.0);
    };
    let creates = || (0..4).map(|_| ask(Op::Create, 0.0, 0, 0));
    assert_eq!(together(&mut shape(set), creates()), [10, 20, 30, 40]);
    let workers = |p: &mut StorageProfile| {
        p.set_latencies(Op::Create, Seconds(5e-3));
        p.at_once = Some(2);
    };
    assert_eq!(together(&mut shape(workers), creates()), [5, 5, 10, 10]);
    let server = |p: &mut StorageProfile| p.write.total = Some(Rate(1e9));
    let mut shape = shape(server);
    let writes = (0..4).map(|open| StorageDemand { open, ..ask(Op::Write, 0.0, 0, 1_000_000) });
    assert_eq!(together(&mut shape, writes), [1, 2, 3, 4]);
}

#[test]
fn short_ones_that_go_on_are_one_operation() {
    let mut shape = shape(|p| {
        p.data_per_second = Some(1000.0);
        p.merges = Some(ByteCount(1 << 18));
    });
    let pieces = (0..64).map(|n| ask(Op::Write, 0.0, n << 14, 1 << 14));
    assert_eq!(together(&mut shape, pieces)[63], 4, "1 MiB in pieces of 16 KiB is four");
}

#[test]
fn memory_answers_what_was_written_here() {
    let slow = |p: &mut StorageProfile| {
        p.keeps_written = true;
        p.set_latencies(Op::Read, Seconds(5e-3));
    };
    let mut shape = shape(slow);
    together(&mut shape, [ask(Op::Write, 0.0, 0, 8192)]);
    let read = |bytes| ask(Op::Read, 0.0, 0, bytes);
    assert_eq!(together(&mut shape, [read(8192)]), [0]);
    assert_eq!(together(&mut shape, [StorageDemand { node: 8, ..read(8192) }]), [5]);
    together(&mut shape, [ask(Op::Truncate, 0.0, 0, 4096)]);
    assert_eq!(together(&mut shape, [StorageDemand { open: 2, ..read(8192) }]), [5]);
}

#[test]
fn mounts_of_one_server_share_what_it_has() {
    let folder = tempfile::tempdir().expect("a directory");
    let board =
        || Some(Arc::new(SharedMoments::open(&folder.path().join("server")).expect("a board")));
    let profile = profile(|p| {
        p.set_latencies(Op::Create, Seconds(5e-3));
        p.at_once = Some(1);
        p.write = BandwidthLimits {
            node: Some(Rate(1e8)),
            total: Some(Rate(1e8)),
            ..BandwidthLimits::default()
        };
    });
    let [mut one, mut other] =
        [board(), board()].map(|board| LatencyModel::new(&profile, 0, board.as_ref()));
    let write = |open| StorageDemand { open, ..ask(Op::Write, 0.0, 0, 1_000_000) };
    assert_eq!(together(&mut one, [write(1)]), [10]);
    assert_eq!(together(&mut other, [write(1)]), [20]);
    assert_eq!(together(&mut one, [ask(Op::Create, 0.0, 0, 0)]), [5]);
    assert_eq!(together(&mut other, [ask(Op::Create, 0.0, 0, 0)]), [10]);
}
