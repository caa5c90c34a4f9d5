//! If these fail, rules that were learnt on one batch of samples match nothing of the next, or files
//! of different stages share a rule.
use super::super::tests::{secs, task};
use super::*;
use crate::loaded_run::LoadedOpen;
use forebay_model::{ClassId, FileId, FileRecord, TreeId};

/// A run: each task with its name, what it reads and what it makes.
fn patterns(tasks: &[(&str, &[&str], &[&str])]) -> BTreeMap<String, String> {
    patterns_of(tasks, |_| false)
}

/// With `by_shell` it is a shell that opens this file for the task that makes it.
fn patterns_of(
    tasks: &[(&str, &[&str], &[&str])],
    by_shell: impl Fn(&str) -> bool,
) -> BTreeMap<String, String> {
    const SHELL: u32 = 1000;
    let mut rows = LoadedRun::default();
    rows.tasks.push(forebay_model::run::TaskRow { driver: true, ..task(SHELL, "sh", 0.0, 99.0) });
    let mut ids: BTreeMap<String, FileId> = BTreeMap::new();
    for (number, (name, reads, makes)) in tasks.iter().enumerate() {
        let number = number as u32;
        rows.tasks.push(task(number, name, f64::from(number), f64::from(number) + 1.0));
        for (path, made) in reads.iter().map(|p| (p, false)).chain(makes.iter().map(|p| (p, true)))
        {
            let pattern = forebay_model::file_classes::class_of(path.as_bytes());
            let known = rows.classes.iter().find(|(_, name)| **name == pattern);
            let class = known.map_or(rows.classes.len() as u32, |(id, _)| *id);
            rows.classes.insert(class, pattern);
            let id = FileId(ids.len() as u32);
            let file = *ids.entry((*path).to_owned()).or_insert(id);
            if file == id {
                let path = path.as_bytes().to_vec();
                let class = ClassId(class);
                rows.files.push(FileRecord { id, tree: TreeId(0), path, class, home: None });
            }
            rows.opens.push(LoadedOpen {
                task: Some(if made && by_shell(path) { SHELL } else { number }),
                file,
                write: made,
                created: made,
                at: secs(f64::from(number)),
                read: Some(if made { 0 } else { 9 }),
                wrote: Some(if made { 9 } else { 0 }),
                ..LoadedOpen::default()
            });
        }
    }
    join_samples(&mut rows);
    let class = |file: &FileRecord| rows.classes[&file.class.0].clone();
    rows.files
        .iter()
        .map(|file| (String::from_utf8_lossy(&file.path).into_owned(), class(file)))
        .collect()
}

fn check(tasks: &[(&str, &[&str], &[&str])], expected: &[(&str, &str)]) {
    let patterns = patterns(tasks);
    for (path, pattern) in expected {
        assert_eq!(&patterns[*path], pattern, "{path} in {patterns:?}");
    }
}

#[test]
fn samples_of_one_batch_become_one_class() {
    check(
        &[
            ("trim", &["data/hs_1.fq", "data/hs_2.fq"], &["trim/hs_1.fq", "trim/hs_2.fq"]),
            ("trim", &["data/ds_1.fq", "data/ds_2.fq"], &["trim/ds_1.fq", "trim/ds_2.fq"]),
            ("align", &["trim/hs_1.fq", "trim/hs_2.fq", "ref/all.fa"], &["bam/dedup_hs.bam"]),
            ("align", &["trim/ds_1.fq", "trim/ds_2.fq", "ref/all.fa"], &["bam/dedup_ds.bam"]),
            ("count", &["bam/dedup_hs.bam"], &["counts/hs/genes.tsv", "counts/hs/junctions.tsv"]),
            ("count", &["bam/dedup_ds.bam"], &["counts/ds/genes.tsv", "counts/ds/junctions.tsv"]),
            ("report", &["counts/hs/genes.tsv", "counts/ds/genes.tsv"], &["report.html"]),
        ],
        &[
            ("data/hs_1.fq", "data/*_#.fq"),
            ("trim/hs_1.fq", "trim/*_#.fq"),
            ("trim/ds_2.fq", "trim/*_#.fq"),
            ("bam/dedup_hs.bam", "bam/dedup_*.bam"),
            ("counts/ds/genes.tsv", "counts/*/genes.tsv"),
            ("counts/hs/junctions.tsv", "counts/*/junctions.tsv"),
            ("ref/all.fa", "ref/all.fa"),
            ("report.html", "report.html"),
        ],
    );
}

#[test]
fn one_sample_is_told_by_what_goes_from_stage_to_stage() {
    const NAMES: [&str; 8] = [
        "data/@_1.fastq.gz",
        "data/@_2.fastq.gz",
        "qc/@_1_fastqc.html",
        "qc/@_2_fastqc.html",
        "trim/@_1.fq",
        "trim/@_2.fq",
        "star/@/Aligned.bam",
        "counts/@.tsv",
    ];
    for sample in ["hs", "patient_A_T2", "SRR0012", "liver.rep1"] {
        let names = NAMES.map(|name| name.replace('@', sample));
        let n = |at: usize| names[at].as_str();
        check(
            &[
                ("fastqc", &[n(0), n(1)], &[n(2), n(3)]),
                ("trim", &[n(0), n(1), "tools/trim.py"], &[n(4), n(5), "logs/trim.log"]),
                ("star", &[n(4), n(5)], &[n(6)]),
                ("count", &[n(6), "genes.gtf"], &[n(7)]),
            ],
            &[
                (n(2), "qc/*_#_fastqc.html"),
                (n(5), "trim/*_#.fq"),
                (n(6), "star/*/Aligned.bam"),
                (n(7), "counts/*.tsv"),
                (n(1), "data/*_#.fastq.gz"),
                ("logs/trim.log", "logs/trim.log"),
            ],
        );
    }
}

#[test]
fn samples_without_inputs_that_are_seen_are_told_by_their_tasks() {
    // Inputs are elsewhere, work directories are drawn, and a name has no sample at its start.
    let work = |hash: &str, name: &str| format!("work/{}/{}/{name}", &hash[..2], &hash[2..]);
    let (a, b) = ("0a123456789abcdef0123456789abcde", "1b123456789abcdef0123456789abcde");
    let (one, other) = (work(a, "aligned.hs.bam"), work(b, "aligned.ds.bam"));
    check(
        &[("ALIGN", &[], &[&one]), ("ALIGN", &[], &[&other])],
        &[(&one, "work/*/*/aligned.*.bam"), (&other, "work/*/*/aligned.*.bam")],
    );
}

#[test]
fn samples_are_told_where_a_shell_opens_the_files_of_its_programs() {
    let tasks: &[(&str, &[&str], &[&str])] = &[
        ("head", &[], &["data/hs_1.fq", "data/ds_1.fq"]),
        ("tr", &["data/hs_1.fq"], &["trim/hs_1.fq"]),
        ("tr", &["data/ds_1.fq"], &["trim/ds_1.fq"]),
        ("cat", &["trim/hs_1.fq"], &["bam/hs.bam", "counts/hs/genes.tsv"]),
        ("cat", &["trim/ds_1.fq"], &["bam/ds.bam", "counts/ds/genes.tsv"]),
        ("wc", &["counts/hs/genes.tsv", "counts/ds/genes.tsv"], &["report.txt"]),
    ];
    // Of all files, or of those of one sample: the other's programs were seen to open theirs.
    for by_shell in [|_: &str| true, |path: &str| path.contains("ds")] {
        let patterns = patterns_of(tasks, by_shell);
        has_wildcards(&patterns);
    }
}

fn has_wildcards(patterns: &BTreeMap<String, String>) {
    for (path, pattern) in [
        ("data/hs_1.fq", "data/*_#.fq"),
        ("trim/ds_1.fq", "trim/*_#.fq"),
        ("bam/ds.bam", "bam/*.bam"),
        ("counts/hs/genes.tsv", "counts/*/genes.tsv"),
        ("report.txt", "report.txt"),
    ] {
        assert_eq!(patterns[path], pattern, "{path} in {patterns:?}");
    }
}

#[test]
fn files_of_different_tasks_stay_apart() {
    let apart = [
        ("both.fa", "both.fa"),
        ("inchworm.fa", "inchworm.fa"),
        ("out/filter.tsv", "out/filter.tsv"),
        ("out/merge.tsv", "out/merge.tsv"),
    ];
    check(
        &[
            ("cat", &["left.fq"], &["both.fa"]),
            ("inchworm", &["both.fa"], &["inchworm.fa", "both.fa.ok"]),
            ("python", &["inchworm.fa"], &["out/filter.tsv"]),
            ("python", &["out/filter.tsv"], &["out/merge.tsv"]),
        ],
        &apart,
    );
}
