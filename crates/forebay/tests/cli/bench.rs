//! A comparison of storages from the command line. If these fail, somebody waits a night for runs
//! that nobody kept, or buys a storage for a failure that looked like speed.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::place::{Done, PATIENCE, Place, done, finish};

/// A place with another directory beside the project, which stands for another storage.
pub(crate) struct Two {
    pub(crate) place: Place,
    pub(crate) other: PathBuf,
}

impl Two {
    pub(crate) fn of(place: Place) -> Two {
        let other = place.all.join("other");
        std::fs::create_dir(&other).expect("a directory");
        Two { place, other }
    }

    /// `forebay bench` on both, with these options, of this shell script; not recorded.
    fn bench(&self, options: &[&str], script: &str) -> Command {
        self.recorded(&[&["--record", "no"], options].concat(), script)
    }

    /// The same, recorded.
    pub(crate) fn recorded(&self, options: &[&str], script: &str) -> Command {
        let on = format!("local,other={}", self.other.display());
        let words = ["bench", "--on", &on].into_iter().chain(options.iter().copied());
        let words: Vec<&str> = words.chain(["--", "sh", "-c", script]).collect();
        self.place.forebay(&words)
    }

    pub(crate) fn results(&self) -> PathBuf {
        self.place.project.join("bench/results.jsonl")
    }

    pub(crate) fn lines(&self) -> usize {
        std::fs::read_to_string(self.results()).expect("results").lines().count()
    }

    /// What all runs took so far, together.
    pub(crate) fn seconds(&self) -> f64 {
        let text = std::fs::read_to_string(self.results()).expect("results");
        let of = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("JSON");
        text.lines().filter_map(|line| of(line)["seconds"].as_f64()).sum()
    }

    /// No directory of a run is left.
    #[track_caller]
    pub(crate) fn nothing_left(&self) {
        let in_project = std::fs::read_dir(&self.place.project).expect("there").count();
        let in_other = std::fs::read_dir(&self.other).expect("there").count();
        assert_eq!((in_project, in_other), (1, 0), "only the results are left");
    }
}

#[track_caller]
pub(crate) fn told(end: &Done, words: &[&str]) {
    let text = end.text();
    for word in words {
        assert!(text.contains(word), "{word:?} is not in:\n{text}");
    }
}

#[test]
fn a_command_is_compared_round_by_round() {
    let two = Two::of(Place::new());
    let script = "test -d \"$FOREBAY_BENCH_FROM\"/bench && echo here > file && pwd";
    let end = done(&mut two.bench(&["--repeat", "3"], script));
    end.code(0);
    told(
        &end,
        &["3 rounds", "median, s", "baseline", "other", "fewer than 6 runs", "as they were"],
    );
    assert_eq!(two.lines(), 7, "what is compared, and six runs");
    let log = std::fs::read_to_string(two.place.project.join("bench/2-other.log")).expect("a log");
    assert!(log.starts_with(two.other.to_str().expect("a plain name")), "{log}");
    two.nothing_left();
    // Everything is there: nothing is run again, and it is told in other forms.
    let again = done(&mut two.bench(&["--repeat", "3", "--csv"], script));
    again.code(0).says("6 runs are in").says("results.jsonl already");
    assert_eq!(again.text().lines().count(), 7, "{}", again.text());
    told(&again, &["round,on,emulated,seconds", "2,other,false,"]);
    told(
        &done(&mut two.bench(&["--repeat", "3", "--markdown"], script)),
        &["| on ", "|---", "| other "],
    );
    let data = done(&mut two.bench(&["--repeat", "3", "--json"], script)).text();
    let keys = ["\"verdict\": ", "\"range\": true", "\"seed\": 1", "\"user_seconds\": "];
    assert!(keys.iter().all(|key| data.contains(key)), "{data}");
}

#[test]
fn what_was_cut_short_goes_on() {
    let two = Two::of(Place::new());
    let script = "echo run >> \"$FOREBAY_BENCH_FROM\"/../runs";
    done(&mut two.bench(&["--repeat", "3"], script)).code(0);
    let whole = std::fs::read_to_string(two.results()).expect("results");
    // The machine went down while the fourth run was written.
    let end: usize = whole.lines().take(4).map(|line| line.len() + 1).sum();
    std::fs::write(two.results(), &whole[..end + 10]).expect("written");
    done(&mut two.bench(&["--repeat", "3"], script)).code(0).says("3 runs are in");
    assert_eq!(two.lines(), 7);
    let runs = std::fs::read_to_string(two.place.all.join("runs")).expect("runs");
    assert_eq!(runs.lines().count(), 9, "six, and the three that were lost");
    let order = |text: &str| -> Vec<String> {
        let lines = text.lines().skip(1);
        lines.map(|line| line.split(",\"seconds").next().expect("a part").to_owned()).collect()
    };
    let now = std::fs::read_to_string(two.results()).expect("results");
    assert_eq!(order(&now), order(&whole), "in the order in which they would have been run");
    // Another command is another comparison.
    done(&mut two.bench(&[], "true")).code(1).says("of another comparison").says("-o");
    assert_eq!(two.lines(), 7, "and takes nothing away");
    std::fs::write(two.results(), now.replace("\"round\":2", "\"round\":4294967295"))
        .expect("written");
    done(&mut two.bench(&["--repeat", "3"], script)).code(1).says("results.jsonl:").says("beyond");
}

#[test]
fn a_run_that_fails_is_an_outcome() {
    let two = Two::of(Place::new());
    let script = "case $PWD in */other/*) exit 3;; esac";
    let end = done(&mut two.bench(&["--repeat", "2"], script));
    end.code(1).says("round 0 on other failed with exit code 3").says("0-other.log");
    told(&end, &["100 % of runs failed"]);
    two.nothing_left();
    let two = Two::of(Place::new());
    // A program that would rather stay, with one that it leaves behind.
    let slow = "trap '' TERM; case $PWD in */other/*) sleep 1000 & sleep 1000;; esac";
    let end = done(&mut two.bench(&["--repeat", "1", "--timeout", "200ms"], slow));
    end.code(1).says("round 0 on other was ended after");
    assert_eq!(two.lines(), 3);
    two.nothing_left();
}

#[test]
fn who_interrupts_loses_the_run_that_was_under_way_alone() {
    let two = Two::of(Place::new());
    let script = "if mkdir \"$FOREBAY_BENCH_FROM\"/../once; then exit 0; fi; echo > \
                  \"$FOREBAY_BENCH_FROM\"/../go; sleep 100";
    let mut command = two.bench(&[], script);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let heeds_signals = || {
        // SAFETY: a plain number and a default action.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: what runs between fork and exec calls `signal` alone, which may be called there.
    unsafe { command.pre_exec(heeds_signals) };
    let child = command.spawn().expect("started");
    two.place.wait_for("go");
    // SAFETY: plain numbers.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let end = finish(child, PATIENCE);
    end.code(130).says("interrupted; 1 runs are in").says("goes on from there");
    assert_eq!(two.lines(), 2);
    two.nothing_left();
}

/// What it takes to make nine files on a storage that is emulated.
fn emulated(two: &Two) -> (Done, serde_json::Value) {
    let script = "for i in 1 2 3 4 5 6 7 8 9; do : > file$i; done";
    let options = ["--repeat", "3", "--emulate", "other=50ms"];
    let end = done(&mut two.recorded(&options, script));
    end.code(0);
    let data = done(&mut two.recorded(&[&options[..], &["--json"]].concat(), script)).text();
    (end, serde_json::from_str(&data).expect("JSON"))
}

#[test]
fn an_emulated_storage_says_so_and_takes_what_it_is_told_to() {
    let Some(place) = Place::with_fuse() else { return };
    let two = Two::of(place);
    let (end, data) = emulated(&two);
    told(&end, &["other (emulated)", "other: emulated, 50ms on top of"]);
    let median = data["on"][1]["median_s"].as_f64().expect("a time");
    assert!(median >= 9.0 * 0.05, "nine names of 50 ms each took {median} s");
    two.nothing_left();
}

#[test]
#[ignore = "timing: make timing"]
fn timing_an_emulated_storage_is_slower() {
    let Some(place) = Place::with_fuse() else { return };
    let two = Two::of(place);
    let (end, data) = emulated(&two);
    told(&end, &["slower"]);
    // What a program waits for a reply that is held back is in the record.
    let waited = data["on"][1]["waited_share"].as_f64().expect("recorded");
    assert!(waited > 0.5, "it does nothing but wait: {waited}");
}

#[test]
fn what_is_faster_than_this_machine_is_said_before() {
    let Some(place) = Place::with_fuse() else { return };
    let two = Two::of(place);
    let end = done(&mut two.bench(&["--repeat", "3", "--emulate", "other=1us,900GB/s"], "true"));
    end.code(0).says("other: a name takes").says("one file is written at");
    end.says("as slow as this machine");
    told(&end, &["other (emulated, in part as local)", "in that it runs as local"]);
    two.nothing_left();
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_runs() {
    let place = Place::new();
    let wrong = |words: &[&str], code: i32, says: &str| {
        let words = ["bench"].iter().chain(words).chain(&["--", "touch", "ran"]);
        let words: Vec<&str> = words.copied().collect();
        done(&mut place.forebay(&words)).code(code).says(says);
    };
    wrong(&["--on", "local,local"], 2, "local is named twice");
    wrong(&["--on", "local", "--repeat", "0"], 2, "0 is not in");
    wrong(&["--on", "local,nfs"], 2, "where is nfs?");
    wrong(&["--on", "local,a=/nowhere"], 2, "a: /nowhere is no directory");
    wrong(&["--on", "local,a/b=/tmp"], 2, "is no name");
    wrong(&["--on", "local", "--emulate", "slow=5ms"], 2, "--on does not name it");
    wrong(&["--on", "local", "--emulate", "local=5"], 2, "a latency is written like 5ms");
    wrong(&["--on", "local", "--within=-1"], 2, "per cent, from 0 to 100");
    wrong(&["--on", "bare", "--emulate", "bare=5ms"], 2, "nothing in between");
    wrong(&["--on", "local", "--for", "0s"], 2, "in no time nothing is run");
    wrong(&["--on", "local", "--until", "5"], 2, "--up-to");
    wrong(&["--on", "local", "--price", "efs"], 2, "--price efs: which of the storages?");
    wrong(&["--on", "local", "--price", "efs=efs.elastic"], 2, "--on does not name it");
    wrong(&["--on", "local", "--price", "local=cloud"], 2, "no price for a storage \"cloud\"");
    wrong(&["--on", "local", "--instance", "pc"], 2, "no price for an hour of machine \"pc\"");
    wrong(&["--on", "local", "--prices", "/nowhere"], 2, "nothing is paid for");
    assert_eq!(std::fs::read_dir(&place.project).expect("there").count(), 0, "nothing was made");
    let words = ["bench", "--record", "no", "--on", "local", "--", "/no/such/program"];
    done(&mut place.forebay(&words)).code(125).says("/no/such/program: No such file");
    let left = std::fs::read_dir(&place.project).expect("there").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["bench"], "no directory of a run is left");
    // More than a clock can tell is no limit.
    const LONG: &str = "99999999999999999999999999999 h";
    let words = ["bench", "--on", "local", "-o", "b2", "--repeat", "1", "--timeout", LONG];
    let words: Vec<&str> = words.into_iter().chain(["--record", "no", "--", "true"]).collect();
    done(&mut place.forebay(&words)).code(0);
}
