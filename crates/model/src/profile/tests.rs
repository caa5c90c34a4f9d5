//! If these fail, a storage is simulated and emulated with other numbers than its file says.
use super::*;
use crate::event::Pattern;
use crate::{Site, TierId};

fn profile(text: &str) -> Result<Profile, String> {
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
    assert_eq!(p.price(OpKey::plain(Op::Fsync)), Seconds(1.0));
    assert_eq!(p.price(OpKey::plain(Op::Open)), Seconds::ZERO);
    let p = profile(
        "latency = { read_random = \"3 ms\", data = \"1 ms\", open = \"7 ms\", names = \"5 ms\" }",
    )
    .expect("a profile");
    let read = |pattern| p.price(OpKey::data(Op::Read, 9_000, pattern));
    assert_eq!(read(Pattern::Sequential), Seconds(1e-3));
    assert_eq!(read(Pattern::Random), Seconds(3e-3));
    assert_eq!(p.price(OpKey::plain(Op::Open)), Seconds(7e-3));
    assert_eq!(p.price(OpKey::plain(Op::Unlink)), Seconds(5e-3));
}

#[test]
fn one_latency_is_of_names_attributes_and_syncs() {
    let p = profile("latency = \"5 ms\"\nread = { stream = \"125 MiB/s\" }").expect("a profile");
    assert_eq!(p.price(OpKey::plain(Op::Getattr)), Seconds(5e-3));
    assert_eq!(p.price(OpKey::plain(Op::Fsync)), Seconds(5e-3));
    assert_eq!(p.price(OpKey::plain(Op::Write)), Seconds::ZERO);
    assert_eq!(p.read.stream, Some(Rate(131_072_000.0)));
    assert_eq!(p.write, Lane::default());
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
