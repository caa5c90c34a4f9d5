//! A pipeline on several nodes leaves several run files. If these fail, the whole has tasks or bytes
//! that nobody did, or lacks those that somebody did.

use std::path::{Path, PathBuf};

use forebay_model::Run;

use crate::place::{FOREBAY, Place, done};

/// Records a shell script in the project, without a mount.
fn recorded(place: &Place, name: &str, script: &str) -> PathBuf {
    recorded_by(place, "notify", name, script)
}

fn recorded_by(place: &Place, recorder: &str, name: &str, script: &str) -> PathBuf {
    let path = place.all.join(name);
    let mut run = place.forebay(&["run", "--recorder", recorder, "-q", "-o"]);
    run.arg(&path).args(["--", "sh", "-c", script]);
    done(&mut run).code(0);
    path
}

/// Bytes read and written by operations and by open files.
fn bytes(path: &Path) -> (u64, u64) {
    let run = Run::open(path).expect("readable");
    let ops: u64 = run.operation_rows().expect("ops").iter().map(|op| op.bytes.0).sum();
    let mut opens = 0;
    let each = |row: forebay_model::run::OpenRow| {
        let open = row.open;
        opens += open.read.map_or(0, |io| io.bytes.0) + open.wrote.map_or(0, |io| io.bytes.0);
    };
    run.for_each_open(each).expect("opens");
    (ops, opens)
}

#[test]
fn two_recorded_runs_become_one_that_every_command_reads() {
    let place = Place::new();
    let parts = [
        recorded(&place, "1.run", "head -c 30000 /dev/zero > f; cp f g"),
        recorded(&place, "2.run", "cat f g > h; rm g"),
    ];
    let folder = place.all.join("parts");
    std::fs::create_dir(&folder).expect("made");
    std::fs::rename(&parts[1], folder.join("2.run")).expect("moved");
    let parts = [parts[0].clone(), folder.join("2.run")];
    let mut join = place.forebay(&["join", "-o"]);
    join.arg(&place.run).arg(&parts[0]).arg(&folder);
    done(&mut join).code(0).says("2 run files of 1 node joined").says("the joined run is in");
    let sums = parts
        .iter()
        .map(|part| bytes(part))
        .fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    assert_eq!(bytes(&place.run), sums);
    assert!(sums.1 >= 30_000 * 4, "{sums:?}");
    let run = Run::open(&place.run).expect("readable");
    // f, g and h: each is one file, whoever used it.
    let names = run.files().expect("files").into_iter().map(|file| file.path);
    let mut names: Vec<String> = names.map(|path| String::from_utf8(path).expect("text")).collect();
    names.sort();
    assert_eq!(names, ["f", "g", "h"]);
    let tasks = run.tasks().expect("tasks");
    let mut tasks: Vec<&str> =
        tasks.iter().filter(|task| !task.driver).map(|task| &*task.name).collect();
    tasks.sort_unstable();
    assert_eq!(tasks, ["cat", "cp", "head", "rm"]);
    assert!(run.is_complete().expect("read"));
    let shown = done(place.forebay(&["summary"]).arg(&place.run)).code(0).text();
    assert!(shown.contains("forebay join") && shown.contains("Tasks ran on 1 node:"), "{shown}");
    done(place.forebay(&["explain"]).arg(&place.run)).code(0);
    let page = done(place.forebay(&["report", "--json"]).arg(&place.run)).code(0).text();
    let page: serde_json::Value = serde_json::from_str(&page).expect("JSON");
    let notes = page["runs"][0]["panels"]["occupancy"]["notes"].to_string();
    assert!(notes.contains("Lanes by node"), "{notes}");
    let workload = done(place.forebay(&["export"]).arg(&place.run)).code(0).text();
    assert!(workload.contains("schemaVersion"), "{workload}");
}

#[test]
fn a_file_that_a_later_run_removes_without_opening_it_is_gone() {
    let kernel = forebay_volume::kernel_events::probe().is_ok().then_some("bpf");
    for recorder in ["notify"].into_iter().chain(kernel) {
        let place = Place::new();
        let parts = [
            recorded_by(
                &place,
                recorder,
                "1.run",
                "mkdir d; echo x > d/f; cp d/f d/g; cp d/f kept; cp d/f late; cp d/f link",
            ),
            // By a path, from the directory, and by a link to it. Others come back: by an open, by a
            // rename of what was opened before, and by another name of a file.
            recorded_by(
                &place,
                recorder,
                "2.run",
                "rm d/f; ln -s d way; cd way; rm g; cd ..; rm kept; echo y > kept; rm way
                 echo z > new; rm late; mv new late; rm link; ln kept link",
            ),
        ];
        done(place.forebay(&["join", "-o"]).arg(&place.run).args(&parts)).code(0);
        let paths = |run: &Path, of: &str| -> String {
            let query =
                format!("SELECT group_concat(path) FROM (SELECT path FROM {of} ORDER BY path)");
            let run = rusqlite::Connection::open(run).expect("a run file");
            run.query_row(&query, [], |row| row.get(0)).expect("paths")
        };
        assert_eq!(paths(&place.run, "files WHERE gone_us NOT NULL"), "d/f,d/g", "{recorder}");
        let record = place.record();
        let late = "SELECT count(*) FROM files f WHERE gone_us >=
                    (SELECT max(opened_us) FROM opens o WHERE o.file = f.file)";
        assert_eq!(record.number(late), 2, "{recorder}");
        // A file that the run opened needs no such row, and nothing is left of them in the whole.
        assert_eq!(paths(&parts[1], "removals"), "d/f,d/g,kept,way", "{recorder}");
        assert_eq!(record.number("SELECT count(*) FROM removals"), 0);
    }
}

#[test]
fn what_is_no_run_is_named_and_the_rest_is_joined() {
    let place = Place::new();
    let good = recorded(&place, "1.run", "echo x > f");
    std::fs::write(place.all.join("bad.run"), "nothing").expect("written");
    let mut join = place.forebay(&["join", "-o"]);
    join.arg(&place.run).arg(&good).arg(place.all.join("bad.run"));
    done(&mut join).code(1).says("bad.run is left out").says("1 run file of 1 node joined");
    assert!(!Run::open(&place.run).expect("readable").is_complete().expect("read"));
    // Nothing takes the place of what it is made from, and nothing is left behind.
    let mut over = place.forebay(&["join", "-o"]);
    over.arg(&good).arg(&good);
    done(&mut over).code(1).says("would take the place of what it is made from");
    let mut none = place.forebay(&["join", "-o"]);
    none.arg(place.all.join("none.run")).arg(place.all.join("bad.run"));
    done(&mut none).code(1).says("it is no SQLite file");
    let mut again = place.program(FOREBAY);
    again.args(["join", "-o"]).arg(place.all.join("again.run")).arg(&place.run);
    done(&mut again).code(1).says("it was joined already");
    let left: Vec<_> = std::fs::read_dir(&place.all)
        .expect("listed")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with('.') || name == "none.run" || name == "again.run")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn records_of_older_forebays_are_joined_and_those_of_newer_ones_named() {
    let place = Place::new();
    let now = recorded(&place, "now.run", "seq 5 > f");
    let newer = recorded(&place, "newer.run", "seq 6 > g");
    let hand = rusqlite::Connection::open(&newer).expect("opened");
    let next = forebay_model::run::SCHEMA_VERSION + 1;
    hand.pragma_update(None, "user_version", next).expect("changed");
    drop(hand);
    crate::older::unpack(&place.all);
    let older = place.all.join("whole.run");
    let mut join = place.forebay(&["join", "-o"]);
    // In turn: what is known of the tables of one is of no use for the next.
    join.arg(&place.run).args([&now, &older, &newer, &now, &older]);
    done(&mut join)
        .code(1)
        .says("4 run files of")
        .says("newer.run is left out")
        .says("a newer Forebay wrote it")
        .says("update Forebay");
    let sums = [&now, &older].map(|part| bytes(part));
    assert_eq!(bytes(&place.run), (sums[0].0 + sums[1].0, sums[0].1 + sums[1].1));
    let run = Run::open(&place.run).expect("readable");
    assert!(!run.is_complete().expect("read"));
    let names = run.files().expect("files").into_iter().map(|file| file.path);
    assert!(names.into_iter().all(|name| name != b"g"));
}
