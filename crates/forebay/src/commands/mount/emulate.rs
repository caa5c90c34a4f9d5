//! `--emulate`: a storage by its name, by its file, as a tier of a site, or in two words.

use std::path::Path;

use forebay_model::profile::{BandwidthLimits, SHIPPED, TierTemplate};
use forebay_model::{Op, Rate, Seconds, StorageProfile, TierId};

use crate::placement;

/// `5ms,125MiB/s` or the first of the two alone; the name of a profile that comes with Forebay; the
/// file of one; or `SITE.toml#TIER`.
pub(in crate::commands) fn parse_profile(text: &str) -> Result<StorageProfile, String> {
    Ok(parse_described_profile(text)?.profile)
}

/// The same, for a list of options.
pub(in crate::commands) fn parse_boxed_profile(text: &str) -> Result<Box<StorageProfile>, String> {
    parse_profile(text).map(Box::new)
}

/// The same, with what is known beside the numbers.
pub(in crate::commands) fn parse_described_profile(text: &str) -> Result<TierTemplate, String> {
    if let Some(shipped) = TierTemplate::find_builtin(text) {
        return Ok(shipped);
    }
    let (file, tier) = text.split_once('#').map_or((text, None), |(file, tier)| (file, Some(tier)));
    if Path::new(file).extension().is_some_and(|end| end == "toml") {
        let read = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        return match tier {
            Some(tier) => profile_of_site_tier(&read, file, tier),
            None => TierTemplate::parse(&read, file).map_err(|flaw| flaw.to_string()),
        };
    }
    parse_latency_and_rate(text).map_err(|why| {
        let known: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
        format!("{why}; or name a profile ({}), its FILE.toml, or SITE.toml#TIER", known.join(", "))
    })
}

fn profile_of_site_tier(text: &str, file: &str, name: &str) -> Result<TierTemplate, String> {
    let site = placement::parse_site(text, Path::new(file)).map_err(|flaw| flaw.to_string())?;
    let tier = site.tier(&TierId(name.to_owned())).ok_or(format!("{file} has no tier {name}"))?;
    let profile =
        tier.profile.clone().ok_or(format!("{file}: nobody says what tier {name} can do"))?;
    let about = format!("{name} of {file}");
    Ok(TierTemplate { about, reach: tier.reach, price: tier.price.clone(), profile })
}

fn parse_latency_and_rate(text: &str) -> Result<TierTemplate, String> {
    let (latency, rate) = match text.split_once(',') {
        Some((latency, rate)) => (latency, Some(rate)),
        None => (text, None),
    };
    let latency: Seconds = separate_unit(latency)
        .parse()
        .ok()
        .filter(|time: &Seconds| time.get() >= 0.0)
        .ok_or("a latency is written like 5ms, 300us or 0.1s")?;
    let rate = rate.map(|text| {
        let wrong = |_| "a bandwidth is written like 125MiB/s".to_owned();
        separate_unit(text).parse::<Rate>().map_err(wrong)
    });
    let mut profile = StorageProfile::zero_cost("asked for with --emulate");
    let free = [Op::Flush, Op::Close, Op::Statfs, Op::Ioctl, Op::Read, Op::Write, Op::CopyRange];
    for &op in Op::ALL.iter().filter(|op| !free.contains(op)) {
        profile.set_latencies(op, latency);
    }
    let lane = BandwidthLimits { total: rate.transpose()?, ..BandwidthLimits::default() };
    (profile.read, profile.write) = (lane, lane);
    // Each file is asked for again, as by clients that let go of what they wrote.
    profile.keeps_written = false;
    let about = format!("{text}, as asked for");
    Ok(TierTemplate { about, reach: forebay_model::Reach::Shared, price: None, profile })
}

/// `5ms` as `5 ms`.
fn separate_unit(text: &str) -> String {
    let text = text.trim();
    let unit = text.find(|c: char| !c.is_ascii_digit() && !".-+".contains(c)).unwrap_or(text.len());
    format!("{} {}", text[..unit].trim(), text[unit..].trim())
}

#[cfg(test)]
mod tests {
    //! A misread unit would emulate another storage.
    use super::*;
    use forebay_model::OpKey;

    #[test]
    fn amounts_are_understood() {
        let told = |text: &str| {
            let profile = parse_profile(text).expect(text);
            let price = |op| profile.operation_latency(OpKey::without_bytes(op));
            assert_eq!(price(Op::Lookup), price(Op::Fsync));
            assert_eq!(price(Op::Flush), Seconds::ZERO);
            assert_eq!(profile.read, profile.write);
            (price(Op::Lookup).get(), profile.read.total.map(Rate::get))
        };
        assert_eq!(told("5ms,125MiB/s"), (5e-3, Some(131_072_000.0)));
        assert_eq!(told("300us"), (3e-4, None));
        assert_eq!(told(" 0.1 s , 1 GB/s"), (0.1, Some(1e9)));
        for wrong in ["5", "-5ms", "5ms,", "5ms,125MiB", "5ms,fast/s", "ms", "ebs-gp4", "no.toml"] {
            assert!(parse_profile(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_profile_is_named() {
        assert_eq!(parse_profile("ebs-gp3").expect("shipped").data_per_second, Some(3000.0));
        let why = parse_profile("ebs-gp4").expect_err("unknown");
        assert!(why.contains("ebs-gp3"), "{why}");
    }
}
