//! If these fail, a storage is simulated and emulated with other numbers than its file says.
use super::*;
use crate::event::AccessPattern;
use crate::{Site, TierId};

fn profile(text: &str) -> Result<StorageProfile, String> {
    let text = format!("[tier.t]\nreach = \"shared\"\n[tier.t.profile]\nsource = \"us\"\n{text}");
    let site = Site::parse(&text, "site.toml", &|_| None).map_err(|flaw| flaw.to_string())?;
    let tier = site.tier(&TierId("t".to_owned())).expect("the tier");
    assert_eq!(tier.path, None, "a storage that is described needs no directory");
    Ok(tier.profile.clone().expect("its profile"))
}

#[test]
fn the_more_special_word_about_latency_wins() {
    let p = profile("latency = { stat = \"1 s\" }\n".replace("stat", "fsync").as_str())
        .expect("a profile");
    assert_eq!(p.operation_latency(OpKey::without_bytes(Op::Fsync)), Seconds(1.0));
    assert_eq!(p.operation_latency(OpKey::without_bytes(Op::Open)), Seconds::ZERO);
    let p = profile(
        "latency = { read_random = \"3 ms\", data = \"1 ms\", open = \"7 ms\", names = \"5 ms\" }",
    )
    .expect("a profile");
    let read = |pattern| p.operation_latency(OpKey::with_bytes(Op::Read, 9_000, pattern));
    assert_eq!(read(AccessPattern::Sequential), Seconds(1e-3));
    assert_eq!(read(AccessPattern::Random), Seconds(3e-3));
    assert_eq!(p.operation_latency(OpKey::without_bytes(Op::Open)), Seconds(7e-3));
    assert_eq!(p.operation_latency(OpKey::without_bytes(Op::Unlink)), Seconds(5e-3));
}

#[test]
fn one_latency_is_of_names_attributes_and_syncs() {
    let p = profile("latency = \"5 ms\"\nread = { stream = \"125 MiB/s\" }").expect("a profile");
    assert_eq!(p.operation_latency(OpKey::without_bytes(Op::Getattr)), Seconds(5e-3));
    assert_eq!(p.operation_latency(OpKey::without_bytes(Op::Fsync)), Seconds(5e-3));
    assert_eq!(p.operation_latency(OpKey::without_bytes(Op::Write)), Seconds::ZERO);
    assert_eq!(p.read.stream, Some(Rate(131_072_000.0)));
    assert_eq!(p.write, BandwidthLimits::default());
}

#[test]
fn absurd_numbers_are_refused_with_their_place() {
    for (text, words) in [
        ("latency = \"-5 ms\"", "site.toml:5:11: \"-5 ms\" is no time"),
        ("latency = { opne = \"5 ms\" }", "there is no key \"opne\""),
        ("read = { stream = \"0 B/s\" }", "is no rate"),
        ("servers = 0", "servers must be from 1 to"),
        ("servers = 4\nstripe_count = 9", "stripe_count must be from 1 to 4"),
        ("names_per_second = -1", "names_per_second must be from"),
        ("contention = { fill = nan }", "fill must be from 0 to 1000"),
    ] {
        let flaw = profile(text).expect_err(text);
        assert!(flaw.contains(words), "{text}: {flaw}");
    }
}

#[test]
fn credits_pay_for_a_burst_above_a_limit() {
    let p = profile(
        "data_per_second = 300\ndata_burst_per_second = 3000\ndata_credits = 5400000\n\
         read = { node = \"1 GB/s\", total = \"100 MB/s\", burst = \"300 MB/s\", credits = \"2 TB\" }",
    )
    .expect("a profile");
    assert_eq!(p.data_burst, Some(BurstCredits { per_second: 3000.0, credits: 5.4e6 }));
    assert_eq!(p.read.burst, Some(BurstCredits { per_second: 3e8, credits: 2e12 }));
    for (text, words) in [
        ("read = { burst = \"1 GB/s\", credits = \"1 GB\" }", "needs the limit"),
        ("read = { total = \"2 GB/s\", burst = \"1 GB/s\", credits = \"1 GB\" }", "above total"),
        ("read = { total = \"1 GB/s\", burst = \"2 GB/s\" }", "credits"),
        ("data_credits = 5", "need a burst"),
    ] {
        let flaw = profile(text).expect_err(text);
        assert!(flaw.contains(words), "{text}: {flaw}");
    }
}

#[test]
fn a_close_is_one_operation_and_short_ones_merge() {
    let p = profile("latency = { names = \"5 ms\" }\nmerges = \"256 KiB\"").expect("a profile");
    assert_eq!(p.operation_latency(OpKey::without_bytes(Op::Close)), Seconds(5e-3));
    assert_eq!(p.operation_latency(OpKey::without_bytes(Op::Flush)), Seconds::ZERO);
    let share =
        |pattern| p.operation_share(OpKey::with_bytes(Op::Write, 65_536, pattern), 65_536.0);
    assert_eq!((share(AccessPattern::Sequential), share(AccessPattern::Random)), (0.25, 1.0));
}

#[test]
fn a_site_names_a_profile_that_comes_with_forebay() {
    let read = |text: &str| Site::parse(text, "site.toml", &|_| None);
    let site = read("[tier.t]\nprofile = \"ebs-gp3\"\n").expect("a site");
    let tier = site.tier(&TierId("t".to_owned())).expect("the tier");
    assert_eq!(tier.profile.as_ref().expect("its profile").data_per_second, Some(3000.0));
    assert_eq!(tier.reach, crate::Reach::Node, "as the profile says");
    let flaw = read("[tier.t]\nprofile = \"ebs-gp4\"\n").expect_err("unknown").to_string();
    assert!(flaw.contains("ebs-gp3"), "{flaw}");
}
