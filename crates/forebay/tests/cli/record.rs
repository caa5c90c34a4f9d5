//! The run file: there, private, complete, and readable by anybody's SQLite.

use crate::place::{Place, done};

#[test]
fn leaves_the_file_and_a_run_that_sqlite_opens() {
    let Some(mut place) = Place::with_fuse() else { return };
    let end = done(&mut place.forebay(&["run", "--", "sh", "-c", "echo hi > a; cat a"]));
    assert_eq!(end.code(0).text(), "hi\n");
    assert_eq!(place.read("a"), "hi\n");
    end.says("the run is in .forebay/runs/");
    place.run = place.project.join(".forebay/latest.run").canonicalize().expect("a run file");
    assert_eq!(place.mode(&place.run), 0o600);
    assert_eq!(place.read(".forebay/.gitignore"), "*\n");

    let record = place.record();
    assert_eq!(record.number("PRAGMA application_id"), 0x4642_524E);
    assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 1);
    assert_eq!(record.number("SELECT value FROM header WHERE key = 'exit_status'"), 0);
    assert_eq!(record.number("SELECT count(*) FROM trees"), 1);
    assert_eq!(record.number("SELECT count(*) FROM tasks WHERE name = 'cat' AND kind = 'task'"), 1);
    assert_eq!(
        record.number("SELECT count(*) FROM tasks WHERE name = 'sh' AND kind = 'driver'"),
        1
    );
    let opens = "SELECT count(*) FROM opens JOIN files USING (file) WHERE path = 'a'";
    assert_eq!(record.number(&format!("{opens} AND write AND created AND size_at_close = 3")), 1);
    assert_eq!(record.number(&format!("{opens} AND NOT write AND closed_us >= opened_us")), 1);
    assert_eq!(record.number("SELECT sum(count) FROM ops WHERE op = 'create'"), 1);
    assert_eq!(record.number("SELECT count(*) FROM ops WHERE failed > count OR time_us < 0"), 0);
    drop(record);

    place.nobody_left();
    std::fs::remove_dir_all(place.project.join(".forebay")).expect("removed");
    place.nothing_left();
}

#[test]
fn every_read_is_exact() {
    let Some(place) = Place::with_fuse() else { return };
    let script = "head -c 300000 /dev/zero > a; cat a | wc -c";
    let options = ["-q", "--trace", "every-read", "--recorder", "fuse"];
    assert_eq!(done(&mut place.script(&options, script)).text(), "300000\n");
    let record = place.record();
    assert_eq!(record.number("SELECT count(*) FROM trees WHERE passthrough"), 0);
    assert_eq!(record.number("SELECT sum(written_bytes) FROM opens WHERE NOT hidden"), 300_000);
    assert_eq!(record.number("SELECT sum(read_bytes) FROM opens WHERE NOT hidden"), 300_000);
    assert_eq!(record.number("SELECT count(*) FROM opens WHERE hidden"), 0);
    place.nothing_left();
}

#[test]
fn a_renamed_file_is_one_file_with_its_last_name() {
    let Some(place) = Place::with_fuse() else { return };
    let script = "mkdir d; echo x > d/unfinished; mv d/unfinished d/made; mv d e; cat e/made";
    done(&mut place.script(&["-q"], script)).code(0);
    let record = place.record();
    let opens = "SELECT count(*) FROM opens JOIN files USING (file) WHERE path = 'e/made'";
    assert_eq!(record.number(&format!("{opens} AND NOT write")), 1, "who read it");
    assert_eq!(record.number(&format!("{opens} AND write")), 1, "who wrote it");
    place.nothing_left();
}

#[test]
fn what_was_done_before_the_end_of_a_failing_command_is_recorded() {
    let Some(place) = Place::with_fuse() else { return };
    done(&mut place.script(&["-q"], "mkdir d; mv d e; ls nothing-here; exit 3")).code(3);
    let record = place.record();
    assert_eq!(record.number("SELECT sum(count) FROM ops WHERE op = 'mkdir'"), 1);
    assert_eq!(record.number("SELECT sum(count) FROM ops WHERE op = 'rename'"), 1);
    assert!(record.number("SELECT sum(count) FROM ops WHERE op = 'lookup_failed'") > 0);
    assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 1);
    place.nothing_left();
}

#[test]
fn a_file_without_a_name_says_since_when() {
    let Some(place) = Place::with_fuse() else { return };
    // `b` has another name left; `d` becomes `a`'s successor.
    let script = "echo x > a; echo y > b; ln b c; rm a b; echo z > d; mv d a";
    done(&mut place.script(&["-q"], script)).code(0);
    let record = place.record();
    assert_eq!(record.number("SELECT count(*) FROM files WHERE gone_us NOT NULL"), 1);
    assert_eq!(record.number("SELECT count(*) FROM files WHERE gone_us > 0 AND path = 'a'"), 1);
    place.nothing_left();
}

/// A pattern is settled before the program is answered: its next write comes on another thread.
#[test]
fn a_run_knows_what_a_request_takes_and_counts_none_of_those_that_told() {
    for trace in ["files", "every-read"] {
        let Some(place) = Place::with_fuse() else { return };
        // What it says itself comes too late.
        let said = "system.forebay.request.1";
        // Python asks with room for 128 bytes, getfattr(1) for the length first.
        let script = format!(
            "python3 -c 'import os; print(os.getxattr(\".\", \"{said}\"))'; \
             getfattr --only-values -n {said} ."
        );
        let options = ["--trace", trace, "--recorder", "fuse"];
        let told = done(&mut place.script(&options, &script));
        assert_eq!(told.code(0).text(), "b'here'\nhere");
        let record = place.record();
        let nanos = "SELECT CAST(value AS INTEGER) FROM header WHERE key = 'more.request_ns'";
        assert!(record.number(nanos) > 1, "{}", record.number(nanos));
        let counted =
            "SELECT count(*) FROM process_ops JOIN op_keys USING (op_key) WHERE op = 'xattr'";
        assert_eq!(record.number(counted), 0);
        place.nothing_left();
    }
}

#[test]
fn writes_one_after_the_other_are_sequential_every_time() {
    let Some(place) = Place::with_fuse() else { return };
    let script = "for n in $(seq 20); do dd if=/dev/zero of=x$n bs=4k count=5000 status=none; done
        exec 3> left 4> right
        for n in $(seq 50); do head -c 4096 /dev/zero >&3; head -c 4096 /dev/zero >&4; done
        seq 200000 | sort > sorted
        for n in $(seq 20); do dd if=x$n of=/dev/null bs=4k status=none; done
        dd if=/dev/zero of=apart bs=4k count=1 seek=1000 status=none";
    let options = ["-q", "--trace", "every-read", "--recorder", "fuse"];
    done(&mut place.script(&options, script)).code(0);
    let record = place.record();
    let count = |which: &str| {
        let of = "SELECT ifnull(sum(count), 0) FROM ops JOIN classes USING (class) WHERE";
        record.number(&format!("{of} {which}"))
    };
    assert_eq!(count("classes.pattern = 'x#' AND op = 'write'"), 100_000);
    for (files, random) in [("x#", 0), ("left", 0), ("right", 0), ("sorted", 0), ("apart", 1)] {
        let of = format!("classes.pattern = '{files}' AND ops.pattern = 'random'");
        assert_eq!(count(&of), random, "{files}");
    }
    drop(record);
    place.nothing_left();
}
