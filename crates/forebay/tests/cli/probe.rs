//! A storage measured from the command line. If these fail, somebody plans with numbers that their
//! storage does not have, or finds the probe's files on it.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::place::{PATIENCE, Place, USER, done, finish, wait_until};

const LONG: Duration = Duration::from_secs(90);

#[track_caller]
fn nothing_left(dir: &Path) {
    let left: Vec<_> = std::fs::read_dir(dir).expect("there").flatten().collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// The value of a number of the profile.
fn number(data: &Value, key: &str) -> Option<f64> {
    let all = data["profile"].as_array().expect("numbers");
    all.iter().find(|number| number["key"] == key)?["value"].as_f64()
}

#[test]
#[ignore = "timing: make timing"]
fn timing_a_storage_of_5_ms_and_125_mib_a_second_is_found_to_be_one() {
    let Some(place) = Place::with_fuse().map(Place::alone) else { return };
    let slow = place.all.join("slow");
    std::fs::create_dir(&slow).expect("a directory");
    let at = slow.to_str().expect("a plain name");
    done(&mut place.forebay(&["mount", "--emulate", "5ms,125MiB/s", at, at])).code(0);
    let words = ["probe", "--time", "25s", "--bytes", "480MiB", "--json", "-o", "slow.toml", at];
    let mut command = place.forebay(&words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let end = finish(child, LONG);
    nothing_left(&slow);
    done(&mut place.forebay(&["unmount", at])).code(0);
    end.code(0).says("simulated, ");
    let data: Value = serde_json::from_slice(&end.stdout).expect("data");
    for op in [
        "lookup_failed",
        "lookup",
        "getattr",
        "create",
        "open",
        "setattr",
        "rename",
        "unlink",
        "mkdir",
        "rmdir",
        "opendir",
        "readdir",
        "symlink",
        "readlink",
        "link",
        "xattr",
        "truncate",
        "fsync",
        "fsyncdir",
    ] {
        let price = number(&data, &format!("latency.{op}")).unwrap_or(0.0);
        assert!((price / 5e-3 - 1.0).abs() < 0.15, "{op}: {price} s\n{data:#}");
    }
    // A close waits for nothing there.
    assert!(number(&data, "latency.flush").expect("a price") < 1e-3);
    for all in ["read.all", "write.all"] {
        let rate = number(&data, all).unwrap_or(0.0) / f64::from(125 << 20);
        assert!((rate - 1.0).abs() < 0.15, "{all}: {rate}\n{data:#}");
    }
    let text = place.read("slow.toml");
    for words in
        ["reach = \"shared\"", "[profile.latency]", "node = \"1", "source = \"forebay probe, "]
    {
        assert!(text.contains(words), "{words:?} is not in:\n{text}");
    }
    place.nobody_left();
}

#[test]
fn a_probe_takes_no_more_than_it_may_and_says_what_it_saw() {
    let place = Place::new();
    let words = ["probe", "--operations", "2500", "--bytes", "80MiB", "."];
    let end = done(&mut place.forebay(&words));
    end.code(0).says("operations, ").says("than measured, and the other");
    nothing_left(&place.project);
    let text = end.text();
    for words in ["about = \"probe of ", "reach = ", "lookup_failed = \"", "fsync = \"", " to "] {
        assert!(text.contains(words), "{words:?} is not in:\n{text}");
    }
    let words = [&words[..5], &["--json", "."]].concat();
    let end = done(&mut place.forebay(&words));
    let data: Value = serde_json::from_slice(&end.stdout).expect("data alone");
    assert!(data["operations"].as_u64().is_some_and(|used| (500..=2500).contains(&used)));
    assert!(data["bytes"].as_u64().is_some_and(|used| used <= 80 << 20));
    let figures = data["figures"].as_array().expect("figures");
    for figure in figures {
        let rounds = figure["rounds"].as_u64().expect("a count");
        assert_eq!(figure["seconds"].as_array().map(Vec::len), Some(rounds as usize));
        let (low, high) = (&figure["interval"]["low"], &figure["interval"]["high"]);
        let median = figure["median_seconds"].as_f64().expect("a median");
        assert!(low.as_f64() <= Some(median) && Some(median) <= high.as_f64(), "{figure}");
        assert_eq!(figure["interval"]["range"].as_bool(), Some(rounds < 6), "{figure}");
    }
    let threads = |name: &str| -> Vec<u64> {
        let of = figures.iter().filter(|figure| figure["name"] == name);
        of.filter_map(|figure| figure["threads"].as_u64()).collect()
    };
    assert_eq!(threads("names: stat, create, close, stat, unlink"), [1, 2, 4, 8, 16]);
    assert!(data["largest_difference"].is_f64());
    nothing_left(&place.project);
}

#[test]
fn reads_that_memory_answers_are_left_out() {
    let Some(place) = Place::with_root() else { return };
    // Memory is all that is there, and it can't be gone around.
    let here = place.project.display();
    let command = place.forebay(&["probe", "--operations", "2500", "--bytes", "40MiB", "."]);
    let end = done(&mut place.apart(&format!("mount -t ramfs none {here}; cd {here}"), &command));
    end.code(0).says("reads: answered by memory");
    let has = |text: &str, key: &str| text.lines().any(|line| line.starts_with(key));
    for key in ["read = ", "read_random = "] {
        assert!(!has(&end.text(), key), "{}", end.text());
    }
    assert!(has(&end.text(), "write = "), "{}", end.text());
}

#[test]
fn who_interrupts_a_probe_finds_nothing_left_of_it() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let place = Place::new();
        let mut command = place.forebay(&["probe", "-o", "tier.toml", "."]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let heeds_signals = || {
            // SAFETY: a plain number and a default action.
            unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
            Ok(())
        };
        // SAFETY: what runs between fork and exec calls `signal` alone, which may be called there.
        unsafe { command.pre_exec(heeds_signals) };
        let child = command.spawn().expect("started");
        let entries = || std::fs::read_dir(&place.project).expect("there").count();
        wait_until("it has begun", || entries() > 0);
        // SAFETY: plain numbers.
        unsafe { libc::kill(child.id() as i32, signal) };
        let end = finish(child, PATIENCE);
        end.code(128 + signal).says("interrupted; nothing is left");
        assert_eq!(end.text(), "");
        nothing_left(&place.project);
    }
}

#[test]
fn what_cannot_be_probed_is_refused_with_its_reason() {
    let place = Place::new();
    std::fs::write(place.all.join("file"), "notes\n").expect("written");
    let wrong = |words: &[&str], code: i32, says: &[&str]| {
        let words: Vec<&str> = ["probe"].iter().chain(words).copied().collect();
        let end = done(&mut place.forebay(&words));
        says.iter().for_each(|says| {
            end.code(code).says(says);
        });
        assert_eq!(end.text(), "", "nothing is printed that could be taken for a profile");
    };
    wrong(&["/no/such/place"], 1, &["/no/such/place: No such file", "name a directory"]);
    wrong(&["../file"], 1, &["../file: is no directory"]);
    wrong(&["--bytes", "5GiB", "."], 2, &["5.0 GiB is much for a probe of .", "--yes"]);
    wrong(&["--bytes", "1PiB", "--yes", "."], 1, &["are more than a tenth of it", "--bytes"]);
    wrong(&["--time", "0s", "."], 1, &["--time ended the probe before its first round"]);
    wrong(&["--operations", "20", "."], 1, &["--operations ended the probe"]);
    wrong(&["--operations", "0", "."], 2, &["0 is not in"]);
    wrong(&["--bytes", "many", "."], 2, &["has no unit of bytes"]);
    wrong(
        &["-o", "../file", "."],
        1,
        &["../file: what is there was not written by Forebay", "--force"],
    );
    nothing_left(&place.project);
}

#[test]
fn storage_that_is_read_only_full_or_of_others_is_left_as_it_is() {
    let Some(place) = Place::with_root() else { return };
    let probe = |prepare: &str, says: &[&str]| {
        let command = place.forebay(&["probe", "--bytes", "1MiB", "."]);
        let end = done(&mut place.apart(prepare, &command));
        says.iter().for_each(|says| {
            end.code(1).says(says);
        });
        assert_eq!(end.text(), "");
    };
    let here = place.project.display();
    let read_only =
        format!("mount --bind {here} {here}; mount -o remount,bind,ro {here}; cd {here}");
    probe(&read_only, &["is mounted read-only"]);
    let no_names = format!("mount -t tmpfs -o size=64m,nr_inodes=12 none {here}; cd {here}");
    probe(&no_names, &["No space left on device", "free some room"]);
    let no_room =
        format!("mount -t tmpfs -o size=64m none {here}; cd {here}; head -c 60m /dev/zero >x");
    probe(&no_room, &["are more than a tenth of it"]);
    let mut command = place.forebay(&["probe", "."]);
    let binary = place.give_to_user();
    std::os::unix::fs::chown(&place.project, Some(0), Some(0)).expect("taken back");
    command = {
        let mut other = place.program(binary);
        other.args(command.get_args());
        other
    };
    command.uid(USER).gid(USER);
    done(&mut command).code(1).says("Permission denied").says("that is yours");
    nothing_left(&place.project);
}
