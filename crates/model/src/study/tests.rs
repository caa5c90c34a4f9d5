//! If these fail, a study is compared with figures that nobody published.
use super::*;

const HEAD: &str = "name = \"n\"\nsource = \"s\"\nproject = \"p\"\n";

#[test]
fn rows_say_where_their_setting_differs() {
    let text = format!(
        "{HEAD}low = [\"map\"]\nprices = \"p.toml\"\nnot_reproduced = [\"a stall\"]\nstagger = \"5m\"\n[[expected]]\nwhat = \"hours\"\nrole = \"predicted\"\n\
         published = 2.5\npipelines = 3\npolicy = \"fifo\"\nworkload = \"second.toml\"\n[[fitted]]\nwhat = \"a\"\nvalue = \"1\"\nto = \"b\"\n"
    );
    let study = Study::parse(&text, "study.toml").expect("a study");
    assert_eq!(study.stagger, Seconds(300.0));
    assert_eq!(study.low, ["map"]);
    assert_eq!(study.prices.as_deref(), Some("p.toml"));
    assert_eq!(study.not_reproduced, ["a stall"]);
    let row = &study.expected[0];
    assert_eq!((row.published, row.pipelines), (Some(2.5), Some(3)));
    assert_eq!((row.policy.as_deref(), row.stagger), (Some("fifo"), None));
    assert_eq!(row.workload.as_deref(), Some("second.toml"));
    assert_eq!(study.fitted.len(), 1);
}

#[test]
fn flaws_are_told_with_their_place() {
    for (text, words) in [
        (
            "rules = \"../r.toml\"\n",
            "study.toml:4:9: rules must be a file in the study's own folder",
        ),
        ("polciy = \"fifo\"\n", "did you mean \"policy\""),
        (
            "[[expected]]\nwhat = \"hours\"\nrole = \"predicted\"\n",
            "a figure is published, or it is",
        ),
        (
            "[[expected]]\nwhat = \"h\"\nrole = \"fited\"\npublished = 1\n",
            "did you mean \"fitted\"",
        ),
    ] {
        let flaw =
            Study::parse(&format!("{HEAD}{text}"), "study.toml").expect_err(text).to_string();
        assert!(flaw.contains(words), "{flaw}");
    }
}
