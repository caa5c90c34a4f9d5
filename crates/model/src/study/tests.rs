//! If these fail, a study is compared with figures that nobody published.
use super::*;

const HEAD: &str = "name = \"n\"\nsource = \"s\"\nproject = \"p\"\n";

#[test]
fn rows_say_where_their_setting_differs() {
    let text = format!(
        "{HEAD}low = [\"map\"]\nprices = \"p.toml\"\nnot_reproduced = [\"a stall\"]\nstagger = \"5m\"\n[[expected]]\nwhat = \"hours\"\nrole = \"predicted\"\n\
         published = 2.5\npipelines = 3\npolicy = \"fifo\"\n[[fitted]]\nwhat = \"a\"\nvalue = \"1\"\nto = \"b\"\n"
    );
    let study = Study::parse(&text, "study.toml").expect("a study");
    assert_eq!(study.stagger, Seconds(300.0));
    assert_eq!(study.low, ["map"]);
    assert_eq!(study.prices.as_deref(), Some("p.toml"));
    assert_eq!(study.not_reproduced, ["a stall"]);
    let row = &study.expected[0];
    assert_eq!((row.against, row.setting.pipelines), (ReferenceFigure::Published(2.5), Some(3)));
    assert_eq!((row.setting.policy.as_deref(), row.setting.stagger), (Some("fifo"), None));
    assert_eq!(study.fitted.len(), 1);
}

#[test]
fn what_a_source_says_in_words_is_compared_as_bounds_and_orders() {
    let text = format!(
        "{HEAD}[[expected]]\nwhat = \"samples_per_hour\"\nrole = \"predicted\"\nat_most = 1.9\n\
         nodes = 8\nsite = \"nfs.toml\"\nover = {{ nodes = 4 }}\n"
    );
    let study = Study::parse(&text, "study.toml").expect("a study");
    let row = &study.expected[0];
    let other = row.over.as_ref().expect("a ratio").with_defaults(&row.setting);
    assert_eq!((other.nodes, other.site.as_deref()), (Some(4), Some("nfs.toml")));
    for (against, figure, before, holds) in [
        (row.against, 1.4, None, Some(true)),
        (row.against, 2.0, None, Some(false)),
        (ReferenceFigure::More, 1.2, Some(1.1), Some(true)),
        (ReferenceFigure::More, 1.12, Some(1.1), Some(false)),
        (ReferenceFigure::More, 1.2, None, Some(false)),
        (ReferenceFigure::Ours(100.0), 104.0, None, Some(true)),
        (ReferenceFigure::Published(100.0), 106.0, None, Some(false)),
        (ReferenceFigure::Nothing, 1.0, None, None),
    ] {
        assert_eq!(against.check_figure(figure, before, 0.05), holds, "{against:?} {figure}");
    }
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
            "[[expected]]\nwhat = \"h\"\nrole = \"fitted\"\npublished = 1\nat_most = 2\n",
            "compared with one thing only",
        ),
        (
            "[[expected]]\nwhat = \"h\"\nrole = \"model\"\nover = { ndoes = 1 }\n",
            "did you mean \"nodes\"",
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
