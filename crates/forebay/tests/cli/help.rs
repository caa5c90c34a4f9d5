//! The first thing that people read.

use crate::place::{Place, done};

#[test]
fn every_subcommand_shows_an_example() {
    let place = Place::new();
    let help = done(&mut place.forebay(&["--help"]));
    let text = help.code(0).text();
    // Below the titles of groups, which come behind the line of usage.
    let commands: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("Usage:"))
        .filter(|line| line.starts_with("  ") && !line.starts_with("  -"))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(text.find("forebay run snakemake") < text.find("Usage:"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "the first page is wide: {text}");
    for title in ["Run and see:", "Decide:", "Volumes and data:"] {
        assert!(text.contains(title), "{text}");
    }
    assert!(commands.contains(&"run") && commands.contains(&"doctor"), "{commands:?}");
    for command in commands {
        let help = done(&mut place.forebay(&[command, "--help"])).text();
        assert!(help.contains("Example"), "{command} --help has no example:\n{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{command} --help is wide");
    }
}

#[test]
fn wrong_usage_is_2_and_runs_nothing() {
    let place = Place::new();
    for words in [&["run"][..], &["run", "--nonsense", "--", "touch", "ran"], &["nonsense"], &[]] {
        done(&mut place.forebay(words)).code(2);
    }
    assert!(!place.project.join("ran").exists());
    place.nothing_left();
}
