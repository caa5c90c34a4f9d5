//! What one thing changes. If these fail, a variable or a rule is blamed for what it does not do.

use crate::bench::told;
use crate::place::{Place, done};

/// `forebay bench` of the project's own storage, with these options, of this shell script.
fn bench(place: &Place, options: &[&str], script: &str) -> std::process::Command {
    let words = ["bench", "--on", "local", "--repeat", "3"].into_iter();
    let words: Vec<&str> =
        words.chain(options.iter().copied()).chain(["--", "sh", "-c", script]).collect();
    place.forebay(&words)
}

#[test]
fn a_variable_is_set_where_it_is_varied() {
    let place = Place::new();
    let options = ["--vary", "nap=env:NAP=0.4", "--vary", "same=env:OTHER=0.4"];
    let end = done(&mut bench(&place, &options, "echo nap ${NAP:-none} other ${OTHER:-none}"));
    end.code(0);
    told(&end, &["nap: local again, with NAP=\"0.4\"", "same: local again, with OTHER=\"0.4\""]);
    let log = |name: &str| place.read(&format!("bench/1-{name}.log"));
    assert_eq!(log("local"), "nap none other none\n");
    assert_eq!(log("nap"), "nap 0.4 other none\n");
    assert_eq!(log("same"), "nap none other 0.4\n");
}

#[test]
#[ignore = "timing: make timing"]
fn timing_a_variable_has_an_effect_of_its_own() {
    let place = Place::new();
    let options = ["--vary", "nap=env:NAP=0.4", "--vary", "same=env:OTHER=0.4"];
    let end = done(&mut bench(&place, &options, "sleep ${NAP:-0.05}"));
    let text = end.text();
    let row = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("no row {name:?} in:\n{text}"))
    };
    assert!(row("nap ").ends_with("slower"), "{text}");
    // How many times the time of the storage alone: a machine's noise is less than the nap.
    let times = |name: &str| -> f64 {
        let ratio = row(name).split_whitespace().nth(6).and_then(|word| word.parse().ok());
        ratio.unwrap_or_else(|| panic!("no ratio of {name:?} in:\n{text}"))
    };
    assert!(times("same ") * 2.0 < times("nap "), "{text}");
}

#[test]
fn rules_are_varied() {
    let place = Place::new();
    let tier = place.all.join("tier");
    std::fs::create_dir(&tier).expect("a directory");
    let site = place.all.join("site.toml");
    let text = format!("[tier.far]\npath = {:?}\nreach = \"node\"\n", tier.display().to_string());
    std::fs::write(&site, text).expect("a site");
    let rules = place.all.join("rules.toml");
    std::fs::write(&rules, "[[rule]]\nmatch = \"**\"\nhome = \"far\"\n").expect("rules");
    let vary = format!("away=rules:{},{}", rules.display(), site.display());
    // Where the body of a file is, a look at the tier tells: it is one of its own for each run.
    let script =
        format!("echo ACGT > reads; find {} -type f -size 5c | wc -l; cat reads", tier.display());
    done(&mut bench(&place, &["--vary", &vary], &script)).code(0);
    let log = |name: &str| {
        std::fs::read_to_string(place.project.join(format!("bench/1-{name}.log"))).expect("a log")
    };
    assert_eq!(log("local").split_whitespace().collect::<Vec<_>>(), ["0", "ACGT"]);
    assert_eq!(log("away").split_whitespace().collect::<Vec<_>>(), ["1", "ACGT"]);
}

#[test]
fn what_cannot_be_varied_is_said() {
    let place = Place::new();
    for (vary, words) in [
        ("x", "what is changed"),
        ("local=env:A=b", "named twice"),
        ("x=disk:fast", "no \"disk\" to vary"),
        ("x=rules:none.toml", "none.toml"),
    ] {
        done(&mut bench(&place, &["--vary", vary], "true")).code(2).says(words);
    }
}
