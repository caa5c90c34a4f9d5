//! `-o`, everywhere: one policy. If these fail, notes, rules made by hand, a link or a device are
//! lost to a result.

use std::os::unix::fs::{FileTypeExt, symlink};

use crate::made;
use crate::place::{Done, FOREBAY, Place, done};

const STUDY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/genomon-corun");
const TRACE: &str = include_str!("../../../plan/src/import/samples/nextflow.txt");
const NOTES: &str = "notes of mine\n";

/// Commands that write where -o says and need no mount.
fn commands() -> Vec<Vec<&'static str>> {
    vec![
        vec!["simulate", STUDY],
        vec!["report", "one-task.run"],
        vec!["export", STUDY],
        vec!["sample", "--for", "100ms"],
        vec!["import", "nextflow", "../trace.txt"],
        vec!["probe", "--time", "5s", "--bytes", "8MiB", "."],
    ]
}

fn place() -> Place {
    let place = Place::new();
    made::named(&place.project, "one-task").expect("known").expect("a run");
    std::fs::write(place.all.join("trace.txt"), TRACE).expect("written");
    place
}

fn to(place: &Place, words: &[&str], more: &[&str]) -> Done {
    done(&mut place.forebay(&[words, &["-o"], more].concat()))
}

#[test]
fn what_somebody_wrote_is_lost_to_no_command() {
    let place = place();
    for words in commands() {
        std::fs::write(place.project.join("notes.txt"), NOTES).expect("written");
        let told = to(&place, &words, &["notes.txt"]);
        told.code(1).says("notes.txt").says("would be lost").says("--force");
        assert_eq!(place.read("notes.txt"), NOTES, "{words:?}");
        to(&place, &words, &["notes.txt", "--force"]).code(0);
        let written = std::fs::read(place.project.join("notes.txt")).expect("a file");
        assert!(written != NOTES.as_bytes(), "{words:?}");
        // Its own, which nobody changed since, it replaces.
        to(&place, &words, &["notes.txt"]).code(0);
        let left = std::fs::read_dir(&place.project).expect("listed").count();
        assert_eq!(left, 2, "{words:?} left something beside it");
    }
}

#[test]
fn a_link_stays_a_link_for_every_command() {
    let place = place();
    for words in commands() {
        let link = place.project.join("link");
        symlink("../target", &link).expect("a link");
        to(&place, &words, &["link"]).code(0);
        assert!(link.is_symlink(), "{words:?} replaced the link");
        assert!(std::fs::metadata(&link).expect("its target").len() > 100, "{words:?}");
        std::fs::remove_file(&link).expect("removed");
        std::fs::remove_file(place.all.join("target")).expect("removed");
        symlink("/dev/null", &link).expect("a link");
        to(&place, &words, &["link"]).code(0);
        assert!(link.is_symlink(), "{words:?} replaced the link");
        std::fs::remove_file(&link).expect("removed");
        let pipe = format!("{FOREBAY} {} -o /dev/stdout | cat > ../piped", words.join(" "));
        done(place.program("bash").args(["-o", "pipefail", "-c", &pipe])).code(0);
        assert!(place.all.join("piped").metadata().expect("a file").len() > 100, "{words:?}");
    }
    let null = std::fs::metadata("/dev/null").expect("there").file_type();
    assert!(null.is_char_device(), "the device was replaced");
}

#[test]
fn a_run_goes_to_pipes_devices_and_links_and_over_no_notes() {
    let Some(place) = Place::with_fuse() else { return };
    let run = |output: &str| {
        done(&mut place.forebay(&["run", "-q", "-o", output, "--", "sh", "-c", "echo x > made"]))
    };
    std::fs::write(place.project.join("notes.txt"), NOTES).expect("written");
    run("notes.txt").code(125).says("no run file").says("--force");
    assert_eq!(
        (place.read("notes.txt").as_str(), place.project.join("made").exists()),
        (NOTES, false)
    );
    for target in ["/dev/null", "../far.run"] {
        symlink(target, place.project.join("link.run")).expect("a link");
        run("link.run").code(0);
        assert!(place.project.join("link.run").is_symlink(), "{target}");
        std::fs::remove_file(place.project.join("link.run")).expect("removed");
    }
    done(&mut place.forebay(&["summary", "../far.run"])).code(0);
    // The same again: its own run is replaced.
    run("../far.run").code(0);
    let piped = format!("{FOREBAY} run -q -o /dev/stdout -- true | cat > ../piped.run");
    done(place.program("sh").args(["-c", &piped])).code(0);
    done(&mut place.forebay(&["summary", "../piped.run"])).code(0);
    // What goes behind the command's own words goes behind them.
    let both = format!("{FOREBAY} run -q -o /dev/stdout -- echo words > ../both");
    done(place.program("sh").args(["-c", &both])).code(0);
    let both = std::fs::read(place.all.join("both")).expect("a file");
    assert!(
        both.starts_with(b"words\nSQLite format 3"),
        "{}",
        String::from_utf8_lossy(&both[..20])
    );
    place.nothing_left();
    // A device that takes nothing is no reason for another status, and the run is not lost.
    let end = run("/dev/full");
    end.code(0).says("/dev/full did not take the run").says("it is in ");
    let kept = std::fs::read_dir(place.state.join("forebay")).expect("listed").flatten();
    assert_eq!(kept.filter(|file| file.path().is_file()).count(), 1);
}
