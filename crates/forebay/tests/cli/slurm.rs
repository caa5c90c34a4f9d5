//! Questions to a cluster whose Slurm does not answer. If these fail, whoever asks it stands for a
//! minute and more, and an administrator gets no lines at all.

use crate::place::{Place, done};
use std::process::Command;

/// A place whose Slurm's programs take a question and never answer.
fn with_silent_slurm() -> Place {
    let place = Place::new();
    let programs = place.all.join("bin");
    std::fs::create_dir(&programs).expect("made");
    for program in ["scontrol", "sinfo", "srun"] {
        let path = programs.join(program);
        let script =
            format!("#!/bin/sh\necho $$ >> {}/asked\nexec sleep 1000000\n", place.all.display());
        std::fs::write(&path, script).expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("it can be run");
    }
    place
}

fn asking(place: &Place, words: &[&str]) -> Command {
    let mut command = place.forebay(words);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", place.all.join("bin").display()));
    command
}

/// How many wrote that they were asked before they were ended; none of them is left.
fn asked_and_ended(place: &Place) -> usize {
    let text = std::fs::read_to_string(place.all.join("asked")).unwrap_or_default();
    std::fs::remove_file(place.all.join("asked")).ok();
    for pid in text.lines() {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is left");
    }
    text.lines().count()
}

#[test]
fn lines_are_printed_without_a_cluster_that_does_not_answer() {
    let place = with_silent_slurm();
    let told = done(&mut asking(&place, &["slurm", "print", "--low", "low", "--patience", "1 s"]));
    told.code(0).says("scontrol show config did not answer within 1.0 s");
    told.says("without what the cluster has").says("slurmctld");
    assert!(told.text().contains("# ---- forebay.conf ----"), "{}", told.text());
    assert!(told.text().contains("PartitionName=low"), "{}", told.text());
    assert!(asked_and_ended(&place) <= 1, "after the first nothing else is asked");
    // Where there is no Slurm, it says so, too.
    let mut alone = place.forebay(&["slurm", "print", "--low", "low"]);
    let told = done(alone.env("PATH", place.all.join("none")));
    told.code(0).says("scontrol show config can't be started").says("without what the cluster has");
}

#[test]
fn a_cluster_that_does_not_answer_is_named_by_what_was_asked() {
    let place = with_silent_slurm();
    let told = done(&mut asking(&place, &["slurm", "check", "--low", "low", "--patience", "1 s"]));
    told.code(1).says("scontrol show config did not answer within 1.0 s").says("--patience");
    assert!(asked_and_ended(&place) <= 1);
    let told = done(&mut asking(&place, &["doctor", "--cluster", "--patience", "1 s"]));
    told.code(1).says("sinfo did not answer within 1.0 s").says("--patience");
    assert!(asked_and_ended(&place) <= 1);
}
