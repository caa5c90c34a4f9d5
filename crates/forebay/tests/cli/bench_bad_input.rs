//! A comparison on storages that fail, and how long it goes on. If these fail, a night of runs is
//! lost to a disk that was full in the morning.

use crate::bench::{Two, told};
use crate::place::{Place, done};

#[test]
fn a_storage_that_fills_up_is_an_outcome() {
    let Some(place) = Place::with_root() else { return };
    let script = "head -c 3000000 /dev/zero > f";
    let words = ["bench", "--on", "local,tiny=../tiny", "--repeat", "2", "--", "sh", "-c", script];
    let prepare = "mkdir -p ../tiny; mount -t tmpfs -o size=1m tiny ../tiny";
    let end = done(&mut place.apart(prepare, &place.forebay(&words)));
    end.code(1).says("on tiny failed with exit code 1; no room was left there");
    told(&end, &["100 % of runs failed", "tiny: no room was left in 2 of the runs that failed"]);
    let kept = place.read("bench/results.jsonl");
    assert_eq!(kept.lines().count(), 5, "{kept}");
    place.nobody_left();
}

#[test]
fn a_storage_that_cannot_be_written_keeps_what_there_is() {
    let Some(place) = Place::with_root() else { return };
    let words = ["bench", "--record", "no", "--on", "local,ro=../ro", "--", "true"];
    let prepare = "mkdir -p ../ro; mount -t tmpfs -o ro ro ../ro";
    let end = done(&mut place.apart(prepare, &place.forebay(&words)));
    end.code(1).says("Read-only file system").says("Runs so far are kept");
    let left = std::fs::read_dir(&place.project).expect("there").count();
    assert_eq!(left, 1, "the results alone");
}

#[test]
fn a_storage_that_disappears_is_waited_for_by_the_next_bench() {
    let two = Two::of(Place::new());
    let script = "cd \"$FOREBAY_BENCH_FROM\"/..; echo >> ran; \
                  if [ $(wc -l < ran) = 4 ]; then rm -rf other; fi";
    // Whichever of the two that run was on: its directory went, or that of a later round can't be
    // made.
    let words = ["--record", "no", "--repeat", "3"];
    let end = done(&mut two.recorded(&words, script));
    end.code(1).says("No such file or directory").says("uns so far are kept");
    assert_eq!(two.lines(), 5, "four runs are there, the one that did it among them");
    std::fs::create_dir(&two.other).expect("it is back");
    done(&mut two.recorded(&words, script)).code(0).says("4 runs are in");
    assert_eq!(two.lines(), 7);
    let ran = std::fs::read_to_string(two.place.all.join("ran")).expect("runs");
    assert_eq!(ran.lines().count(), 6, "none was run twice");
}

#[test]
fn a_directory_that_cannot_be_removed_loses_no_result() {
    let Some(place) = Place::with_root() else { return };
    let script = "mkdir m && mount -t tmpfs m m";
    let words = ["bench", "--record", "no", "--on", "local", "--", "sh", "-c", script];
    let end = done(&mut place.apart(":", &place.forebay(&words)));
    end.code(1).says("can't be removed").says("remove it by hand; runs so far are kept");
    let kept = place.read("bench/results.jsonl");
    assert_eq!(kept.lines().count(), 2, "{kept}");
    assert!(kept.contains("\"exit\":0"), "{kept}");
}

#[test]
fn who_stays_on_a_storage_ends_the_bench_and_takes_no_result() {
    let Some(place) = Place::with_fuse() else { return };
    // A session of its own: no signal to the command's group reaches it.
    let script = "setsid sh -c 'while [ ! -e \"$FOREBAY_BENCH_FROM\"/../over ]; do sleep 0.1; done' \
                  > f 2>&1 & while [ ! -e f ]; do sleep 0.01; done";
    let end = done(&mut place.forebay(&["bench", "--on", "local,bare", "--", "sh", "-c", script]));
    end.code(1).says("is in use: s").says("runs so far are kept; unmount it when nobody uses");
    let kept = place.read("bench/results.jsonl");
    assert!(
        kept.lines().any(|line| line.contains("\"on\":\"local\"") && line.contains("\"exit\":0"))
    );
    let left = std::fs::read_dir(&place.project).expect("there").flatten();
    let left = left.map(|entry| entry.path()).find(|path| !path.ends_with("bench"));
    let left = left.expect("its directory, which is in use");
    let words = ["unmount", "--lazy", left.to_str().expect("a plain name")];
    done(&mut place.forebay(&words)).code(0);
    std::fs::write(place.all.join("over"), "").expect("written");
    place.nobody_left();
}

#[test]
fn results_of_another_version_are_refused_by_name() {
    let two = Two::of(Place::new());
    std::fs::create_dir(two.place.project.join("bench")).expect("made");
    let old = "{\"schema\":1,\"forebay\":\"0.1.0\",\"command\":[\"true\"]}\n";
    std::fs::write(two.results(), old).expect("written");
    let end = done(&mut two.recorded(&["--record", "no"], "true"));
    end.code(1).says("another version of Forebay (schema 1, and not 2)").says("-o");
    assert_eq!(std::fs::read_to_string(two.results()).expect("there"), old);
}

#[test]
#[ignore = "timing: make timing"]
fn timing_a_run_far_slower_than_its_peers_is_marked_and_counts() {
    let place = Place::new();
    let script = "cd \"$FOREBAY_BENCH_FROM\"/..; echo >> ran; \
                  if [ $(wc -l < ran) = 4 ]; then sleep 2; fi";
    let words = ["bench", "--record", "no", "--on", "local", "--", "sh", "-c", script];
    let end = done(&mut place.forebay(&words));
    end.code(0);
    told(&end, &["local: round 3 stands far from the others, and counts", "    5       0  "]);
}

#[test]
fn rounds_go_on_until_a_time_is_over() {
    let two = Two::of(Place::new());
    let bench = |time: &str| {
        let words = ["--record", "no", "--for", time];
        done(&mut two.recorded(&words, "sleep 0.1; test ! -e \"$FOREBAY_BENCH_FROM\"/../broken"))
    };
    let end = bench("1s");
    end.code(0);
    let lines = two.lines();
    assert!(lines >= 3 && lines % 2 == 1, "whole rounds: {lines} lines");
    told(&end, &["local: 0 % of runs failed (0 to ", "other: 0 % of runs failed (0 to "]);
    // What was spent before counts.
    bench("100ms").code(0);
    assert_eq!(two.lines(), lines);
    std::fs::write(two.place.all.join("broken"), "").expect("written");
    let more = format!("{}s", two.seconds() + 1.0);
    bench(&more).code(1).says("on other failed with exit code 1");
    assert!(two.lines() > lines);
}

#[test]
#[ignore = "timing: make timing"]
fn timing_rounds_of_a_tenth_of_a_second_fit_a_second() {
    let two = Two::of(Place::new());
    done(&mut two.recorded(&["--record", "no", "--for", "1s"], "sleep 0.1")).code(0);
    assert!(two.lines() > 3, "more than one round: {} lines", two.lines());
}

#[test]
fn rounds_go_on_until_intervals_are_narrow() {
    let two = Two::of(Place::new());
    // Every ratio is decided at once, and none is known to a ten-thousandth.
    let words = ["--record", "no", "--repeat", "2", "--within", "100", "--up-to", "7"];
    done(&mut two.recorded(&[&words[..], &["--until", "0.01"]].concat(), "true")).code(0);
    assert_eq!(two.lines(), 15, "seven rounds on two storages");
}

#[test]
#[ignore = "timing: make timing"]
fn timing_rounds_end_as_soon_as_intervals_are_narrow() {
    let words = ["--record", "no", "--repeat", "2", "--within", "100", "--up-to", "7"];
    let two = Two::of(Place::new());
    done(&mut two.recorded(&[&words[..], &["--until", "100"]].concat(), "sleep 0.3")).code(0);
    assert_eq!(two.lines(), 13, "six rounds are the first that have an interval");
}
