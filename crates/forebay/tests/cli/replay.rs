//! A run once more without its tools. If these fail, storages are compared by work that nobody
//! does, or a replay writes over somebody's project.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

use crate::place::{Done, FOREBAY, PATIENCE, Place, Record, done, finish};

/// Small files, a large one, renames, removals, files that are read again, random reads.
const PIPELINE: &str = r#"set -e
mkdir -p parts out/deep
for i in 1 2 3 4 5 6; do head -c 3000 ../source > parts/$i.txt; done
head -c 6000000 ../source > big.bin
for i in 1 2 3 4 5 6; do tr a-z A-Z < parts/$i.txt > out/$i.tmp; mv out/$i.tmp out/$i.up; done
cat big.bin > out/deep/copy.bin
cat out/*.up inputs/ref.fa > all.txt
sort big.bin -o sorted.bin -T . -S 2M
python3 -c "
import os
d = open('out/deep/copy.bin', 'rb', buffering=0)
for k in range(50):
    d.seek(k * 7919 * 4096 % 5000000); d.read(1000)
for k in range(60):
    f = open('out/py%d' % k, 'w'); f.write('x' * 5000); f.flush(); os.fsync(f.fileno()); f.close()
    os.rename('out/py%d' % k, 'out/done%d' % k)
    os.path.exists('out/no%d' % k)
for k in range(55):
    os.unlink('out/done%d' % k)
"
rm parts/*.txt
cat inputs/ref.fa sorted.bin > /dev/null
"#;

/// A place with inputs, and the run of the pipeline there.
fn recorded(options: &[&str]) -> Option<Place> {
    let place = Place::with_fuse()?;
    // Lines of text, since the pipeline sorts them.
    let line = |n: u64| format!("{:020}\n", n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let text: String = (0..290_000).map(line).collect();
    std::fs::write(place.all.join("source"), text).expect("written");
    std::fs::create_dir(place.project.join("inputs")).expect("made");
    std::fs::write(place.project.join("inputs/ref.fa"), vec![b'A'; 70_000]).expect("written");
    done(&mut place.script(options, PIPELINE)).code(0);
    Some(place)
}

/// Every file below, with its size, but for Forebay's own.
fn files(root: &Path) -> BTreeMap<String, u64> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
            if kind.is_dir() && entry.file_name() != ".forebay" {
                folders.push(path);
            } else if kind.is_file() {
                let name = path.strip_prefix(root).expect("below").to_string_lossy().into_owned();
                found.insert(name, entry.metadata().expect("there").len());
            }
        }
    }
    found
}

/// `forebay replay` of the place's run in a new directory beside the project.
fn replay(place: &Place, name: &str, options: &[&str]) -> Done {
    let folder = place.all.join(name);
    std::fs::create_dir_all(&folder).expect("a directory");
    let mut command = place.forebay(&["replay", "-C"]);
    command.arg(folder).args(options).arg(&place.run);
    done(&mut command)
}

fn seconds(end: &Done) -> f64 {
    let text = end.text();
    let last = text.lines().last().expect("a line");
    let number = last.strip_prefix("replayed in ").and_then(|rest| rest.strip_suffix(" s"));
    number.expect(last).parse().expect("a number")
}

#[test]
fn a_replay_does_to_storage_what_the_run_did() {
    replays_like(&["--trace", "every-read", "--recorder", "fuse"], &[]);
}

/// The kernel tells of each copy of a descriptor that goes, and of questions whether a file is a
/// terminal: a replay has no other process that could inherit one, and asks no such question.
#[test]
fn a_replay_does_what_the_kernel_told_of_the_run() {
    replays_like(&["--trace", "every-read"], &["flush", "ioctl"]);
}

fn replays_like(options: &[&str], besides: &[&str]) {
    let Some(place) = recorded(options) else { return };
    let (again, run) = (place.all.join("again"), place.all.join("again.run"));
    std::fs::create_dir(&again).expect("a directory");
    // Inputs are made before, so that they are not in the record.
    let run_text = place.run.to_str().expect("plain").to_owned();
    done(place.forebay(&["replay", "--prepare", &run_text]).current_dir(&again)).code(0);
    let mut command = place.forebay(&["run"]);
    command.args(options).arg("-o").arg(&run).args([
        "--",
        FOREBAY,
        "replay",
        "--prepared",
        "--no-think",
        &run_text,
    ]);
    done(command.current_dir(&again)).code(0);
    assert_eq!(files(&place.project), files(&again), "the same files of the same sizes");
    let tell = |path: &Path| {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let record = rusqlite::Connection::open_with_flags(path, flags).expect("a run");
        let record = Record(record);
        let ops = "SELECT op, sum(count) FROM ops GROUP BY op";
        let mut query = record.0.prepare(ops).expect("a query");
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
        let counts: BTreeMap<String, f64> = rows.map(|row| row.expect("a row")).collect();
        let bytes = |what| record.number(&format!("SELECT sum({what}_bytes) FROM opens")) as f64;
        (bytes("read"), bytes("written"), counts)
    };
    let (read, written, counts) = tell(&place.run);
    let (read_again, written_again, counts_again) = tell(&run);
    let near = |one: f64, other: f64, share: f64| (one - other).abs() <= share * one;
    assert!(near(written, written_again, 0.01), "{written} bytes written, {written_again} again");
    assert!(near(read, read_again, 0.05), "{read} bytes read, {read_again} again");
    const MANY: f64 = 50.0;
    let is_told = |op: &str, count: f64| count > MANY && !besides.contains(&op);
    let many: Vec<_> = counts.iter().filter(|(op, count)| is_told(op, **count)).collect();
    assert!(many.len() > 7, "the pipeline does enough to compare: {counts:?}");
    for (op, &count) in many {
        let again = counts_again.get(op).copied().unwrap_or(0.0);
        assert!(near(count, again, 0.2), "{op}: {count}, {again} again; {counts_again:?}");
    }
}

#[test]
fn what_is_not_seen_is_guessed_and_told() {
    let Some(place) = recorded(&[]) else { return };
    let end = replay(&place, "again", &["--no-think"]);
    end.code(0);
    assert_eq!(files(&place.project), files(&place.all.join("again")));
    let hidden =
        place.record().number("SELECT count(*) FROM opens WHERE hidden AND read_bytes IS NULL");
    assert_eq!(end.stderr.contains("nobody saw reads and writes"), hidden > 0, "{}", end.stderr);
}

#[test]
fn time_between_operations_is_as_asked() {
    let Some(place) = Place::with_fuse() else { return };
    let script = "echo 1 > a; sleep 0.8; cat a > b; sleep 0.8; rm a";
    done(&mut place.script(&[], script)).code(0);
    let as_it_was = replay(&place, "slow", &[]);
    as_it_was.code(0);
    let faster = replay(&place, "faster", &["--speed", "4"]);
    let none = replay(&place, "none", &["--no-think"]);
    assert!(none.text().contains("I/O alone"), "{}", none.text());
    let [slow, faster, none] = [&as_it_was, &faster, &none].map(seconds);
    assert!(slow > 1.5, "two pauses of 0.8 s took {slow} s");
    assert!(faster > 0.38 && none > 0.0, "{slow}, {faster}, {none}");
    let data = replay(&place, "data", &["--no-think", "--json"]).text();
    assert!(data.contains("\"seconds\":") && data.contains("\"speed\":null"), "{data}");
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let place = Place::new();
    let wrong = |words: &[&str], code: i32, says: &str| {
        let words: Vec<&str> = ["replay"].iter().chain(words).copied().collect();
        done(&mut place.forebay(&words)).code(code).says(says);
    };
    wrong(&["/no/such.run"], 125, "/no/such.run");
    wrong(&["a.run", "--speed", "0"], 2, "a number, from 0.001");
    wrong(&["a.run", "--speed", "2", "--no-think"], 2, "cannot be used with");
    let trace = "task_id\thash\tname\tstatus\texit\tsubmit\tduration\trealtime\n\
                 1\tab/cdef01\tA (1)\tCOMPLETED\t0\t2026-01-05 10:00:00.000\t2s\t1s\n";
    std::fs::write(place.project.join("trace.txt"), trace).expect("written");
    done(&mut place.forebay(&["import", "nextflow", "trace.txt", "-o", "old.run"])).code(0);
    std::fs::create_dir(place.project.join("empty")).expect("made");
    wrong(&["-C", "empty", "old.run"], 125, "imported run has no file that was opened");
    let Some(place) = recorded(&["--trace", "every-read"]) else { return };
    let end = replay(&place, "project", &[]);
    end.code(125).says("is in it, and a replay could write over it");
    replay(&place, "fresh", &["--prepared"]).code(125).says("--prepare");
    replay(&place, "fresh", &["--prepare"]).code(0);
    replay(&place, "fresh", &["--prepared", "--no-think"]).code(0);
    replay(&place, "fresh", &["--prepared"]).code(125).says("goes before");
    let Some(root) = Place::with_root() else { return };
    let small = place.all.join("small");
    std::fs::create_dir(&small).expect("made");
    let mut command = place.forebay(&["replay", "-C"]);
    command.arg(&small).arg(&place.run);
    let mount = format!("mount -t tmpfs -o size=1m none {}", small.display());
    let end = done(&mut root.apart(&mount, &command));
    end.code(125).says("are free there").says("nothing was done");
}

#[test]
fn who_interrupts_a_replay_leaves_its_directory_alone() {
    let Some(place) = Place::with_fuse() else { return };
    done(&mut place.script(&[], "echo 1 > a; sleep 2; cat a > b")).code(0);
    let folder = place.all.join("again");
    std::fs::create_dir(&folder).expect("a directory");
    let mut command = place.forebay(&["replay", "--speed", "0.05", "-C"]);
    command.arg(&folder).arg(&place.run).stdout(Stdio::piped()).stderr(Stdio::piped());
    let heeds_signals = || {
        // SAFETY: a plain number and a default action.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: what runs between fork and exec calls `signal` alone, which may be called there.
    unsafe { command.pre_exec(heeds_signals) };
    let child = command.spawn().expect("started");
    place.wait_for("again/a");
    // SAFETY: plain numbers.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let end = finish(child, PATIENCE);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&end.status), Some(libc::SIGINT));
    assert_eq!(files(&folder).into_keys().collect::<Vec<_>>(), ["a"]);
    place.nobody_left();
}

#[test]
fn storages_are_compared_by_a_replay() {
    let Some(place) = Place::with_fuse() else { return };
    done(&mut place.script(&["--trace", "every-read"], "echo 1 > a; sleep 0.5; cat a > b")).code(0);
    let other = place.all.join("other");
    std::fs::create_dir(&other).expect("a directory");
    let on = format!("local,other={}", other.display());
    let run = place.run.to_str().expect("plain");
    let words = ["bench", "--on", &on, "--repeat", "2", "--no-think", "--replay", run];
    let end = done(&mut place.forebay(&words));
    end.code(0);
    let text = end.text();
    assert!(text.starts_with(&format!("a replay of {run}, without its tools; no time")), "{text}");
    let kept = place.read("bench/results.jsonl");
    let mut lines = kept.lines();
    let header = lines.next().expect("a header");
    assert!(header.contains(&format!("\"replay\":\"{run}\"")), "{header}");
    // What a replay says of itself is what is compared.
    let log = place.read("bench/0-other.log");
    let told = log.lines().last().and_then(|line| line.strip_prefix("replayed in "));
    let told: f64 =
        told.and_then(|rest| rest.strip_suffix(" s")).expect("told").parse().expect("s");
    let of = lines.find(|line| line.contains("\"round\":0,\"on\":\"other\"")).expect("a run");
    assert!(of.contains(&format!("\"seconds\":{told}")), "{told} in {of}");
    // What the replay did is told as what the command itself would have done.
    assert!(of.contains("\"written_bytes\":4,") && !of.contains("\"names\":0"), "{of}");
    assert_eq!(std::fs::read_dir(&other).expect("there").count(), 0, "nothing is left");
    let both = ["bench", "--on", "local", "--replay", run, "--", "true"];
    done(&mut place.forebay(&both)).code(2).says("cannot be used with");
    let none = ["bench", "--on", "local", "-o", "b2", "--replay", "/no/such.run"];
    done(&mut place.forebay(&none)).code(125).says("/no/such.run");
    assert!(!place.project.join("b2").exists(), "nothing was made");
}
