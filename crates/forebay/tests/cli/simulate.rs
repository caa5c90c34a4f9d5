//! Simulations from the command line: what programs read of them, and that a run that never was is
//! a run for all that reads runs.

use crate::place::{Place, done};

const STUDY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/genomon-corun");

#[test]
fn a_study_is_simulated_and_its_run_is_summed_up() {
    let place = Place::new();
    let words = ["simulate", STUDY, "--pipelines", "2", "--json", "-o", "two.run"];
    let text = done(&mut place.forebay(&words)).code(0).text();
    for key in [
        "\"makespan_s\":",
        "\"homecoming_s\":0.0",
        "\"samples_per_hour\":",
        "\"utilisation\":0.",
        "\"cost_usd\":null",
        "\"llio.temp\":{",
        "\"peak_bytes_per_node\":",
        "\"fitted_parameters\":3",
    ] {
        assert!(text.contains(key), "{key} is not in {text}");
    }
    let summary = done(&mut place.forebay(&["summary", "two.run"])).code(0).text();
    assert!(summary.contains("map_dna_sequence"), "{summary}");
    // No operation of it was simulated one by one: nothing says what names took.
    for view in ["summary", "explain"] {
        let text = done(&mut place.forebay(&[view, "two.run"])).code(0).text();
        for words in ["0 B on average", "took 0 s", "alone took"] {
            assert!(!text.contains(words), "{view}: {text}");
        }
    }
    let again = done(&mut place.forebay(&words[..5])).code(0).text();
    assert_eq!(text, again, "the same input gives the same words");
}

/// Eight tasks of a minute on two nodes of two cores: two minutes without a loss.
fn eight_tasks(place: &Place) {
    let work = "name = \"eight\"\n[files.out]\npath = \"out/#\"\nbytes = \"8 MiB\"\nper = \"work\"\n\
                [[stage]]\nname = \"work\"\ncores = 1\njobs = 8\n\
                [[stage.step]]\nname = \"all\"\ncompute = \"1 min\"\nfiles.out = { write = 1 }\n";
    std::fs::write(place.project.join("eight.toml"), work).expect("a workload");
    let site = "[nodes]\ncount = 2\ncores = 2\n[tier.net]\nreach = \"shared\"\npath = \"/net\"\n\
                [tier.net.profile]\nsource = \"no limit is told\"\n";
    std::fs::write(place.project.join("site.toml"), site).expect("a site");
}

#[test]
fn a_node_that_is_taken_away_costs_what_it_had_not_finished() {
    let place = Place::new();
    eight_tasks(&place);
    let simulated = |more: &[&str]| {
        let words = ["simulate", "eight.toml", "--site", "site.toml", "--project", "net"];
        let words: Vec<&str> = words.iter().chain(more).copied().collect();
        done(&mut place.forebay(&words))
    };
    let calm = simulated(&["--json"]).code(0).text();
    for key in ["\"makespan_s\":120.0", "\"interruptions\":0", "\"tasks_again\":0", "\"tasks\":8"] {
        assert!(calm.contains(key), "{key} is not in {calm}");
    }
    let lost = ["--interrupt", "2@90s+never", "--detection", "10s"];
    let text = simulated(&[&lost[..], &["--json", "-o", "lost.run"]].concat()).code(0).text();
    for key in [
        "\"makespan_s\":180.0",
        "\"interruptions\":1",
        "\"tasks_again\":2",
        "\"lost_s\":60.0",
        "\"tasks\":8",
    ] {
        assert!(text.contains(key), "{key} is not in {text}");
    }
    let words = simulated(&lost).code(0).text();
    assert!(
        words.contains(
            "1 of 1 interruptions before the end: 2 tasks began again, 1 min 00 s of their work was lost"
        ),
        "{words}"
    );
    // All ten attempts are tasks of the run.
    let summary = done(&mut place.forebay(&["summary", "lost.run"])).code(0).text();
    assert!(
        summary.lines().any(|line| line.starts_with("work ") && line.contains(" 10 ")),
        "{summary}"
    );
    let words = simulated(&["--interrupt", "2@5min"]).code(0).text();
    assert!(words.contains("0 of 1 interruptions before the end: 0 tasks"), "{words}");
    let back = ["--interrupt", "2@90s+20s", "--interrupt", "1@30s+never", "--json"];
    let text = simulated(&back).code(0).text();
    assert!(text.contains("\"interruptions\":2"), "{text}");
}

#[test]
fn an_interruption_that_cannot_be_is_told() {
    let place = Place::new();
    eight_tasks(&place);
    let simulated = |more: &[&str]| {
        let words = ["simulate", "eight.toml", "--site", "site.toml", "--project", "net"];
        let words: Vec<&str> = words.iter().chain(more).copied().collect();
        done(&mut place.forebay(&words))
    };
    simulated(&["--interrupt", "3@90s"]).code(1).says("node 3").says("nodes 1 to 2");
    simulated(&["--nodes", "1", "--interrupt", "2@90s"]).code(1).says("nodes 1 to 1");
    let twice = ["--interrupt", "2@90s", "--interrupt", "2@100s"];
    simulated(&twice).code(1).says("away from 1 min 30 s until 3 min 30 s");
    let all = ["--interrupt", "1@90s+never", "--interrupt", "2@90s+never"];
    simulated(&all).code(1).says("never starts");
    for (typed, words) in [
        ("3@-5s", "before the start"),
        ("90s", "NODE@TIME"),
        ("0@90s", "counted from 1"),
        ("1@90", "no time"),
        ("1@90s+soon", "no time"),
    ] {
        simulated(&["--interrupt", typed]).code(2).says(words);
    }
    simulated(&["--interrupt", "1@1s", "--detection", "-5s"]).code(2);
    simulated(&["--detection", "5s"]).code(2).says("--interrupt");
}

#[test]
fn what_cannot_be_simulated_is_told_with_its_place() {
    let place = Place::new();
    std::fs::write(place.project.join("w.toml"), "name = \"x\"\nstgae = 1\n").expect("a file");
    done(&mut place.forebay(&["simulate", "w.toml"])).code(1).says("w.toml:2:1").says("\"stage\"");
    done(&mut place.forebay(&["simulate", "nothing.toml"])).code(1).says("nothing.toml");
    done(&mut place.forebay(&["simulate", STUDY, "--nodes", "97"])).code(1).says("1 to 96");
    done(&mut place.forebay(&["simulate", STUDY, "--policy", "x"])).code(2).says("fifo");
}

#[test]
fn every_study_is_compared_with_what_was_published() {
    let place = Place::new();
    let folders = std::fs::read_dir(format!("{STUDY}/..")).expect("the folder of studies");
    let folders = folders.map(|entry| entry.expect("an entry").path());
    let mut studies: Vec<String> = folders
        .filter(|folder| folder.join("study.toml").is_file())
        .map(|folder| folder.to_str().expect("a name in letters").to_owned())
        .collect();
    studies.sort();
    assert!(studies.len() >= 4, "{studies:?}");
    let words: Vec<&str> =
        ["study"].into_iter().chain(studies.iter().map(String::as_str)).collect();
    let text = done(&mut place.forebay(&words)).code(0).text();
    for words in [
        "3 parameters were fitted",
        "18 parameters were fitted",
        "predicted  MISSED",
        // A ratio with a bound, an order, and a count that nobody published.
        ">= 3.8       4.00        -  fitted",
        " more       1.",
        "predicted, counted by us",
        "not reproduced: why tasks of the second run got stuck on S3FS",
        " >= 9 ",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
}

/// If this fails, a change of the model has made what was fitted untrue: fit again, and say so.
#[test]
fn what_was_fitted_still_comes_out() {
    let place = Place::new();
    for study in ["nextflow-storages", "sra-access"] {
        let folder = format!("{STUDY}/../{study}");
        let text = done(&mut place.forebay(&["study", &folder])).code(0).text();
        let fitted: Vec<&str> = text.lines().filter(|line| line.contains("%  fitted")).collect();
        assert!(fitted.len() >= 4, "{text}");
        for line in fitted {
            assert!(line.contains("0.0 %"), "{line}");
        }
    }
}
