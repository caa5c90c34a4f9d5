//! What goes in and comes out of the command is untouched, and so is its world.

use std::io::Write;
use std::process::Stdio;

use crate::place::{PATIENCE, Place, done, finish};

#[test]
fn bytes_pass_through_unchanged() {
    let Some(place) = Place::with_fuse() else { return };
    let bytes: Vec<u8> = (0..1_000_003u32).map(|n| (n ^ (n >> 8)) as u8).collect();
    let mut run = place.script(&["-q"], "cat");
    let mut child = run
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("a pipe");
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent));
    let end = finish(child, PATIENCE);
    writer.join().expect("no panic").expect("all was taken");
    end.code(0);
    assert!(end.stdout == bytes, "{} bytes came back of {}", end.stdout.len(), bytes.len());
    assert_eq!(end.stderr, "");
    place.nothing_left();
}

#[test]
fn standard_output_in_a_covered_file() {
    let Some(place) = Place::with_fuse() else { return };
    let out = std::fs::File::create(place.project.join("out.txt")).expect("created");
    let script = "echo one; cat out.txt > seen; echo two; sleep 0.02; cat out.txt >> seen";
    let child = place.script(&["-q"], script).stdout(out).stderr(Stdio::piped()).spawn();
    finish(child.expect("started"), PATIENCE).code(0);
    assert_eq!(place.read("out.txt"), "one\ntwo\n");
    assert_eq!(place.read("seen"), "one\none\ntwo\n", "what was read while it grew");
    place.nothing_left();
}

#[test]
fn environment_umask_and_directory_are_kept() {
    let Some(place) = Place::with_fuse() else { return };
    let run = place.script(&["-q"], "umask; pwd; echo $MARK; : > made; cd ..; pwd");
    let end = done(place.after("umask 027", &run).env("MARK", "a b\tc"));
    let (project, all) = (place.project.display(), place.all.display());
    assert_eq!(end.code(0).text(), format!("0027\n{project}\na b c\n{all}\n"));
    assert_eq!(place.mode(&place.project.join("made")), 0o640);
    place.nothing_left();
}

#[test]
fn a_small_limit_of_open_files_is_enough() {
    let Some(place) = Place::with_fuse() else { return };
    let script =
        "ulimit -n; for i in $(seq 300); do echo $i > f$i; done; cat f* | wc -l; rm f*; ls";
    let run = place.script(&["-q"], script);
    let end = done(&mut place.after("ulimit -n 64", &run));
    assert_eq!(end.code(0).text(), "64\n300\n", "{}", end.stderr);
    place.nothing_left();
}

#[test]
fn quiet_says_nothing_and_json_says_json() {
    let Some(place) = Place::with_fuse() else { return };
    let quiet = done(&mut place.script(&["--quiet"], "echo hi > a"));
    assert_eq!((quiet.code(0).stderr.as_str(), quiet.text().as_str()), ("", ""));
    let end = done(&mut place.script(&["--json"], "cat a"));
    assert_eq!(end.code(0).text(), "hi\n", "the command's own output stays alone");
    let parsed: serde_json::Value = serde_json::from_str(&end.stderr).expect("one line of JSON");
    assert!(parsed.is_object());
    let run = place.run.to_str().expect("a plain name");
    let again = done(&mut place.forebay(&["summary", "--json", run]));
    let again: serde_json::Value = serde_json::from_slice(&again.code(0).stdout).expect("JSON");
    assert_eq!(again, parsed, "the summary of a run is the same at any time");
    place.nothing_left();
}
