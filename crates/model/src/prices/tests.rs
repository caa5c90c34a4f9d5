//! If these fail, a plan saves money that nobody gets: a price is misread, or passes for certain.
use super::*;

const AWS: &str = include_str!("../../../../prices/aws-us-east-1.toml");

fn sheet(prices: &str) -> Result<Prices, String> {
    let text = format!(
        "schema = 1\nsheet = \"s\"\ncompiled = \"2026\"\nhours_per_month = 730\n[price]\n{prices}"
    );
    Prices::parse(&text, "prices.toml").map_err(|flaw| flaw.to_string())
}

#[test]
fn the_sheet_of_the_project_is_read() {
    let prices = Prices::parse(AWS, "aws.toml").expect("the sheet");
    assert_eq!(prices.sheet, "aws-us-east-1-2026-11");
    let efs: Vec<&str> = prices.charges_for_storage("efs.elastic").map(|(item, _)| item).collect();
    assert_eq!(efs, ["efs.elastic.read", "efs.elastic.storage", "efs.elastic.write"]);
    assert_eq!(prices.charges_for_storage("efs").count(), 0, "half a name is none");
    assert_eq!(prices.get("ebs.gp3.iops").expect("a price").included, 3000.0);
    for (item, price) in prices.items() {
        assert!(price.usd.get() < 2.0, "{item}: {}", price.usd);
    }
    let sure = |item| prices.get(item).expect("a price").status;
    assert_eq!(sure("ec2.m6id.8xlarge.ondemand"), PriceConfidence::Unverified);
    assert_eq!(sure("efs.elastic.storage"), PriceConfidence::Seen);
    assert_eq!(prices.spot.expect("spot").discount, 0.6);
}

#[test]
fn every_unit_has_words_and_is_read_by_them() {
    for (words, per) in BillingUnit::ALL {
        let read = sheet(&format!("a = {{ usd = 1, per = \"{words}\", status = \"unverified\" }}"));
        assert_eq!(read.expect(words).get("a").expect("a price").per, *per);
        assert_eq!(per.in_words(), *words);
    }
}

#[test]
fn flaws_are_told_with_their_place() {
    for (text, words) in [
        ("a = { usd = -1 }", "prices.toml:6:5: the key \"status\" is missing"),
        ("a = { usd = -1, status = \"unverified\" }", "usd must be from 0 to"),
        (
            "a = { usd = 1, per = \"GB\", status = \"unverified\" }",
            "prices.toml:6:22: per must be \"hour\"",
        ),
        ("a = { usd = 1, pre = \"hour\" }", "did you mean \"per\"?"),
        ("a = { usd = 1, status = \"seen\" }", "the key \"source\" is missing"),
        ("a = { status = \"unverified\", source = \"x\" }", "with a source is \"seen\""),
    ] {
        let flaw = sheet(text).expect_err(text);
        assert!(flaw.contains(words), "{text}: {flaw}");
    }
}

/// Whatever people write, they are told, and nothing falls over.
#[test]
fn no_damage_to_a_sheet_makes_it_panic() {
    let bytes = AWS.as_bytes();
    let mut read = 0;
    for step in 0..2000_usize {
        let at = step * 7919 % bytes.len();
        let mut text = bytes.to_vec();
        match step % 4 {
            0 => text.truncate(at),
            1 => text[at] = b"]\"=[{.-9e\n"[step / 4 % 10],
            2 => drop(text.drain(at..(at + step % 97).min(bytes.len()))),
            _ => text.insert(at, b"]\"=[{.-9e\n"[step / 4 % 10]),
        }
        let text = String::from_utf8_lossy(&text);
        read += usize::from(Prices::parse(&text, "prices.toml").is_ok());
    }
    assert!(read > 0 && read < 2000, "{read} of 2000 were read");
}
