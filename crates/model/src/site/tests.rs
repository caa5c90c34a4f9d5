//! If these fail, files go to a directory, or in an amount, that nobody asked for.

use super::*;
use std::path::Path;

const LAPTOP: &str = include_str!("../../../../sites/laptop.toml");

fn variable(name: &str) -> Option<String> {
    let known = [
        ("HOME", "/home/ada"),
        ("USER", "ada"),
        ("a_1", "x"),
        ("NONE", ""),
        ("TWICE", "$USER"),
        ("RELATIVE", "tmp"),
    ];
    known.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
}

fn parse(text: &str) -> Result<Site, ConfigError> {
    Site::parse(text, "site.toml", &variable)
}

fn id(name: &str) -> TierId {
    TierId(name.to_owned())
}

fn gib(count: u64) -> Option<ByteCount> {
    Some(ByteCount(count << 30))
}

#[test]
fn the_example_is_read_with_its_pools() {
    let site = parse(LAPTOP).expect("the example is right");
    let names: Vec<&str> = site.tiers().map(|tier| tier.id.as_str()).collect();
    assert_eq!(names, ["scratch", "scratch.cache", "scratch.temp"]);
    let tier = |name: &str, capacity, pool_of: Option<&str>| Tier {
        id: id(name),
        path: Some("/home/ada/.cache/forebay/scratch".into()),
        bucket: None,
        profile: None,
        price: None,
        reach: Reach::Node,
        capacity,
        pool_of: pool_of.map(id),
    };
    for expected in [
        tier("scratch", gib(20), None),
        tier("scratch.cache", gib(60), Some("scratch")),
        tier("scratch.temp", gib(120), Some("scratch")),
    ] {
        assert_eq!(site.tier(&expected.id), Some(&expected));
    }
    assert_eq!(site.tier(&id("temp")), None);
}

#[test]
fn tiers_come_by_name_and_a_capacity_is_optional() {
    let site = parse(
        "tier.z = { path = '/z', reach = 'world' }\n\
         tier.a-1 = { path = '/a', reach = 'shared', capacity = '10 GB' }\n\
         tier.n_2 = { path = '/n', reach = 'node', capacity = '2', pools = { all = '2' } }\n",
    )
    .expect("a site");
    let tiers: Vec<_> = site.tiers().map(|t| (t.id.as_str(), t.reach, t.capacity)).collect();
    let bytes = |count| Some(ByteCount(count));
    let expected = [
        ("a-1", Reach::Shared, bytes(10_000_000_000)),
        ("n_2", Reach::Node, bytes(0)),
        ("n_2.all", Reach::Node, bytes(2)),
        ("z", Reach::World, None),
    ];
    assert_eq!(tiers, expected);
}

#[test]
fn paths_are_absolute_when_variables_have_their_values() {
    for (written, expected) in [
        ("/nvme/tmp", "/nvme/tmp"),
        ("/nvme/$USER", "/nvme/ada"),
        ("/nvme/${USER}/x", "/nvme/ada/x"),
        ("/nvme/${USER}x-$a_1.y", "/nvme/adax-x.y"),
        ("$HOME/x", "/home/ada/x"),
        ("~", "/home/ada"),
        ("~/x~", "/home/ada/x~"),
        ("/x/~", "/x/~"),
        // A value is no text to be read again.
        ("/x/$TWICE", "/x/$USER"),
        ("/größe/$USER/é", "/größe/ada/é"),
    ] {
        let site = parse(&format!("[tier.t]\npath = '{written}'\nreach = 'node'\n"));
        let site = site.unwrap_or_else(|flaw| panic!("{written}: {flaw}"));
        let tier = site.tier(&id("t")).expect("the tier");
        assert_eq!(tier.path.as_deref(), Some(Path::new(expected)), "{written}");
    }
}

#[test]
fn paths_that_lead_nowhere_are_refused_at_their_place() {
    for (written, message) in [
        ("", r#"path must begin with / or s3:// or az://, but is """#),
        ("nvme", r#"path must begin with / or s3:// or az://, but is "nvme""#),
        ("./x", r#"path must begin with / or s3:// or az://, but is "./x""#),
        ("$RELATIVE/x", r#"path must begin with / or s3:// or az://, but is "tmp/x""#),
        ("/x/$NOBODY/y", "the variable NOBODY is not set, or is empty"),
        ("/x/${NOBODY}", "the variable NOBODY is not set, or is empty"),
        ("/x/$NONE", "the variable NONE is not set, or is empty"),
        ("/x/$", "a $ needs the name of a variable, as in $USER or ${USER}"),
        ("/x/$/y", "a $ needs the name of a variable, as in $USER or ${USER}"),
        ("/x/${}", "a $ needs the name of a variable, as in $USER or ${USER}"),
        ("/x/${A B}", "a $ needs the name of a variable, as in $USER or ${USER}"),
        ("/x/${USER", "there is a ${ without its }"),
        ("~bob/x", "~ stands for your own home directory only: write ~/"),
    ] {
        let flaw = parse(&format!("[tier.t]\nreach = 'node'\npath = '{written}'\n"));
        let flaw = flaw.expect_err(written);
        assert_eq!(flaw.to_string(), format!("site.toml:3:8: {message}"));
    }
    let homeless = Site::parse("tier.t = { path = '~/x', reach = 'node' }", "s", &|_| None);
    let flaw = homeless.expect_err("no home");
    assert_eq!(flaw.to_string(), "s:1:19: the variable HOME is not set, or is empty");
}

#[test]
fn flaws_name_the_line_the_column_and_what_was_meant() {
    for (text, flaw) in [
        ("", "1:1: there is no tier: a site has a table [tier.NAME] for each"),
        ("[tier]\n", "1:1: there is no tier: a site has a table [tier.NAME] for each"),
        ("tier = 3\n", "1:8: tier must be a table, but is a number"),
        ("[[tier]]\n", "1:1: tier must be a table, but is a list"),
        ("[teir.a]\n", r#"1:2: there is no key "teir"; did you mean "tier"?"#),
        ("# x\n[storage]\n", r#"2:2: there is no key "storage"; it can be "tier" or "nodes""#),
        ("[tier]\nscratch = '/x'\n", "2:11: scratch must be a table, but is a text"),
        ("[tier.a]\nreach = 'node'\n", r#"1:1: the key "path" is missing here"#),
        ("\n[tier.a]\npath = '/a'\n", r#"2:1: the key "reach" is missing here"#),
        (
            "[tier.a]\npath = '/a'\n  reech = 'node'\n",
            r#"3:3: there is no key "reech"; did you mean "reach"?"#,
        ),
        (
            "[tier.a]\ncolour = 1\n",
            r#"2:1: there is no key "colour"; it can be "path", "reach", "capacity", "pools", "profile" or "price""#,
        ),
        ("[tier.a]\npath = 7\n", "2:8: path must be a text in quotes, but is a number"),
        (
            "[tier.a]\npath = '/a'\nreach = 'nod'\n",
            r#"3:9: reach must be "node", "shared" or "world", not "nod"; did you mean "node"?"#,
        ),
        (
            "[tier.a]\npath = '/a'\nreach = 'everybody'\n",
            r#"3:9: reach must be "node", "shared" or "world", not "everybody""#,
        ),
        (
            "[tier.a]\npath = '/a'\nreach = 'node'\ncapacity = 200\n",
            r#"4:12: capacity must be an amount in quotes, like "200 GiB", but is a number"#,
        ),
        (
            "[tier.a]\npath = '/a'\nreach = 'node'\ncapacity = '200 G'\n",
            concat!(
                r#"4:12: "200 G" has no unit of bytes; "#,
                r#"write it like "200 GiB", "1.5 TB" or "4096""#
            ),
        ),
        (
            "[tier.in-place]\n",
            r#"1:7: "in-place" means the directory itself: a tier needs another name"#,
        ),
        ("[tier.here]\n", r#"1:7: "here" means the directory itself: a tier needs another name"#),
        ("[tier.Fast]\n", r#"1:7: a tier can't be called "Fast": names are of a-z, 0-9, _ and -"#),
        ("[tier.'a.b']\n", r#"1:7: a tier can't be called "a.b": names are of a-z, 0-9, _ and -"#),
        ("[tier.'']\n", r#"1:7: a tier can't be called "": names are of a-z, 0-9, _ and -"#),
    ] {
        assert_eq!(parse(text).expect_err(text).to_string(), format!("site.toml:{flaw}"));
    }
}

#[test]
fn pools_share_what_there_is() {
    const TIER: &str = "[tier.a]\npath = '/a'\nreach = 'node'\n";
    for (rest, flaw) in [
        ("[tier.a.pools]\nx = '1'\n", r#"4:1: pools split a capacity, and tier "a" has none"#),
        ("pools = { x = '1' }\n", r#"4:9: pools split a capacity, and tier "a" has none"#),
        ("pools = 3\n", "4:9: pools must be a table, but is a number"),
        (
            "capacity = '3'\n\n[tier.a.pools]\nx = '2'\ny = '2'\n",
            "6:1: the pools take 4 bytes, but the capacity is 3",
        ),
        (
            "capacity = '16383 PiB'\n[tier.a.pools]\nx = '16383 PiB'\ny = '16383 PiB'\n",
            concat!(
                "5:1: the pools take 18446744073709551615 bytes, ",
                "but the capacity is 18445618173802708992"
            ),
        ),
        (
            "capacity = '3'\n[tier.a.pools]\nx = 2\n",
            r#"6:5: x must be an amount in quotes, like "200 GiB", but is a number"#,
        ),
        (
            "capacity = '3'\n[tier.a.pools]\nhere = '2'\n",
            r#"6:1: "here" means the directory itself: a tier needs another name"#,
        ),
        (
            "capacity = '3'\n[tier.a.pools]\n'X Y' = '2'\n",
            r#"6:1: a tier can't be called "X Y": names are of a-z, 0-9, _ and -"#,
        ),
    ] {
        let flawed = parse(&format!("{TIER}{rest}")).expect_err(rest);
        assert_eq!(flawed.to_string(), format!("site.toml:{flaw}"));
    }
}

/// What a person copies first must be right.
#[test]
fn the_sites_for_plans_are_read_and_their_prices_known() {
    let prices = include_str!("../../../../prices/aws-us-east-1.toml");
    let prices = crate::Prices::parse(prices, "prices.toml").expect("the sheet");
    let site = Site::parse(include_str!("../../../../sites/aws.toml"), "aws.toml", &variable);
    let site = site.expect("the site");
    for tier in site.tiers() {
        let price = tier.price.as_deref().expect("a price");
        assert!(prices.charges_for_storage(price).count() > 0, "{price}");
        assert!(tier.profile.is_some(), "{}", tier.id);
    }
    assert!(site.nodes().is_some_and(|nodes| nodes.instance.is_some()));
}
