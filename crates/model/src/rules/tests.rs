//! If these fail, files go to another place than the rules say, are lost when they should be kept,
//! or a misspelt rule is silently no rule.

mod flaws;

use super::*;
use crate::site::Site;

const LAPTOP: &str = include_str!("../../../../sites/laptop.toml");
const REFERENCE_CACHE: &str = include_str!("../../../../examples/rules/reference-cache.toml");
const BROADCAST: &str = include_str!("../../../../examples/rules/broadcast.toml");
const INTERMEDIATES: &str = include_str!("../../../../examples/rules/intermediates.toml");

fn site() -> Site {
    Site::parse(LAPTOP, "laptop.toml", &|_| Some("/home/ada".to_owned())).expect("the example")
}

fn parse(text: &str) -> Result<Rules, ConfigError> {
    Rules::parse(text, "rules.toml", &site())
}

/// One rule for each line of globs (TOML values).
fn rules(matches: &[&str]) -> Rules {
    let rule = |globs| format!("[[rule]]\nmatch = {globs}\nhome = 'scratch'\n");
    let text: String = matches.iter().map(rule).collect();
    parse(&text).unwrap_or_else(|flaw| panic!("{flaw}\n{text}"))
}

fn tier(name: &str) -> FileLocation {
    FileLocation::Tier(TierId(name.to_owned()))
}

#[test]
fn the_example_says_what_its_comments_say() {
    let rules = parse(INTERMEDIATES).expect("the example is right");
    let (spill, durable) = (FullTierPolicy::Spill, FsyncMode::Durable);
    let at = |rule, home: &str, full, fsync, after| {
        let home = if home == "here" { FileLocation::Here } else { tier(home) };
        let (layout, drain) = (FileLayout::Plain, WriteBackTrigger::End);
        Placement { home, layout, full, fsync, after, drain, publish: None, cache: None, rule }
    };
    let here = |rule| at(rule, "here", spill, durable, RunEndAction::Restore);
    let temp = || at(Some(2), "scratch.temp", spill, FsyncMode::Scratch, RunEndAction::Discard);
    let sam = || at(Some(3), "scratch.temp", FullTierPolicy::Fail, durable, RunEndAction::Restore);
    let cache = || at(Some(4), "scratch.cache", spill, durable, RunEndAction::Keep);
    let bam = || at(Some(5), "scratch", spill, durable, RunEndAction::Restore);
    for (path, expected) in [
        ("a.log", here(Some(1))),
        ("work/1f/a.html", here(Some(1))),
        ("logs/bwa/a.sam", here(Some(1))),
        ("work/1f/a.tmp.0003.bam", temp()),
        ("work/1f/tmp/x/y", temp()),
        ("work/1f/a.sam", sam()),
        ("work/a.sam", sam()),
        ("a.sam", here(None)),
        ("reference/hg38.fa.bwt", cache()),
        ("reference/hg38/hg38.fa.bwt", here(None)),
        ("work/1f/a.bam", bam()),
        ("work/1f/a.bam.bai", bam()),
        ("work/1f/a.vcf", here(None)),
    ] {
        assert_eq!(*rules.placement_for_path(path.as_bytes(), None), expected, "{path}");
    }
    let tiers: Vec<&str> = rules.home_tiers().into_iter().map(TierId::as_str).collect();
    assert_eq!(tiers, ["scratch", "scratch.cache", "scratch.temp"]);
}

#[test]
fn the_five_devices_are_five_rules() {
    let site = include_str!("../../../../sites/cluster.toml");
    let site = Site::parse(site, "cluster.toml", &|_| Some("ada".to_owned())).expect("the site");
    let text = include_str!("../../../../examples/rules/five-devices.toml");
    let rules = Rules::parse(text, "five-devices.toml", &site).expect("the example");
    let cached = |ahead| Some(CacheRule { tier: TierId("node.cache".to_owned()), ahead });
    for (path, home, cache) in [
        ("work/tmp/a", tier("node.temp"), None),
        ("split/a.fastq", tier("shared"), None),
        ("reference/hg38.fa", FileLocation::Here, cached(PrefetchMode::AtStart)),
        ("input/a.fastq.gz", FileLocation::Here, cached(PrefetchMode::OnOpen)),
        ("results/a.vcf", FileLocation::Here, None),
    ] {
        let placement = rules.placement_for_path(path.as_bytes(), None);
        assert_eq!((&placement.home, &placement.cache), (&home, &cache), "{path}");
        assert!(placement.rule.is_some());
    }
}

#[test]
fn the_example_of_results_says_what_its_comments_say() {
    let site = include_str!("../../../../sites/cluster.toml");
    let site = Site::parse(site, "cluster.toml", &|_| Some("ada".to_owned())).expect("the site");
    let text = include_str!("../../../../examples/rules/results.toml");
    let rules = Rules::parse(text, "results.toml", &site).expect("the example");
    for (path, home, fsync, after, published) in [
        ("results/a.tmp", tier("node.temp"), FsyncMode::Scratch, RunEndAction::Discard, false),
        ("results/x/a.cram.crai", tier("node"), FsyncMode::Ordered, RunEndAction::Discard, true),
        ("results/a.vcf", FileLocation::Here, FsyncMode::Durable, RunEndAction::Restore, true),
        ("work/a.bam", FileLocation::Here, FsyncMode::Durable, RunEndAction::Restore, false),
    ] {
        let placement = rules.placement_for_path(path.as_bytes(), None);
        assert_eq!((&placement.home, placement.fsync), (&home, fsync), "{path}");
        assert_eq!((placement.after, placement.publish.is_some()), (after, published), "{path}");
    }
}

#[test]
fn the_example_for_small_files_packs_them() {
    let rules = parse(include_str!("../../../../examples/rules/small-files.toml")).expect("right");
    for (path, rule) in [
        ("work/1f/ab/.command.sh", Some(1)),
        ("work/1f/ab/.exitcode", Some(1)),
        ("work/1f/ab/a.bam", None),
        (".snakemake/metadata/x", Some(2)),
        (".snakemake/conda/x", None),
        ("out/read_partitions/Fb_0/CBin_1/c1.reads.fa", Some(3)),
    ] {
        let placement = rules.placement_for_path(path.as_bytes(), None);
        assert_eq!(placement.rule, rule, "{path}");
        assert_eq!(placement.layout == FileLayout::Packed, rule.is_some(), "{path}");
    }
}

#[test]
fn files_that_come_home_may_do_so_when_they_are_closed() {
    let rule = |more: &str| parse(&format!("[[rule]]\nmatch = 'a'\nhome = 'scratch'\n{more}"));
    for (layout, packed) in [("plain", false), ("packed", true), ("apart", true)] {
        let rules =
            rule(&format!("layout = '{layout}'\nwrite_back = 'on-close'\n")).expect("right");
        assert_eq!(rules.placement_for_path(b"a", None).drain, WriteBackTrigger::Closed);
        assert_eq!(rules.placement_for_path(b"b", None).drain, WriteBackTrigger::End);
        assert_eq!(
            (rules.writes_back_during_run(), rules.writes_back_packed_eagerly()),
            (!packed, packed),
            "{layout}"
        );
    }
}

#[test]
fn packed_files_have_one_tier() {
    let text = "[[rule]]\nmatch = '.command.*'\nhome = 'scratch.temp'\nlayout = 'packed'\n";
    let rules = parse(text).expect("right");
    assert_eq!(rules.placement_for_path(b"work/1f/.command.sh", None).layout, FileLayout::Packed);
    assert_eq!(rules.placement_for_path(b"work/1f/a", None).layout, FileLayout::Plain);
    assert_eq!(rules.packed_tier().map(TierId::as_str), Some("scratch.temp"));
    assert_eq!(parse("").expect("none").packed_tier(), None);
}

#[test]
fn the_examples_of_caches_say_what_their_comments_say() {
    let cached = |ahead| Some(CacheRule { tier: TierId("scratch.cache".to_owned()), ahead });
    let rules = parse(REFERENCE_CACHE).expect("the example is right");
    for (path, number, cache) in [
        ("reference/hg38.fa.log", 1, None),
        ("reference/hg38.fa.bwt", 2, cached(PrefetchMode::OnOpen)),
        ("reference/vep/homo_sapiens/1.gz", 2, cached(PrefetchMode::OnOpen)),
        ("panel/normals.vcf.gz", 3, cached(PrefetchMode::Never)),
    ] {
        let placement = rules.placement_for_path(path.as_bytes(), None);
        assert_eq!((placement.rule, &placement.cache), (Some(number), &cache), "{path}");
        assert_eq!(placement.home, FileLocation::Here);
    }
    assert_eq!(rules.placement_for_path(b"work/a.bam", None).rule, None);
    assert!(rules.home_tiers().is_empty(), "no file has its home there");
    let caches: Vec<&str> = rules.cache_tiers().into_iter().map(TierId::as_str).collect();
    assert_eq!(caches, ["scratch.cache"]);
    assert!(
        rules.has_cache_rule(PrefetchMode::Never) && !rules.has_cache_rule(PrefetchMode::AtStart)
    );
    let rules = parse(BROADCAST).expect("the example is right");
    for (path, cache) in [
        ("reference/hg38.fa", cached(PrefetchMode::AtStart)),
        ("models/deep/weights.bin", cached(PrefetchMode::AtStart)),
        ("reference/old/hg19.fa", None),
        ("work/a.bam", None),
    ] {
        assert_eq!(rules.placement_for_path(path.as_bytes(), None).cache, cache, "{path}");
    }
    assert!(
        rules.has_cache_rule(PrefetchMode::AtStart) && !rules.has_cache_rule(PrefetchMode::OnOpen)
    );
}

#[test]
fn results_are_published_to_the_tier_that_their_rule_names() {
    let rules = parse("[[rule]]\nmatch = 'results/**'\nhome = 'in-place'\npublish = 'scratch'\n");
    let rules = rules.expect("right");
    let published = TierId("scratch".to_owned());
    assert_eq!(rules.placement_for_path(b"results/a.vcf", None).publish.as_ref(), Some(&published));
    assert_eq!(rules.placement_for_path(b"work/a.vcf", None).publish, None);
    assert_eq!(rules.publish_tiers().into_iter().collect::<Vec<_>>(), [&published]);
    assert!(rules.home_tiers().is_empty(), "nothing lives there");
    assert!(Rules::none().publish_tiers().is_empty());
}

#[test]
fn a_rule_with_a_task_is_for_files_of_that_task() {
    let rules = parse(
        "[[rule]]\nmatch = '*.bam'\ntask = ['*:SORT', 'samtools s*']\nhome = 'scratch.temp'\n\
         [[rule]]\nmatch = '*.log'\ntask = 'x'\nhome = 'in-place'\n\
         [[rule]]\nmatch = ['*.bam', '*.log']\nhome = 'scratch'\n",
    )
    .expect("right");
    for (path, task, rule) in [
        ("a.bam", Some("NFCORE_SAREK:SAREK:SORT"), Some(1)),
        ("a.bam", Some("samtools sort"), Some(1)),
        ("a.bam", Some("SORT"), Some(3)),
        ("a.bam", None, Some(3)),
        ("a.log", Some("x"), Some(2)),
        ("a.log", Some("samtools sort"), Some(3)),
        ("a.vcf", Some("samtools sort"), None),
    ] {
        assert_eq!(rules.placement_for_path(path.as_bytes(), task).rule, rule, "{path} {task:?}");
    }
    assert!(rules.has_task_rules() && rules.depends_on_task(b"d/a.bam"));
    assert!(!rules.depends_on_task(b"a.vcf"), "nobody is looked up for it");
    assert!(!parse(INTERMEDIATES).expect("right").has_task_rules());
}

#[test]
fn the_example_of_a_write_back_says_what_its_comments_say() {
    let rules = parse(include_str!("../../../../examples/rules/write-back.toml")).expect("right");
    for (path, home, drain) in [
        ("work/a.log", FileLocation::Here, WriteBackTrigger::End),
        ("work/a.bam.tmp", tier("scratch.temp"), WriteBackTrigger::End),
        ("work/a.bam", tier("scratch"), WriteBackTrigger::Closed),
    ] {
        let placement = rules.placement_for_path(path.as_bytes(), None);
        assert_eq!((&placement.home, placement.drain), (&home, drain), "{path}");
    }
}

#[test]
fn files_come_home_when_their_rule_says() {
    let text = "[[rule]]\nmatch = '*.bam'\nhome = 'scratch'\nwrite_back = 'on-close'\n\
                [[rule]]\nmatch = '*.sam'\nhome = 'scratch'\n";
    let rules = parse(text).expect("right");
    assert_eq!(rules.placement_for_path(b"a.bam", None).drain, WriteBackTrigger::Closed);
    assert_eq!(rules.placement_for_path(b"a.sam", None).drain, WriteBackTrigger::End);
    assert!(rules.writes_back_during_run() && !Rules::none().writes_back_during_run());
    for rest in ["after = 'keep'", "after = 'discard'"] {
        let text =
            format!("[[rule]]\nmatch = 'a'\nhome = 'scratch'\nwrite_back = 'on-close'\n{rest}\n");
        let flaw = parse(&text).expect_err("they contradict each other").to_string();
        assert!(flaw.starts_with("rules.toml:4:1: "), "{flaw}");
        parse(&text.replace("on-close", "at-end")).expect("the end is the end");
    }
    let flaw = parse("[[rule]]\nmatch = 'a'\nhome = 'in-place'\nwrite_back = 'on-close'\n")
        .expect_err("none");
    assert!(flaw.to_string().contains("write_back is for files on a tier"), "{flaw}");
}

#[test]
fn without_rules_everything_stays_in_place() {
    for rules in [Rules::none(), parse("").expect("no rules"), parse("rule = []").expect("none")] {
        let placement = rules.placement_for_path(b"work/a.sam", None);
        assert_eq!(placement.home, FileLocation::Here);
        assert_eq!(placement.rule, None);
        assert!(rules.home_tiers().is_empty());
    }
}

#[test]
fn the_first_rule_that_matches_wins_whatever_its_globs_look_like() {
    // Each kind of glob takes another way through the set: names, endings, beginnings, the rest.
    let kinds =
        ["'a.sam'", "'*.sam'", "'work/**'", "'work/a.sam'", "'work/[a-c].sam'", "'**/?.s*'"];
    for first in 0..kinds.len() {
        let mut turned = kinds;
        turned.rotate_left(first);
        let rules = rules(&turned);
        assert_eq!(rules.placement_for_path(b"work/a.sam", None).rule, Some(1), "{turned:?}");
        assert_eq!(rules.placement_for_path(b"b", None).rule, None);
    }
    let rules = rules(&["['x', '*.no', 'y']", "['*.bam', '*.sam']", "'**'"]);
    for (path, rule) in [("y", 1), ("a.sam", 2), ("d/e.bam", 2), ("d/z", 3)] {
        assert_eq!(rules.placement_for_path(path.as_bytes(), None).rule, Some(rule), "{path}");
    }
}

#[test]
fn globs_mean_what_the_document_says() {
    for (glob, matching, others) in [
        // Without a slash: the name, in any directory.
        ("*.sam", &["a.sam", "w/a.sam", "w/x/.sam"][..], &["a.sam/x", "a.sam.gz", "A.SAM"][..]),
        ("core", &["core", "a/b/core"], &["core/a", "score", "a/core.1"]),
        ("a?c", &["abc", "x/a.c"], &["ac", "a/c", "abbc"]),
        ("**", &["a", "a/b", ".a/.b"], &[]),
        ("t**p", &["tp", "temp", "x/tmp"], &["t/p"]),
        // With one: from the covered directory on; `*` does not cross it, `**` does.
        ("work/*.sam", &["work/a.sam"], &["work/x/a.sam", "x/work/a.sam", "a.sam"]),
        ("work/**/*.sam", &["work/a.sam", "work/x/y/a.sam"], &["x/work/a.sam", "work.sam"]),
        ("work/**", &["work/a", "work/x/a"], &["work", "works/a", "x/work/a"]),
        ("**/work/*", &["work/a", "x/y/work/a"], &["work/x/a", "rework/a"]),
        ("*/a", &["x/a"], &["a", "x/y/a"]),
        // The rest.
        ("[a-c]*/x[!0-9]", &["c/xx", "bob/x."], &["d/xx", "c/x1", "c/x"]),
        ("*.{fa,fq}{,.gz}", &["a.fa", "x/a.fq.gz"], &["a.gz", "a.fasta"]),
        (r"a\*b", &["a*b", "x/a*b"], &["aab", r"a\*b"]),
        ("[[]x[]]", &["[x]"], &["x"]),
        ("*", &["a.", ".hidden", "a\nb", "x/y"], &[]),
        ("größe/*", &["größe/é"], &["grösse/e"]),
    ] {
        let rules = rules(&[&format!("'{glob}'")]);
        for (path, rule) in
            matching.iter().map(|path| (path, Some(1))).chain(others.iter().map(|p| (p, None)))
        {
            assert_eq!(
                rules.placement_for_path(path.as_bytes(), None).rule,
                rule,
                "{glob} on {path:?}"
            );
        }
    }
}

#[test]
fn paths_are_bytes() {
    let rules = rules(&["'*.sam'", "'w/**/x'", "'w/?'", "'w/a*'", "'tmp'"]);
    for (path, rule) in [
        (&b"\xff\xfe/\x80.sam"[..], Some(1)),
        (b"w/\xff/x", Some(2)),
        (b"w/\xff", Some(3)),
        (b"w/a\xff\n", Some(4)),
        (b"\xff/tmp", Some(5)),
        (b"w/\xff\xff", None),
        (b"", None),
    ] {
        assert_eq!(rules.placement_for_path(path, None).rule, rule, "{path:?}");
    }
}

#[test]
fn packed_files_become_files_of_their_own_where_others_must_see_them() {
    let text = "[[rule]]\nmatch = 'a'\nhome = 'scratch'\nlayout = 'packed'\n\
                [[rule]]\nmatch = 'b'\nhome = 'scratch'\nlayout = 'apart'\nafter = 'keep'\n";
    let rules = parse(text).expect("right").without_packing();
    assert_eq!(rules.packed_tier(), None);
    let placed = rules.placement_for_path(b"b", None);
    assert_eq!(
        (placed.layout, placed.after, placed.rule),
        (FileLayout::Plain, RunEndAction::Keep, Some(2))
    );
}

#[test]
fn a_whole_folder_is_where_its_rule_says() {
    let text = "[[rule]]\nmatch = '*.log'\nhome = 'in-place'\n[[rule]]\n\
        match = ['tmp/**', 'work/a b/**']\nhome = 'scratch.temp'\nafter = 'discard'\n\
        whole_folder = true\n[[rule]]\nmatch = 'out/**'\nhome = 'scratch'\n\
        whole_folder = true\n[[rule]]\nmatch = 'x/**'\nhome = 'scratch'\nwhole_folder = false\n";
    let rules = parse(text).expect("right");
    let of = |path: &str, tier: &str, is_discarded, rule| WholeFolder {
        path: path.into(),
        tier: TierId(tier.to_owned()),
        is_discarded,
        rule,
    };
    let expected = [
        of("tmp", "scratch.temp", true, 2),
        of("work/a b", "scratch.temp", true, 2),
        of("out", "scratch", false, 3),
    ];
    assert_eq!(rules.whole_folders(), expected);
    // Where a folder can't be had as a whole, its files go there one by one.
    let placement = rules.placement_for_path(b"out/1", None);
    assert_eq!((&placement.home, placement.layout), (&tier("scratch"), FileLayout::Whole));
    assert_eq!(rules.placement_for_path(b"x/1", None).layout, FileLayout::Plain);
    assert_eq!(rules.unmatched_rules(std::iter::empty()), [1, 4], "nobody sees what is in others");
}
