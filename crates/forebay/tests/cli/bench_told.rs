//! What `forebay bench` tells beside times. If these fail, somebody learns that a storage is slow
//! and not why, pays for what no run did, or compares a disk that no run wrote to.

use serde_json::Value;

use crate::bench::{Two, told};
use crate::place::{Done, Place, Record, done};

/// Three megabytes, sorted.
const SORT: &str = "head -c 3000000 /dev/zero > a; sort a > b; rm a";

fn data(two: &Two, options: &[&str], script: &str) -> Value {
    let end = done(&mut two.recorded(&[options, &["--json"]].concat(), script));
    serde_json::from_str(&end.text()).unwrap_or_else(|error| panic!("{error}: {}", end.stderr))
}

#[track_caller]
fn silent_on(end: &Done, words: &str) {
    assert!(!end.text().contains(words), "{words:?} is in:\n{}", end.text());
}

#[test]
fn a_run_says_what_it_did_to_its_storage() {
    let Some(place) = Place::with_fuse() else { return };
    let two = Two::of(place);
    let options = ["--on", "bare", "--repeat", "2"];
    let end = done(&mut two.recorded(&options, SORT));
    end.code(0);
    told(&end, &["names  data", "waited", "bare: without Forebay in between"]);
    silent_on(&end, "phase");
    silent_on(&end, "usd");
    silent_on(&end, "outside");
    let told = data(&two, &options, SORT);
    for storage in [&told["on"][0], &told["on"][1]] {
        let number =
            |key: &str| storage[key].as_f64().unwrap_or_else(|| panic!("{key}: {storage}"));
        assert!(number("names") > 2.0 && number("data") > 2.0);
        let (read, written) = (number("read_bytes"), number("written_bytes"));
        assert_eq!((read, written), (3e6, 6e6 + 1.0), "the last line gets its end");
        assert!((0.0..=1.0).contains(&number("waited_share")));
        assert_eq!(storage["outside"]["bytes"], 0);
    }
    let run = told["runs"].as_array().and_then(|runs| runs.iter().find(|run| run["on"] == "local"));
    let peak = run.expect("a run")["recorded"]["peak_bytes"].as_f64().expect("known");
    assert_eq!(peak, 6e6 + 1.0, "both files were there at a time");
    let bare = &told["on"][2];
    assert_eq!((&bare["on"], &bare["names"]), (&Value::from("bare"), &Value::Null));
    assert!(bare["waited_share"].is_null() && bare["outside"].is_null());
    let record = two.place.project.join("bench/1-other.run");
    let summary = done(&mut two.place.forebay(&["summary", record.to_str().expect("plain")]));
    assert!(summary.code(0).stderr.contains("sort") || summary.text().contains("sort"));
    assert!(!two.place.project.join("bench/1-bare.run").exists());
    let csv = done(&mut two.recorded(&[&options[..], &["--csv"]].concat(), SORT));
    let line = |name: &str| csv.text().lines().find(|line| line.contains(name)).map(str::to_owned);
    assert!(line(",other,").expect("a run").contains(",3000000,6000001,"), "{}", csv.text());
    assert!(line(",bare,").expect("a run").ends_with(",false,,,,,,,"), "{}", csv.text());
    crate::bench::told(
        &done(&mut two.recorded(&[&options[..], &["--markdown"]].concat(), SORT)),
        &["| on ", "| names |", "| bare "],
    );
    two.place.nobody_left();
    two.nothing_left();
}

#[test]
fn a_run_that_failed_has_no_figures() {
    let Some(place) = Place::with_fuse() else { return };
    let two = Two::of(place);
    let told = data(&two, &["--repeat", "1"], "echo x > f; case $PWD in */other/*) exit 3;; esac");
    assert!(told["on"][0]["names"].as_f64().is_some_and(|names| names > 0.0), "{told}");
    for key in ["median_s", "names", "data", "read_bytes", "waited_share", "outside"] {
        assert!(told["on"][1][key].is_null(), "{key}: {}", told["on"][1]);
    }
}

#[test]
fn phases_are_told_where_an_engine_names_them() {
    let Some(place) = Place::with_fuse() else { return };
    let two = Two::of(place);
    let log = include_str!("../../../plan/src/import/samples/Trinity.timing");
    std::fs::write(two.place.all.join("timing"), log).expect("written");
    let script = "mkdir -p out/Fb_0/CBin_0; for i in 1 2; do \
                  sh -c 'sleep 0.1; echo > $0.fa' out/Fb_0/CBin_0/c$i; done; \
                  cp \"$FOREBAY_BENCH_FROM\"/../timing out/Trinity.timing";
    let end = done(&mut two.recorded(&["--repeat", "1"], script));
    end.code(0);
    told(&end, &["phase, s", "Trinity partition", "only the sum of its phases is sure"]);
    let told = data(&two, &["--repeat", "1"], script);
    let phases = told["on"][1]["phases"].as_array().expect("a list").clone();
    let (log, own): (Vec<&Value>, Vec<&Value>) =
        phases.iter().partition(|phase| phase["engine"] == "Trinity.timing");
    assert_eq!(log.len(), 3, "{phases:?}");
    assert_eq!(own[0]["engine"], "trinity");
    assert!(own.len() == 1 && own[0]["median_s"].as_f64() > Some(0.1), "{own:?}");
    let longest = phases[0]["median_s"].as_f64();
    assert!(phases.iter().all(|phase| phase["median_s"].as_f64() <= longest), "the slowest first");
}

#[test]
fn who_started_those_that_use_a_mount_is_known() {
    let Some(place) = Place::with_fuse() else { return };
    let two = Two::of(place);
    // The program in the middle asks nothing of the storage itself.
    let script = "echo > f; timeout 60 sh -c 'echo > g; sleep 0.5'; echo > h";
    done(&mut two.recorded(&["--repeat", "1"], script)).code(0);
    let record = two.place.project.join("bench/0-local.run");
    let record = Record(rusqlite::Connection::open(record).expect("a run file"));
    let without = "SELECT count(*) FROM processes WHERE parent IS NULL AND argv NOT LIKE '%mount%'";
    assert_eq!(record.number(without), 1, "the command alone");
    let line = "SELECT count(*) FROM processes p JOIN processes m ON p.parent = m.process
                JOIN processes c ON m.parent = c.process
                WHERE p.argv LIKE '[\"sh\"%' AND m.argv LIKE '[\"timeout\"%'";
    assert_eq!(record.number(line), 1, "the shell, the program in the middle, the command");
}

#[test]
fn what_is_written_elsewhere_is_told() {
    let Some(place) = Place::with_fuse() else { return };
    let two = Two::of(place);
    // In the project's file system, which no storage of the comparison is.
    let script = format!("{SORT}; head -c 2000000 /dev/zero > \"$FOREBAY_BENCH_FROM\"/../x");
    let end = done(&mut two.recorded(&["--repeat", "1"], &script));
    end.code(0);
    let words =
        ["local: at least 1.", " MiB of a run went outside its directory", "other: at least"];
    told(&end, &words);
    let told = data(&two, &["--repeat", "1"], &script);
    let outside = &told["on"][1]["outside"];
    let bytes = outside["bytes"].as_f64().expect("known");
    assert!((1.8e6..2.1e6).contains(&bytes) && outside["matters"] == true, "{outside}");
    // A long log is no such thing, nor are pages that are mapped, nor what the storage copies.
    let two = Two::of(Place::new());
    let mapped = "import mmap; f = open('m', 'w+b'); f.truncate(3000000); \
                  m = mmap.mmap(f.fileno(), 3000000); m[:] = b'x' * 3000000; m.flush()";
    let script = format!("{SORT}; cp b c; head -c 900000 /dev/zero; python3 -c \"{mapped}\"");
    let end = done(&mut two.recorded(&["--repeat", "1"], &script));
    silent_on(end.code(0), "outside");
    let told = data(&two, &["--repeat", "1"], &script);
    // The kernel writes a mapped page again that changes while it is being written.
    let written = told["on"][1]["written_bytes"].as_f64().expect("known");
    assert!((12_000_002.0..15e6).contains(&written), "the copy and the pages are in it: {written}");
}

#[test]
fn a_run_has_a_price_where_one_is_named() {
    let Some(place) = Place::with_fuse() else { return };
    let two = Two::of(place);
    let words = ["--repeat", "1", "--price", "other=efs.elastic", "--instance", "ec2.m6id.8xlarge"];
    let end = done(&mut two.recorded(&words, SORT));
    end.code(0);
    let foot = [
        "usd: of a run, by price sheet aws-us-east-1-",
        "with ec2.m6id.8xlarge",
        "nobody could verify these prices: ec2.m6id.8xlarge.ondemand",
        "without a price, counted as free: local",
    ];
    told(&end, &foot);
    let priced = data(&two, &words, SORT);
    let usd = |at: usize| priced["on"][at]["usd"].as_f64().expect("a price");
    let hours = |at: usize| priced["on"][at]["median_s"].as_f64().expect("a time") / 3600.0;
    let machine = |at: usize| hours(at) * 1.8984;
    assert!((usd(0) / machine(0) - 1.0).abs() < 1e-9, "the machine alone: {}", usd(0));
    // 6 MB written at 0.06 and 3 MB read at 0.03 dollars for 10^9 bytes.
    let moved = usd(1) - machine(1);
    assert!((4.4e-4..4.6e-4).contains(&moved), "{moved}");
    // Runs are the same, whatever they cost.
    let sheet = "schema = 1\nsheet = 'ours'\ncompiled = '2026-11-22'\nhours_per_month = 730\n\
                 [price]\n'disk.read' = { usd = 1000, per = 'GB read', status = 'unverified' }\n";
    std::fs::write(two.place.all.join("ours.toml"), sheet).expect("written");
    let words = ["--repeat", "1", "--prices", "../ours.toml", "--price", "local=disk"];
    let priced = data(&two, &words, SORT);
    assert!((priced["on"][0]["usd"].as_f64().expect("a price") - 3.0).abs() < 1e-9, "{priced}");
    assert!(priced["on"][1]["usd"].is_null(), "nobody said what it costs");
    assert_eq!(priced["prices"]["unverified"][0], "disk.read");
    assert_eq!(two.lines(), 3, "nothing was run again");
}
