//! What Forebay of commit 1aa93b7 left on disk, kept in `tests/kept/1aa93b7.tar.gz`: a volume in a
//! bucket with the state directory of a machine that unmounted it and of one that was killed, a
//! tier with files of a run that was killed, run files, a read archive. If these fail, an update
//! shuts people out from what they have.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::bucket::Volume;
use crate::place::{Place, done};
use crate::s3::Server;

/// The tier's directory, as the run that was killed knew it.
const TIER: &str = "/var/tmp/kept/fast";

pub(crate) fn unpack(folder: &Path) {
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kept/1aa93b7.tar.gz");
    let mut tar = Command::new("tar");
    // As an ordinary user's own, where it is one who unpacks.
    tar.arg("-xzf").arg(archive).arg("--no-same-owner").arg("-C").arg(folder);
    done(&mut tar).code(0);
}

/// The kept bucket, and its two state directories.
fn volume() -> Option<Volume> {
    Volume::with(|buckets| {
        let all = buckets.parent().expect("a place");
        unpack(all);
        Server::start(buckets, Duration::ZERO)
    })
}

const NUMBERS: &str = "eabd06e5a4dc0be37040657fcf338eef77adedac  a/deep/numbers\n";

#[test]
fn a_volume_that_was_unmounted_is_mounted_again() {
    let Some(volume) = volume() else { return };
    let at = volume.at();
    volume.mount("state.clean", &at);
    assert_eq!(volume.sh(&at, "cat a/link; stat -c %a:%h a/one; wc -c < empty"), "one\n640:2\n0\n");
    assert_eq!(volume.sh(&at, "sha1sum a/deep/numbers"), NUMBERS);
    volume.sh(&at, "echo three > a/three");
    volume.unmount(&at).code(0);
    let there = volume.there();
    volume.try_mount("new", &["--take-over"], &there).code(0);
    assert_eq!(volume.sh(&there, "cat a/three a/other; sha1sum a/deep/numbers").lines().count(), 3);
    volume.unmount(&there).code(0);
    volume.place.nobody_left();
}

#[test]
fn a_volume_whose_machine_was_killed_is_as_the_bucket_has_it_and_newer_bytes_are_kept() {
    let Some(volume) = volume() else { return };
    let at = volume.at();
    volume.try_mount("state.killed", &[], &at).code(0).says("a/one, a/two, a/other");
    assert_eq!(volume.sh(&at, "cat a/one; ls a; sha1sum a/deep/numbers").lines().count(), 6);
    volume.unmount(&at).code(0);
    let kept = volume.place.all.join("state.killed/kept/1/a");
    assert_eq!(std::fs::read_to_string(kept.join("one")).expect("kept"), "one\nmore\n");
    assert_eq!(std::fs::read_to_string(kept.join("two")).expect("kept"), "two\n");
    volume.place.nobody_left();
}

/// All links below `folder`.
fn links(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.file_type().expect("a type") {
            kind if kind.is_dir() => links(&entry.path(), found),
            kind if kind.is_symlink() => found.push(entry.path()),
            _ => {}
        }
    }
}

#[test]
fn files_on_a_tier_of_a_killed_run_come_home() {
    let place = Place::new();
    unpack(&place.all);
    let (work, tier) = (place.all.join("room-work"), place.all.join("room-fast"));
    // As if the tier had always been here.
    let moved = |text: &str| text.replace(TIER, tier.to_str().expect("a plain name"));
    let mut placed = Vec::new();
    links(&work, &mut placed);
    placed.retain(|link| {
        let target = std::fs::read_link(link).expect("a link");
        let body = target.starts_with(TIER);
        if body {
            std::fs::remove_file(link).expect("removed");
            symlink(moved(target.to_str().expect("a plain name")), link).expect("made");
        }
        body
    });
    assert_eq!(placed.len(), 5, "{placed:?}");
    let book = work.join(".forebay/volume.json");
    std::fs::write(&book, moved(&std::fs::read_to_string(&book).expect("read"))).expect("written");

    done(place.forebay(&["check"]).arg(&work)).code(0).says("all are there and whole");
    done(place.forebay(&["restore"]).arg(&work)).code(0).says("5 files (8.7 KiB) written back");
    assert!(placed.iter().all(|file| !file.is_symlink() && file.is_file()), "{placed:?}");
    let numbers: String = (1..=2000).map(|number| format!("{number}\n")).collect();
    assert_eq!(std::fs::read_to_string(work.join("placed/numbers")).expect("home"), numbers);
    let link = std::fs::read_link(work.join("packed/link")).expect("a program's own link");
    assert_eq!(link, Path::new("../placed/numbers"));
}

#[test]
fn its_runs_are_summed_up_shown_and_simulated() {
    let place = Place::new();
    unpack(&place.all);
    let whole = place.all.join("whole.run");
    let summary = done(place.forebay(&["summary"]).arg(&whole));
    for task in ["\nsort ", "\nseq ", "\nhead "] {
        assert!(summary.code(0).text().contains(task), "{}", summary.text());
    }
    let cut = std::fs::read_dir(place.all.join("cut")).expect("kept").flatten();
    let cut =
        cut.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "run"));
    let page = place.all.join("page.html");
    done(place.forebay(&["report"]).arg(&whole).arg(cut.expect("a run")).arg("-o").arg(&page))
        .code(0);
    assert!(page.metadata().expect("a page").len() > 0);
    let again = done(place.forebay(&["simulate"]).arg(&whole));
    assert!(again.code(0).text().contains("(simulated)"), "{}", again.text());
}

#[test]
fn its_archives_are_read_byte_for_byte() {
    let place = Place::new();
    unpack(&place.all);
    let archive = place.all.join("pair.reads");
    done(place.forebay(&["reads", "verify"]).arg(&archive)).code(0);
    for (mate, sum) in [
        ("1", "4d4722ecbdd6db2bd91a4435b8fd074e7d3feb63dd1b3d6a9a574885f07ddff9"),
        ("2", "dd115c02669012646a8264fa43643b640ba7d85720120a24e58f565df80164d0"),
    ] {
        let cat = done(place.forebay(&["reads", "cat", "--mate", mate]).arg(&archive));
        let file = place.all.join("out");
        std::fs::write(&file, &cat.code(0).stdout).expect("written");
        let end = done(Command::new("sha256sum").arg(&file));
        assert!(end.text().starts_with(sum), "{}", end.text());
    }
}
