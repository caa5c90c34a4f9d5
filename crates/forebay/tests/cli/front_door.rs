//! What people type at first. If these fail, they get an error of usage where it was clear what
//! they wanted, or nothing where they may not look.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use crate::made;
use crate::place::{Done, Place, USER, done};

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("listed").flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_command_needs_no_dashes_and_none_is_told() {
    let Some(place) = Place::with_fuse() else { return };
    let words = ["run", "-q", "-o", "../out.run", "sh", "-c", "echo \"$@\"", "x", "-q", "--", "-o"];
    assert_eq!(done(&mut place.forebay(&words)).code(0).text(), "-q -- -o\n");
    let none = done(&mut place.forebay(&["run", "-q"]));
    none.code(2).says("A command is missing").says("forebay run snakemake --cores 8");
    place.nothing_left();
}

#[test]
fn runs_are_kept_found_listed_and_cleaned() {
    let Some(place) = Place::with_fuse() else { return };
    let forebay = |words: &[&str]| -> Done { done(&mut place.forebay(words)) };
    for words in [&["summary"][..], &["report"]] {
        forebay(words).code(1).says("no run was named").says("forebay run COMMAND");
    }
    forebay(&["list"]).code(0).says("no run is kept");
    for number in ["one", "two", "three"] {
        forebay(&["run", "-q", "sh", "-c", &format!("echo {number} > made")]).code(0);
    }
    let runs = place.project.join(".forebay/runs");
    let kept = names(&runs);
    assert_eq!(kept.len(), 3);
    // A name sorts by the second: of several in one the newest is by chance.
    let newest = format!("the newest run here is .forebay/runs/{}", kept[2]);
    let told = forebay(&["summary"]);
    assert!(told.code(0).says(&newest).text().contains("sh"), "{}", told.text());
    forebay(&["report"]).code(0).says(&newest).says("the report is in report.html");
    forebay(&["report", "-q"]).code(2);
    let json = forebay(&["report", ".", "--json"]).code(0).text();
    assert!(kept.iter().all(|name| json.contains(name.as_str())), "not all runs are in {json}");
    forebay(&["report", ".forebay/runs", "-o", "all.html"]).code(0);
    let listed = forebay(&["list"]).code(0).text();
    assert_eq!(listed.lines().count(), 4, "{listed}");
    assert!(listed.contains("started (UTC)") && listed.contains(&kept[0]), "{listed}");
    let json: serde_json::Value =
        serde_json::from_str(&forebay(&["list", "--json"]).code(0).text()).expect("JSON");
    assert_eq!(json["runs"][2]["path"], format!("./.forebay/runs/{}", kept[2]));
    assert!(json["runs"][0]["took_us"].as_u64() > Some(0), "{json}");
    forebay(&["clean"]).code(2).says("--keep");
    forebay(&["clean", "--keep", "2", "--dry-run"]).code(0).says("1 runs").says("would be removed");
    assert_eq!(names(&runs), kept);
    forebay(&["clean", "--keep", "2"]).code(0).says("were removed, 2 stay");
    assert_eq!(names(&runs), kept[1..]);
    std::fs::write(runs.join("notes.run"), "mine\n").expect("written");
    forebay(&["clean", "--keep", "1"]).code(0);
    assert_eq!(names(&runs), [kept[2].as_str(), "notes.run"]);
}

#[test]
fn a_script_of_here_is_found_by_bench() {
    let Some(place) = Place::with_fuse() else { return };
    let script = place.project.join("pipeline.sh");
    std::fs::write(&script, "#!/bin/sh\necho x > made\n").expect("written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("set");
    let on = format!("here={}", place.all.display());
    let words = ["bench", "--on", &on, "--repeat", "1", "--", "./pipeline.sh"];
    done(&mut place.forebay(&words)).code(0);
}

#[test]
fn a_site_names_what_probe_wrote() {
    let place = Place::new();
    made::named(&place.project, "measured").expect("known").expect("a run");
    std::fs::create_dir(place.project.join("sites")).expect("made");
    let tier = "about = 'a test'\nreach = 'node'\n[profile]\nsource = 'a test'\n";
    std::fs::write(place.project.join("sites/shm.toml"), tier).expect("written");
    let site = |profile: &str| {
        let text = format!("[nodes]\ncount = 1\ncores = 4\n[tier.shm]\nprofile = '{profile}'\n");
        std::fs::write(place.project.join("sites/site.toml"), text).expect("written");
        done(&mut place.forebay(&["plan", "measured.run", "--site", "sites/site.toml"]))
    };
    site("shm.toml").code(0);
    site("none.toml").code(1).says("sites/site.toml:5:11").says("none.toml can't be read: No such");
    std::fs::write(place.project.join("sites/bad.toml"), "about = 1\n").expect("written");
    site("bad.toml").code(1).says("bad.toml:1:");
}

#[test]
fn what_may_not_be_looked_into_is_told() {
    let Some(place) = Place::with_root() else { return };
    let binary = place.give_to_user();
    let closed = place.project.join("closed");
    std::fs::create_dir_all(closed.join("below")).expect("made");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).expect("closed");
    let as_user = |words: &[&str]| {
        let mut command = place.program(&binary);
        done(command.args(words).uid(USER).gid(USER))
    };
    for (words, says) in [
        (["check", "closed"], "closed can't be read: Permission denied"),
        (["restore", "closed"], "closed can't be read: Permission denied"),
        (["check", "."], "closed of . may not be looked into: Permission denied"),
        (["restore", "."], "closed of . may not be looked into: Permission denied"),
        (["explain", "closed/a.run"], "check that you may read it"),
        (["list", "closed"], "can't be read: Permission denied"),
    ] {
        as_user(&words).code(1).says(says);
    }
    as_user(&["doctor", "--salvage", "closed/a.run", "-o", "b.run"]).code(1);
}
