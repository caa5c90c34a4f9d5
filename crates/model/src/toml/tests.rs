//! If these fail, whoever writes a site or rules file is sent to a wrong line, or to a wrong word.

mod noise;

use super::*;

#[test]
fn a_nearest_name_is_suggested_only_when_it_is_near() {
    let known = ["scratch", "scratch.temp", "ssd", "hdd", "home"];
    for (name, expected) in [
        ("scrach", Some("scratch")),
        ("scartch", Some("scratch")),
        ("SCRATCH", Some("scratch")),
        ("scratches", Some("scratch")),
        ("scratch.tmp", Some("scratch.temp")),
        ("scatch.tem", Some("scratch.temp")),
        ("sd", Some("ssd")),
        ("hmoe", Some("home")),
        ("sdd", Some("ssd")),
        ("mmm", None),
        ("s", None),
        ("", None),
        ("archive", None),
        ("scream", None),
    ] {
        assert_eq!(nearest_name(name, &known), expected, "{name}");
    }
    assert_eq!(nearest_name("a", &[]), None);
}

#[test]
fn names_are_listed_as_in_a_sentence() {
    assert_eq!(join_quoted(&["a"]), r#""a""#);
    assert_eq!(join_quoted(&["a", "b"]), r#""a" or "b""#);
    assert_eq!(join_quoted(&["a", "b", "c"]), r#""a", "b" or "c""#);
}

#[test]
fn what_is_no_toml_is_told_with_its_place() {
    const QUOTES: &str = "a value in quotes must stand here";
    for (text, line, column, message) in [
        ("a", 1, 2, "key with no value, expected `=`"),
        ("a = 1\nb =\n", 2, 4, QUOTES),
        ("reach = node\n", 1, 9, QUOTES),
        ("\tpath =\t/nvme\n", 1, 9, QUOTES),
        ("capacity = 200 GiB\n", 1, 12, QUOTES),
        ("a = \"x\nb = 2\n", 1, 7, "invalid basic string, expected `\"`"),
        ("\n  [t\n", 2, 5, "unclosed table, expected `]`"),
        ("a = [1,\n", 1, 8, "unclosed array, expected `]`"),
        ("a = 1\na = 2\n", 2, 1, "duplicate key"),
        ("[t]\n[t]\n", 2, 2, "duplicate key"),
    ] {
        let flaw = TomlDocument { source: "a.toml", text }.parse().expect_err(text);
        let told = (flaw.file_name(), flaw.line(), flaw.column(), flaw.message(), flaw.hint());
        assert_eq!(told, ("a.toml", line, column, message, None), "{text:?}");
    }
}

#[test]
fn columns_count_characters_and_lines_end_as_they_like() {
    let text = "# Größe\r\n'µµ' = 1\r\n  \"é\" = 'ü' # x\r\n";
    let document = TomlDocument { source: "b.toml", text };
    let entries = document.parse().expect("TOML");
    let root = document.root_table(&entries);
    let (first, second) =
        (root.get_required("µµ").expect("is there"), root.get_required("é").expect("is there"));
    assert_eq!(first.value_error("m").to_string(), "b.toml:2:8: m");
    assert_eq!(second.key_error("m").to_string(), "b.toml:3:3: m");
    assert_eq!(second.value_error("m").to_string(), "b.toml:3:9: m");
}

#[test]
fn of_several_flaws_the_first_in_the_file_is_told() {
    let text = "zebra = 1\napple = 2\n";
    let document = TomlDocument { source: "c.toml", text };
    let entries = document.parse().expect("TOML");
    let flaw = document
        .root_table(&entries)
        .refuse_unknown_keys(&["apples", "pear"])
        .expect_err("two are unknown");
    assert_eq!(
        flaw.to_string(),
        r#"c.toml:1:1: there is no key "zebra"; it can be "apples" or "pear""#
    );
    assert_eq!(flaw.hint(), None);
}

#[test]
fn each_type_is_called_by_its_name() {
    let text = "a = 'x'\nb = 1\nc = 1.5\nd = true\ne = 2026-01-01\nf = []\n[g]\n";
    let document = TomlDocument { source: "d.toml", text };
    let entries = document.parse().expect("TOML");
    let told: Vec<String> = document
        .root_table(&entries)
        .entries()
        .iter()
        .map(|e| e.wrong_type_error("w").to_string())
        .collect();
    let expected = [
        "d.toml:1:5: a must be w, but is a text",
        "d.toml:2:5: b must be w, but is a number",
        "d.toml:3:5: c must be w, but is a number",
        "d.toml:4:5: d must be w, but is true or false",
        "d.toml:5:5: e must be w, but is a date or time",
        "d.toml:6:5: f must be w, but is a list",
        "d.toml:7:1: g must be w, but is a table",
    ];
    assert_eq!(told, expected);
}
