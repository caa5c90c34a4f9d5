//! Lost if these fail: workloads that measure nothing, or that cannot be verified.

use super::*;
use std::path::PathBuf;

fn fresh(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("forebay-bench-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory in the temporary directory");
    dir
}

#[test]
fn every_workload_runs_bare_and_verifies() {
    let scale = WorkScale(0.01);
    for workload in all_workloads() {
        let dir = fresh(workload.name);
        let place = WorkDirectory::open(&dir, scale, &[]).expect("the fresh directory");
        (workload.setup)(&place).unwrap_or_else(|e| panic!("{} setup: {e}", workload.name));
        let done = measure_workload(workload, &dir, scale, &[])
            .unwrap_or_else(|e| panic!("{} run: {e}", workload.name));
        (workload.verify)(&place).unwrap_or_else(|e| panic!("{} verify: {e}", workload.name));
        assert!(done.ops > 0 && done.seconds > 0.0, "{}", workload.name);
        assert!(done.samples > 0, "{} has no latencies", workload.name);
        assert_eq!(done.bytes > 0, workload.unit == FigureUnit::MibPerSecond || done.bytes > 0);
        std::fs::remove_dir_all(&dir).expect("removing the fresh directory");
    }
}

#[test]
fn names_are_unique_and_described() {
    let mut names: Vec<_> = all_workloads().map(|workload| workload.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(
        all_workloads().all(|workload| !workload.operation.is_empty() && workload.sample_every > 0)
    );
    assert!(find_workload("create-300").is_ok());
    assert!(find_workload("nothing-like-it").is_err());
}

#[test]
fn verify_notices_a_missing_and_a_wrong_file() {
    let dir = fresh("verify");
    let scale = WorkScale(0.01);
    let workload = find_workload("create-300").expect("it is in the table");
    measure_workload(workload, &dir, scale, &[]).expect("creating in a fresh directory");
    let place = WorkDirectory::open(&dir, scale, &[]).expect("the directory");
    (workload.verify)(&place).expect("all files are there");
    std::fs::write(dir.join("f000003"), b"short").expect("overwriting one file");
    assert!((workload.verify)(&place).is_err());
    std::fs::remove_file(dir.join("f000003")).expect("removing one file");
    assert!((workload.verify)(&place).is_err());
    std::fs::remove_dir_all(&dir).expect("removing the directory");
}
