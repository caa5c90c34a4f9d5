//! The first thing that people read.

use crate::place::{Place, done};

#[test]
fn every_subcommand_shows_an_example() {
    let place = Place::new();
    let help = done(&mut place.forebay(&["--help"]));
    let text = help.code(0).text();
    let commands: Vec<&str> = text
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
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
