//! `forebay sample` on a machine without a mount. If these fail, what a server did is lost when the
//! one who looked is killed, or is told for another time.

use std::process::{Child, Stdio};

use crate::place::{Place, done, finish, wait_until};

/// Sampling five times a second, after its first samples are in the file.
fn sampling(place: &Place, more: &[&str]) -> Child {
    let words = [&["sample", "--every", "200ms", "-o", "../out.run"], more].concat();
    let mut command = place.forebay(&words);
    let child = command.stderr(std::process::Stdio::piped()).spawn().expect("started");
    wait_until("two samples are there", || samples(&place.run) >= 2);
    child
}

/// Samples in a file; while it is made it is no run yet.
fn samples(file: &std::path::Path) -> i64 {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let count = "SELECT count(*) FROM samples";
    rusqlite::Connection::open_with_flags(file, flags)
        .and_then(|file| file.query_row(count, [], |row| row.get(0)))
        .unwrap_or(0)
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: the child was not waited for, so the number is its.
    unsafe { libc::kill(child.id() as i32, signal) };
}

#[test]
fn a_signal_ends_it_with_a_whole_file() {
    for number in [libc::SIGINT, libc::SIGTERM] {
        let place = Place::new();
        let child = sampling(&place, &[]);
        signal(&child, number);
        let end = finish(child, crate::place::PATIENCE);
        end.code(0).says("samples of ");
        assert!(!place.all.join("out.run-wal").exists(), "one file is left");
        assert_eq!(place.mode(&place.run), 0o600);
        let record = place.record();
        assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 1);
        assert!(record.number("SELECT min(cpu_user_us + cpu_idle_us) FROM samples") >= 0);
        assert!(record.number("SELECT max(memory_bytes) FROM samples") > 0);
        let again = ["sample", "--for", "100ms", "-o", "../out.run"];
        done(&mut place.forebay(&again)).code(0).says("samples of ");
    }
}

#[test]
fn a_kill_leaves_what_was_sampled() {
    let place = Place::new();
    let mut child = sampling(&place, &[]);
    signal(&child, libc::SIGKILL);
    let _ = child.wait();
    let text = done(&mut place.forebay(&["summary", "../out.run"])).code(0).text();
    assert!(text.contains("not complete") && text.contains("machine"), "{text}");
    // Without its log: what was sampled is in the file itself.
    std::fs::copy(&place.run, place.all.join("alone.run")).expect("copied");
    let json = done(&mut place.forebay(&["summary", "--json", "../alone.run"])).code(0).text();
    let summary: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(summary["machines"][0]["samples"].as_u64() >= Some(1), "{json}");
}

#[test]
fn it_ends_by_itself_and_is_told_with_a_run() {
    let Some(place) = Place::with_fuse() else { return };
    let sampled = place.all.join("filer.run");
    let words = ["sample", "--for", "1s", "--every", "100ms", "-o", "../short.run"];
    done(&mut place.forebay(&words)).code(0).says("samples of ");
    let child = place.forebay(&["sample", "--every", "100ms", "-o"]).arg(&sampled).spawn();
    let child = child.expect("started");
    let least = |count| wait_until("it was sampled", || samples(&sampled) >= count);
    least(3);
    let script = "head -c 100000 /dev/zero > a; echo > ../go
        while [ ! -e ../on ]; do sleep 0.1; done; cat a > b";
    let run = place.script(&["-q"], script).stderr(Stdio::null()).spawn().expect("started");
    place.wait_for("go");
    least(samples(&sampled) + 12);
    std::fs::write(place.all.join("on"), "").expect("written");
    finish(run, crate::place::PATIENCE).code(0);
    signal(&child, libc::SIGINT);
    finish(child, crate::place::PATIENCE).code(0);
    let all = samples(&sampled);
    // As if it were of another machine.
    let file = rusqlite::Connection::open(&sampled).expect("a file");
    file.execute("UPDATE header SET value = 'filer' WHERE key = 'host'", []).expect("renamed");
    drop(file);
    let explain = |words: &[&str]| {
        let all = [&["explain", "../out.run", "../filer.run"], words].concat();
        done(&mut place.forebay(&all)).code(0).text()
    };
    assert!(explain(&[]).contains("\nfiler ("), "{}", explain(&[]));
    let told: serde_json::Value = serde_json::from_str(&explain(&["--json"])).expect("JSON");
    let chapters = told["chapters"].as_array().expect("chapters");
    let machines = chapters.iter().find(|chapter| chapter["name"] == "machines").expect("told");
    let told = machines["facts"]["machines"][1]["samples"].as_i64();
    assert!((10..all).contains(&told.unwrap_or(0)), "those of the run's time: {told:?} of {all}");
    for words in [&["--every", "1ms"][..], &["--every", "soon"], &["--for", "0s"], &[]] {
        let words = [&["sample", "-o", "../x.run"], words].concat();
        let words = if words.len() == 3 { vec!["sample"] } else { words };
        done(&mut place.forebay(&words)).code(2);
    }
    done(&mut place.forebay(&["sample", "-o", "none/x.run"])).code(1).says("none/x.run");
    done(&mut place.forebay(&["explain", "../out.run", "../none.run"])).code(1).says("none.run");
}
