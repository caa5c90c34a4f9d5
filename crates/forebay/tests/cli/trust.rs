//! Names and attributes that rules let a run believe. If these fail, a program reads an old file
//! that it has just opened, or a directory shows another time than that of its last change.

use crate::place::{Place, done};

const RULES: &str = "[[rule]]\nmatch = \"small/**\"\nhome = \"far\"\nlayout = \"packed\"\n\
                     [[metadata_cache]]\nmatch = \"**\"\ntimeout = \"1 min\"\n";

fn place() -> Option<Place> {
    let place = Place::with_fuse()?;
    let far = place.all.join("far");
    std::fs::create_dir(&far).expect("made");
    let site = format!("[tier.far]\npath = \"{}\"\nreach = \"node\"\n", far.display());
    std::fs::write(place.all.join("site.toml"), site).expect("written");
    std::fs::write(place.all.join("rules.toml"), RULES).expect("written");
    Some(place)
}

const OPTIONS: [&str; 5] = ["-q", "--site", "../site.toml", "--rules", "../rules.toml"];

#[test]
fn who_opens_a_trusted_file_gets_it_as_it_is() {
    let Some(place) = place() else { return };
    let file = place.project.join("notes");
    std::fs::write(&file, "old\n").expect("written");
    let script = "stat -c %s notes; cat notes; echo > ../go
        while [ ! -e ../on ]; do sleep 0.01; done; cat notes; stat -c %s notes
        echo more >> notes; stat -c %s notes";
    let run = place.script(&OPTIONS, script).stdout(std::process::Stdio::piped()).spawn();
    let run = run.expect("started");
    place.wait_for("go");
    std::fs::write(&file, "much newer\n").expect("written");
    std::fs::write(place.all.join("on"), "").expect("written");
    let end = run.wait_with_output().expect("ended");
    let told = String::from_utf8_lossy(&end.stdout).into_owned();
    assert_eq!(told, "4\nold\nmuch newer\n11\n16\n");
}

#[test]
fn a_directory_has_the_time_of_its_last_packed_change() {
    let Some(place) = place() else { return };
    let script = "mkdir small; touch -d '2020-02-02 02:02:02 UTC' small; stat -c %Y small
        sleep 1.2; date +%s > ../began; echo > small/a; stat -c %Y small > ../made
        touch -d '2021-01-01 00:00:00 UTC' small; stat -c %Y small
        sleep 1.2; rm small/a; stat -c %Y small > ../removed";
    let end = done(&mut place.script(&OPTIONS, script));
    assert_eq!(end.code(0).text(), "1580608922\n1609459200\n", "{}", end.stderr);
    let told = |name: &str| {
        let text = std::fs::read_to_string(place.all.join(name)).expect("there");
        text.trim().parse::<i64>().expect("a time")
    };
    assert!(told("made") >= told("began") && told("removed") > told("made"));
    let meta = std::fs::metadata(place.project.join("small")).expect("there");
    assert_eq!(std::os::unix::fs::MetadataExt::mtime(&meta), told("removed"), "in place, too");
}
