//! Years of traces lie in projects. If an import lies or leaves halves behind, plans are made of
//! them.

use std::process::Command;

use crate::place::{FOREBAY, done};

const TRACE: &str = include_str!("../../../plan/src/import/samples/nextflow.txt");
const JOBS: &str = include_str!("../../../plan/src/import/samples/jobcomp.txt");

fn import(directory: &std::path::Path, words: &[&str]) -> Command {
    let mut command = Command::new(FOREBAY);
    command.current_dir(directory).arg("import").args(words);
    command
}

#[test]
fn records_become_a_run_that_is_shown_like_any_other() {
    let place = tempfile::tempdir().expect("a directory");
    std::fs::write(place.path().join("trace.txt"), TRACE).expect("written");
    let words = ["nextflow", "trace.txt", "-o", "a.run"];
    done(&mut import(place.path(), &words)).code(0).says("7 tasks imported; the run is in a.run");
    let mut summary = Command::new(FOREBAY);
    let shown = done(summary.current_dir(place.path()).args(["summary", "a.run"]));
    let text = shown.code(0).text();
    assert!(text.contains("imported") && text.contains("COUNT"), "{text}");
    let row = text.lines().find(|line| line.starts_with("JOIN")).expect("a row");
    // Its reads are known at most; nobody saw whether it waited.
    assert!(row.contains(" - ") && row.contains("≤92.3 KiB"), "{row}");
    // And so says its page: nobody saw what was read, which is not nothing.
    let mut report = Command::new(FOREBAY);
    let page = done(report.current_dir(place.path()).args(["report", "a.run", "--json"]));
    let page: serde_json::Value = serde_json::from_str(&page.code(0).text()).expect("JSON");
    let overview = &page["runs"][0]["panels"]["overview"];
    for of in ["read", "written"] {
        assert!(overview[format!("{of}_bytes")].is_null(), "{overview}");
        assert!(overview[format!("{of}_at_most_bytes")].as_u64() > Some(0), "{overview}");
    }
    assert!(overview["by_name"]["files"][0].is_null(), "it names no files: {overview}");
    // Once more, over its own.
    done(&mut import(place.path(), &words)).code(0);
    let left: Vec<_> = std::fs::read_dir(place.path()).expect("listed").flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_clock_that_was_set_back_makes_no_negative_time() {
    let place = tempfile::tempdir().expect("a directory");
    let trace = "task_id\thash\tname\tstatus\texit\tsubmit\tstart\tcomplete\n\
                 1\tab/cdef01\tA\tCOMPLETED\t0\t1700000000000\t1700000005000\t1699996405000\n";
    std::fs::write(place.path().join("trace.txt"), trace).expect("written");
    let end = done(&mut import(place.path(), &["nextflow", "trace.txt", "-o", "a.run"]));
    end.code(0).says("1 task ended before it began, by a clock that was set back");
    let run = forebay_model::Run::open(&place.path().join("a.run")).expect("readable");
    for task in run.tasks().expect("readable") {
        assert!(task.ended >= task.started, "{task:?}");
    }
}

#[test]
fn what_is_no_record_is_refused_by_file_and_line() {
    let place = tempfile::tempdir().expect("a directory");
    std::fs::write(place.path().join("jobs"), JOBS.replacen("StartTime=2", "StartTime=x", 1))
        .expect("written");
    let mut slurm = import(place.path(), &["slurm", "jobs", "-o", "a.run"]);
    done(&mut slurm).code(1).says("jobs:1: StartTime is");
    let mut none = import(place.path(), &["nextflow", "jobs", "-o", "a.run"]);
    done(&mut none).code(1).says("jobs:1: it is not a trace of Nextflow").says("reads trace.txt");
    let mut empty = import(place.path(), &["snakemake", ".", "-o", "a.run"]);
    done(&mut empty).code(1).says("has none of the records");
    assert!(!place.path().join("a.run").exists());
}

#[test]
fn a_workload_is_exported_and_comes_back() {
    let place = tempfile::tempdir().expect("a directory");
    let forebay = |words: &[&str]| {
        let mut command = Command::new(FOREBAY);
        done(command.current_dir(place.path()).args(words))
    };
    let study = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/genomon-corun");
    let write = ["export", study, "--format", "wfformat", "-o", "work.json"];
    forebay(&write).code(0).says("work.json");
    done(&mut import(place.path(), &["wfformat", "work.json", "-o", "a.run"])).code(0);
    let text = forebay(&["summary", "a.run"]).code(0).text();
    assert!(text.contains("map_dna_sequence"), "{text}");
    // A run is a workload too, and without -o it goes to standard output.
    let text = forebay(&["export", "a.run"]).code(0).text();
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["schemaVersion"], "1.5");
    forebay(&["export", "work.json"]).code(1).says("work.json:1:");
    forebay(&["export", "a.run", "-o", "./a.run", "--force"])
        .code(1)
        .says("would take the place of what it is made from");
    forebay(&["export", "a.run", "--format", "csv"]).code(2);
}
