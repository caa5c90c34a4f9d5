//! If these fail, what a probe prints is no tier file, or says something else than was measured.
use super::*;
use crate::commands::probe::measured_figures::{Figure, FigureSeconds, RoundSizes};
use crate::commands::probe::rounds::ProbeFindings;
use forebay_model::{ByteCount, OpKey, Rate, Seconds, Site, TierId};
use forebay_plan::calibrate::calibrate_profile;

fn probe() -> ProbeReport {
    let mut measured = FigureSeconds::new();
    for (figure, seconds) in [
        (Figure::Absent, 0.00512),
        (Figure::Create, 0.0103),
        (Figure::Close, 2e-9),
        (Figure::FirstRead, 0.00021),
    ] {
        measured.insert((figure, 1), vec![seconds; 7]);
    }
    for threads in [1_u32, 2, 4, 8, 16] {
        let seconds = f64::from(threads).max(3.0) / 3.0;
        measured.insert((Figure::Read, threads), vec![0.128 * seconds / f64::from(threads); 3]);
        measured.insert((Figure::Names, threads), vec![0.0205; 7]);
    }
    ProbeReport {
        dir: "/data \"x\"\n".into(),
        fs_type: "nfs".to_owned(),
        reach: Reach::Shared,
        date: "2026-11-22".to_owned(),
        kernel: "Linux 6.18".to_owned(),
        used: (3204, ByteCount(612 << 20)),
        took: std::time::Duration::from_secs(21),
        found: ProbeFindings {
            measured,
            sizes: RoundSizes { pieces: 16, random: 16, asks_again: false, random_synced: false },
            rounds: 7,
            left_out: vec!["symlink: Operation not permitted".to_owned()],
            ended: vec!["--time ended the probe".to_owned()],
        },
    }
}

#[test]
fn what_is_printed_is_read_again_as_it_was_fitted() {
    let probe = probe();
    let batches = probe.batches();
    let fitted =
        calibrate_profile(&batches, probe.reach, &probe.source_line(), 1).expect("a profile");
    let text = tier_file_text(&probe, &fitted);
    for words in [
        "about = \"probe of /data \\\"x\\\"\\u000A (nfs) on 2026-11-22\"",
        "reach = \"shared\"",
        "# --time ended the probe.",
        "# left out: symlink: Operation not permitted.",
        "# left out: limit of names_per_second: ",
        "source = \"forebay probe, 2026-11-22, nfs, Linux 6.18: 3,204 operations, 612 MiB in 21 s, \
         up to 16 at once\"",
        "range ",
        "create = \"5.18 ms\"",
        "statfs.",
    ] {
        assert!(text.contains(words), "{words} is not in:\n{text}");
    }
    let profile = text.split_once("[profile]\n").expect("a profile").1;
    let profile: String =
        profile.lines().map(|line| line.replace("[profile.", "[tier.t.profile.") + "\n").collect();
    let site = format!("[tier.t]\nreach = \"shared\"\n[tier.t.profile]\n{profile}");
    let site = Site::parse(&site, "t.toml", &|_| None).expect("it is read");
    let tier = site.tier(&TierId("t".to_owned())).expect("the tier");
    let read = tier.profile.as_ref().expect("its profile");
    let near = |one: f64, other: f64| assert!((one / other - 1.0).abs() < 0.006, "{one} {other}");
    for op in [Op::LookupFailed, Op::Create, Op::Getattr, Op::Unlink] {
        let key = OpKey::without_bytes(op);
        near(
            read.operation_latency(key).get() + 1e-6,
            fitted.profile.operation_latency(key).get() + 1e-6,
        );
    }
    assert_eq!(read.operation_latency(OpKey::without_bytes(Op::Statfs)), Seconds::ZERO);
    let rate = |rate: Option<Rate>| rate.expect("a rate").get();
    near(rate(read.read.stream), rate(fitted.profile.read.stream));
    near(rate(read.read.node), rate(fitted.profile.read.node));
    assert_eq!((read.read.total, read.write.stream), (None, None));
}

#[test]
fn numbers_have_three_digits_and_a_unit() {
    for (value, text) in
        [(0.0, "0"), (12.0, "12"), (5.018, "5.02"), (123_456.0, "123000"), (99.96, "100")]
    {
        assert_eq!(three_digits(value), text);
    }
    let times = [0.0, 3e-8, 1e-6, 0.000_999_9, 0.005, 1.5, 600.0].map(format_time);
    assert_eq!(times, ["0 s", "30 ns", "1 us", "1000 us", "5 ms", "1.5 s", "600 s"]);
    let rates = [131_072_000.0, 3.2e9, 1e5, 0.3].map(format_rate);
    assert_eq!(rates, ["125 MiB/s", "2.98 GiB/s", "97.7 KiB/s", "1 B/s"]);
    for text in times.iter() {
        text.parse::<Seconds>().expect(text);
    }
    for text in rates.iter() {
        text.parse::<Rate>().expect(text);
    }
}
