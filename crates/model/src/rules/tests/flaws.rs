//! If these fail, somebody looks for a mistake in the wrong line of a rules file, or it is obeyed.

use super::*;

#[test]
fn flaws_name_the_line_the_column_and_what_was_meant() {
    const RULE: &str = "# x\n[[rule]]\nmatch = '*.sam'\n";
    for (rest, flaw) in [
        (
            "home = 'in-place'\nfsync = 'bucket'\n",
            r#"5:9: fsync = "bucket" is for a volume that a bucket keeps (forebay mount s3://...)"#,
        ),
        (
            "home = 'scratch'\nfsync = 'local'\n",
            r#"5:9: fsync = "local" is for a volume that a bucket keeps (forebay mount s3://...)"#,
        ),
        ("home = 'scrach'\n", r#"4:8: there is no tier "scrach"; did you mean "scratch"?"#),
        (
            "home = 'scratch.tmp'",
            r#"4:8: there is no tier "scratch.tmp"; did you mean "scratch.temp"?"#,
        ),
        ("home = 'inplace'\n", r#"4:8: there is no tier "inplace"; did you mean "in-place"?"#),
        (
            "home = 'tape'\n",
            concat!(
                r#"4:8: there is no tier "tape"; it can be "#,
                r#""scratch", "scratch.cache", "scratch.temp" or "in-place""#
            ),
        ),
        ("home = 1\n", "4:8: home must be a text in quotes, but is a number"),
        ("", r#"2:1: the key "home" is missing here"#),
        ("hoem = 'in-place'\n", r#"4:1: there is no key "hoem"; did you mean "home"?"#),
        (
            "size = '1'\n",
            concat!(
                r#"4:1: there is no key "size"; it can be "#,
                r#""match", "task", "home", "layout", "full", "fsync", "after", "write_back", "#,
                r#""publish", "cache", "ahead" or "whole_folder""#
            ),
        ),
        (
            "home = 'scratch'\nwhole_folder = true\n",
            r#"3:9: a whole folder is named as it is: "work/tmp/**""#,
        ),
        (
            "home = 'scratch'\nwhole_folder = 'yes'\n",
            "5:16: whole_folder must be true or false, but is a text",
        ),
        (
            "home = 'in-place'\nwhole_folder = true\n",
            r#"5:1: whole_folder is for a tier, but home is "in-place""#,
        ),
        (
            "home = 'scratch'\nlayout = 'packed'\nwhole_folder = true\n",
            "5:1: layout is for files that Forebay places one by one: a whole folder is as its tier is",
        ),
        (
            "home = 'scratch'\nfull = 'spil'\n",
            r#"5:8: full must be "spill" or "fail", not "spil"; did you mean "spill"?"#,
        ),
        (
            "home = 'scratch'\nfsync = 'never'\n",
            r#"5:9: fsync must be "durable", "ordered" or "scratch", not "never""#,
        ),
        (
            "home = 'scratch'\nfsync = 'orderd'\n",
            concat!(
                r#"5:9: fsync must be "durable", "ordered" or "scratch", not "orderd"; "#,
                r#"did you mean "ordered"?"#
            ),
        ),
        (
            "home = 'scratch'\nlayout = 'paked'\n",
            r#"5:10: layout must be "plain", "packed" or "apart", not "paked"; did you mean "packed"?"#,
        ),
        (
            "home = 'in-place'\nlayout = 'packed'\n",
            r#"5:1: layout is for files on a tier, but home is "in-place""#,
        ),
        (
            concat!(
                "home = 'scratch'\nlayout = 'packed'\n",
                "[[rule]]\nmatch = 'a'\nlayout = 'packed'\nhome = 'scratch.temp'\n"
            ),
            "9:8: packed files share one tier, and an earlier rule says scratch",
        ),
        (
            "home = 'scratch'\nafter = 'delete'\n",
            r#"5:9: after must be "restore", "keep" or "discard", not "delete""#,
        ),
        (
            "home = 'scratch'\nafter = true\n",
            "5:9: after must be a text in quotes, but is true or false",
        ),
        (
            "home = 'in-place'\nafter = 'discard'\n",
            r#"5:1: after is for files on a tier, but home is "in-place""#,
        ),
        (
            "home = 'in-place'\ncache = 'scratch.cash'\n",
            r#"5:9: there is no tier "scratch.cash"; did you mean "scratch.cache"?"#,
        ),
        (
            "home = 'in-place'\ncache = 'in-place'\n",
            "5:9: a cache is on a tier; without one, files are read in place",
        ),
        (
            "home = 'scratch.temp'\ncache = 'scratch.cache'\n",
            r#"5:1: cache is for files in place, but home is "scratch.temp""#,
        ),
        (
            "home = 'in-place'\ncache = 'scratch'\nahead = 'at-stort'\n",
            concat!(
                r#"6:9: ahead must be "never", "on-open" or "at-start", not "at-stort"; "#,
                r#"did you mean "at-start"?"#
            ),
        ),
        (
            "home = 'in-place'\nahead = 'never'\n",
            "5:1: ahead says when files are copied: it needs a cache",
        ),
        (
            "home = 'in-place'\npublish = 'scrach'\n",
            r#"5:11: there is no tier "scrach"; did you mean "scratch"?"#,
        ),
        (
            "home = 'in-place'\npublish = 'in-place'\n",
            "5:11: files are published to a tier; without the key, to none",
        ),
        (
            "home = 'in-place'\npublish = 'scratch.temp'\n",
            r#"5:11: scratch.temp is a pool, and published files count in none: write "scratch""#,
        ),
        (
            "home = 'scratch.temp'\npublish = 'scratch'\n",
            "5:11: publish is for another tier: the files live on scratch already",
        ),
        (
            "home = 'in-place'\npublish = true\n",
            "5:11: publish must be a text in quotes, but is true or false",
        ),
        (
            "home = 'in-place'\ntask = 'x'\npublish = 'scratch'\n",
            "6:1: publish goes by path alone: it needs a rule without task",
        ),
        (
            "home = 'in-place'\ncache = 'scratch'\ntask = 'x'\n",
            "5:1: cache goes by path alone: it needs a rule without task",
        ),
        (
            "home = 'scratch'\ntask = 'x'\nafter = 'keep'\n",
            concat!(
                "6:9: who made a file is known until its run ends: to keep it on its tier needs a ",
                "rule without task"
            ),
        ),
        ("home = 'scratch'\ntask = ''\n", "5:8: an empty glob matches no task"),
        (
            "home = 'scratch'\ntask = ['a', '[']\n",
            r#"5:14: "[" is no glob: unclosed character class; missing ']'"#,
        ),
        (
            "home = 'scratch'\ntask = 3\n",
            "5:8: task must be a glob in quotes, or a list of globs, but is a number",
        ),
        ("home = 'scratch'\ntask = []\n", "5:8: this list is empty, so the rule matches no task"),
        ("home = 'scratch'\n[rules]\n", r#"5:2: there is no key "rules"; did you mean "rule"?"#),
    ] {
        let flawed = parse(&format!("{RULE}{rest}")).expect_err(rest);
        assert_eq!(flawed.to_string(), format!("rules.toml:{flaw}"));
    }
    for (text, flaw) in [
        ("[rule]\nmatch = 'a'\n", "1:1: rule must be a list of tables, [[rule]], but is a table"),
        ("rule = ['a']\n", "1:9: rule must be a table, but is a text"),
        ("[[rule]]\nhome = 'in-place'\n", r#"1:1: the key "match" is missing here"#),
    ] {
        assert_eq!(parse(text).expect_err(text).to_string(), format!("rules.toml:{flaw}"));
    }
}

#[test]
fn globs_that_match_nothing_are_refused_at_their_place() {
    for (globs, flaw) in [
        ("''", "2:9: an empty glob matches nothing"),
        ("[]", "2:9: this list is empty, so the rule matches nothing"),
        ("['a', '']", "2:15: an empty glob matches nothing"),
        ("['a',\n  3]", "3:3: match must be a glob in quotes, or a list of globs, but is a number"),
        ("7", "2:9: match must be a glob in quotes, or a list of globs, but is a number"),
        ("'/tmp/*'", "2:9: a glob is relative to the managed directory: it can't begin with /"),
        ("'../x'", r#"2:9: a glob can't leave the managed directory by "..""#),
        ("'a/../b'", r#"2:9: a glob can't leave the managed directory by "..""#),
        ("'..'", r#"2:9: a glob can't leave the managed directory by "..""#),
        ("'a/b/'", r#"2:9: a glob matches files: for all files below, write "a/b/**""#),
        ("'./a'", r#"2:9: no path has an empty or "." part, so this glob matches nothing"#),
        ("'a//b'", r#"2:9: no path has an empty or "." part, so this glob matches nothing"#),
        ("'a[b'", r#"2:9: "a[b" is no glob: unclosed character class; missing ']'"#),
        ("'[z-a]'", r#"2:9: "[z-a]" is no glob: invalid range; 'z' > 'a'"#),
    ] {
        let text = format!("[[rule]]\nmatch = {globs}\nhome = 'in-place'\n");
        assert_eq!(parse(&text).expect_err(globs).to_string(), format!("rules.toml:{flaw}"));
    }
}

#[test]
fn one_whole_folder_holds_no_other() {
    let rule =
        |globs: &str| format!("[[rule]]\nmatch = {globs}\nhome = 'scratch'\nwhole_folder = true\n");
    for (globs, at) in [
        ("['tmp/**', 'tmp/a/**']", "2:20"),
        ("['tmp/a/**', 'tmp/**']", "2:22"),
        ("['tmp/**', 'tmp/**']", "2:20"),
        ("'.forebay/**'", "2:9"),
        ("'**'", "2:9"),
        ("'*/**'", "2:9"),
    ] {
        let flaw = parse(&rule(globs)).expect_err(globs).to_string();
        assert!(flaw.starts_with(&format!("rules.toml:{at}: ")), "{globs}: {flaw}");
    }
    let both = [rule("'work/tmp/**'"), rule("'work/tmp/a/**'")].concat();
    assert!(parse(&both).is_err(), "in two rules");
}
