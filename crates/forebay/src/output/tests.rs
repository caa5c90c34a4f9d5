//! If these fail, what somebody wrote is lost to a result, or a device is.

use std::os::unix::fs::{FileTypeExt, symlink};

use super::*;

const NO: Force = Force { force: false };
const YES: Force = Force { force: true };

fn claim(path: &Path, made: OutputKind, force: Force) -> Result<OutputTarget, String> {
    OutputTarget::claim(path, made, force).map_err(|stop| stop.message)
}

#[test]
fn what_nobody_would_miss_is_replaced() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = dir.path().join("rules.toml");
    let own = seal_text(format!("# {UNSEALED}\na = 1\n"));
    claim(&at, OutputKind::Text, NO).expect("free").write(own.as_bytes()).expect("written");
    assert!(claim(&at, OutputKind::Text, NO).is_ok(), "its own");
    assert!(claim(&at, OutputKind::Run, NO).is_err(), "a run is no rules file");
    for theirs in ["notes of mine\n", &own.replace("a = 1", "a = 2")] {
        fs::write(&at, theirs).expect("written");
        let why = claim(&at, OutputKind::Text, NO).expect_err("somebody's");
        assert!(why.contains("would be lost"), "{why}");
        assert!(claim(&at, OutputKind::Text, YES).is_ok());
    }
    fs::write(&at, "").expect("emptied");
    assert!(claim(&at, OutputKind::Other, NO).is_ok(), "as mktemp leaves it");
    assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 1, "nothing in part");
}

#[test]
fn places_where_nothing_can_be_are_told_before() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    symlink("b", at("a")).expect("a link");
    symlink("a", at("b")).expect("a link");
    for (name, says) in [
        (".", "it is a directory"),
        ("none/x", "its directory is not there"),
        ("new/", "its directory is not there"),
        ("a", "in a circle"),
    ] {
        let why = claim(&at(name), OutputKind::Run, YES).expect_err(name);
        assert!(why.contains(says), "{name}: {why}");
    }
}

#[test]
fn a_link_stays_and_its_target_is_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("far")).expect("a directory");
    symlink("far/b", at("a")).expect("a link");
    symlink("c", at("far/b")).expect("a link");
    for text in ["one", "two"] {
        let place = claim(&at("a"), OutputKind::Other, YES).expect("a place");
        place.write(text.as_bytes()).expect("written");
        assert_eq!(fs::read_to_string(at("far/c")).expect("the target"), text);
    }
    assert!(at("a").is_symlink() && at("far/b").is_symlink());
}

#[test]
fn devices_and_pipes_are_written_to_as_they_are() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&at).status().expect("mkfifo is there");
    assert!(made.success());
    let reader = std::thread::spawn({
        let at = at.clone();
        move || fs::read(at).expect("read")
    });
    let place = claim(&at, OutputKind::Run, NO).expect("a place");
    place.write(b"all of it").expect("written");
    assert_eq!(reader.join().expect("read"), b"all of it");
    assert!(fs::symlink_metadata(&at).expect("there").file_type().is_fifo(), "it was replaced");
    for name in ["/dev/null", "/dev/full", "/dev/stdout", "/proc/self/fd/1"] {
        let place = claim(Path::new(name), OutputKind::Run, NO).expect(name);
        assert!(matches!(place, OutputTarget::Stream(_)), "{name}: {place:?}");
    }
    let full = claim(Path::new("/dev/full"), OutputKind::Text, NO).expect("a place");
    assert!(full.write(b"x").is_err_and(|stop| stop.message.contains("space")));
}
