//! If these fail, records of other tools become another run than they tell of, or a strange file
//! ends in a panic. Samples of Nextflow and of jobcomp were written by the real programs.

mod noise;

use super::*;
use forebay_model::{Micros, OpenSession, ReportedTask, Run, RunWriter};

fn source(path: &str, content: &str) -> ImportSource {
    ImportSource { path: path.to_owned(), content: content.as_bytes().to_vec() }
}

/// For each importer a file that it reads, and how many tasks are in it.
pub(super) const SAMPLES: &[(&str, &str, &str, usize)] = &[
    ("nextflow", "trace.txt", include_str!("samples/nextflow.txt"), 7),
    ("nextflow", "trace.txt", include_str!("samples/nextflow-raw.txt"), 7),
    ("nextflow", "trace.txt", include_str!("samples/nextflow-all.txt"), 7),
    (
        "snakemake",
        "p/.snakemake/metadata/bWFwL3MxLnNhbQ==",
        include_str!("samples/snakemake.json"),
        1,
    ),
    ("snakemake", "bench/map.tsv", include_str!("samples/benchmark.tsv"), 1),
    ("trinity", "Trinity.timing", include_str!("samples/Trinity.timing"), 3),
    ("wfformat", "a.json", include_str!("samples/wfformat-1.5.json"), 3),
    ("wfformat", "b.json", include_str!("samples/wfformat-1.4.json"), 2),
    ("slurm", "sacct.txt", include_str!("samples/sacct.txt"), 4),
    ("slurm", "jobcomp.txt", include_str!("samples/jobcomp.txt"), 4),
];

fn tasks(importer: &str, path: &str, content: &str) -> Vec<ReportedTask> {
    let importer = Importer::find_by_name(importer).expect("an importer");
    let (_, facts) = importer.import_run(&[source(path, content)], &|_| None).expect(path);
    let of = |fact| match fact {
        Fact::Task(task) => Some(task),
        _ => None,
    };
    facts.into_iter().filter_map(of).collect()
}

fn sample(at: usize) -> Vec<ReportedTask> {
    let (importer, path, content, _) = SAMPLES[at];
    tasks(importer, path, content)
}

#[test]
fn every_importer_has_a_sample_that_becomes_a_run_and_a_workload() {
    for importer in IMPORTERS {
        assert!(SAMPLES.iter().any(|(name, ..)| *name == importer.name), "{}", importer.name);
        assert_eq!(
            Importer::find_by_name(importer.name).map(|found| found.reads),
            Some(importer.reads)
        );
    }
    for (name, path, content, count) in SAMPLES {
        let importer = Importer::find_by_name(name).expect("an importer");
        let (header, facts) = importer.import_run(&[source(path, content)], &|_| None).expect(path);
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("a.run");
        let mut writer = RunWriter::create(&file, header).expect("a run file");
        writer.write_facts(&facts).expect("written");
        writer.finish_run().expect("folded");
        let run = Run::open(&file).expect("readable");
        let rows = run.tasks().expect("tasks");
        assert_eq!(rows.len(), *count, "{path}");
        // What these records do not tell was not seen.
        assert!(rows.iter().all(|row| row.waited.is_none() && row.cpu_system.is_none()));
        let learnt = crate::learn_workload(&run).expect(path);
        assert!(learnt.workload.tasks.len() >= *count && !learnt.workload.doubts.is_empty());
        let again = learnt.simulate_rerun().expect("it can be simulated").makespan.get();
        let measured = learnt.measured.makespan.get();
        assert!((0.7..1.4).contains(&(again / measured)), "{path}: {again} s, not {measured}");
    }
}

#[test]
fn a_trace_of_nextflow_tells_the_same_printed_and_raw() {
    let (short, raw) = (sample(0), sample(1));
    assert_eq!((short[0].name.as_str(), short[0].key.as_deref()), ("SPLIT", Some("s2")));
    // Submitted at .862, done 722 ms later, at work for the last 325 of them: from 1.259 on, which
    // is 14 ms before the next began its own.
    assert_eq!(
        short[0].ended.map(|end| end.since(short[0].started.expect("start")).0),
        Some(325_000)
    );
    assert_eq!((short[0].rchar, short[0].cpu_user), (Some(217_395.into()), Some(Micros(7_475))));
    assert_eq!((short[0].cores, short[6].memory), (None, None), "not told, and not measured");
    assert_eq!((raw[3].cores, raw[3].memory), (Some(2), Some(5_120_000.into())));
    assert_eq!(raw[0].started, Some(Micros(0)));
    assert_eq!(raw[0].ended, Some(Micros(428_000)));
    assert_eq!(raw[6].key.as_deref(), Some("8b/e2294f"));
    assert!(raw.iter().all(|task| task.exit_status == Some(0)));
}

#[test]
fn what_nextflow_took_from_its_cache_did_not_run() {
    let text = SAMPLES[0].2.replacen("COMPLETED", "CACHED", 6);
    let importer = Importer::find_by_name("nextflow").expect("an importer");
    let told = importer.read_records(&[source("t", &text)]).expect("a trace");
    assert_eq!((told.tasks.len(), told.notes.len()), (1, 1));
    let text = SAMPLES[0].2.replace("COMPLETED", "CACHED");
    let flaw = importer.import_run(&[source("t", &text)], &|_| None).expect_err("nothing ran");
    assert_eq!(flaw.to_string(), "t: it tells of no task that ran");
}

fn notes(importer: &str, content: &str) -> Vec<String> {
    let importer = Importer::find_by_name(importer).expect("an importer");
    let (header, _) = importer.import_run(&[source("t", content)], &|_| None).expect("a run");
    header.more.into_iter().map(|(_, note)| note).collect()
}

#[test]
fn a_trace_is_read_whatever_is_between_its_cells() {
    let told = |text: &str| tasks("nextflow", "t", text);
    let with_tabs = told(SAMPLES[2].2);
    for between in [",", ";", " | ", "::"] {
        assert_eq!(told(&SAMPLES[2].2.replace('\t', between)), with_tabs, "{between:?}");
    }
}

#[test]
fn what_nextflow_does_around_a_script_is_told() {
    let trace = "name\tstatus\tstart\tcomplete\trealtime\n\
                 MAP (a)\tCOMPLETED\t1000000000000\t1000000024800\t8000\n\
                 SORT\tCOMPLETED\t1000000030000\t1000000034000\t4000\n";
    let notes = |trace: &str| {
        let (around, _) = notes("nextflow", trace)
            .into_iter()
            .partition::<Vec<_>, _>(|note| note.contains("around"));
        around
    };
    let [note] = &notes(trace)[..] else { panic!("one note") };
    let words = ["spent 16.8 s around scripts that took 12.0 s", "for MAP (16.8 s around 8.0 s)"];
    assert!(words.iter().all(|words| note.contains(words)), "{note}");
    // Little is not worth a word, and without starts the queue would be in it.
    let [] = &notes(&trace.replace("\t8000", "\t24000"))[..] else { panic!("a note") };
    assert!(notes(SAMPLES[0].2).is_empty());
}

#[test]
fn columns_that_figures_come_from_are_told_where_they_are_missing() {
    let told = notes("nextflow", "name\trealtime\tsubmit\tduration\nMAP\t1s\t-\t-\n");
    let says = "no column %cpu, peak_rss, rchar, wchar: ";
    assert!(told.iter().any(|note| note.contains(says)), "{told:?}");
    assert!(notes("nextflow", SAMPLES[0].2).is_empty(), "Nextflow's own choice has all");
}

#[test]
fn tasks_that_have_not_ended_are_told_of() {
    let left = |importer, text: &str| {
        let notes = notes(importer, text);
        assert!(notes.iter().any(|note| note.contains("had not ended")), "{notes:?}");
        notes
    };
    left("nextflow", &SAMPLES[0].2.replacen("COMPLETED", "SUBMITTED", 2));
    let of_slurm = left("slurm", SAMPLES[8].2);
    assert!(of_slurm.iter().any(|note| note.contains("1 job still runs")), "{of_slurm:?}");
    let running = sample(8).pop().expect("jobs");
    assert_eq!((running.key.as_deref(), running.cpu_user), (Some("10"), None));
    let record = include_str!("samples/snakemake.json")
        .replace("\"incomplete\": false", "\"incomplete\": true");
    let whole = include_str!("samples/snakemake.json");
    assert_ne!(record, whole, "the sample has the key");
    let sources = [
        source("p/.snakemake/metadata/bWFwL3MxLnNhbQ==", whole),
        source("p/.snakemake/metadata/bWFwL3MxLmxvZw==", &record),
    ];
    let told =
        Importer::find_by_name("snakemake").expect("one").read_records(&sources).expect("records");
    assert_eq!(told.left_out, 1);
}

#[test]
fn records_of_one_job_are_one_task_and_a_benchmark_joins_it() {
    let record = include_str!("samples/snakemake.json");
    let sources = [
        source("p/.snakemake/metadata/bWFwL3MxLnNhbQ==", record),
        source("p/.snakemake/metadata/bWFwL3MxLmxvZw==", record),
        source("bench/map.s1.tsv", include_str!("samples/benchmark.tsv")),
    ];
    let told =
        Importer::find_by_name("snakemake").expect("one").read_records(&sources).expect("records");
    let [task] = &told.tasks[..] else { panic!("{:?}", told.tasks) };
    let paths: Vec<_> = task.files.iter().map(|used| (used.path.as_str(), used.write)).collect();
    assert_eq!(
        paths,
        [("ref.fa", false), ("reads/s1.fq", false), ("map/s1.sam", true), ("map/s1.log", true)]
    );
    assert_eq!((task.cpu, task.memory), (Some(3_980_000), Some(107_479_040)));
    assert_eq!(task.ended.zip(task.started).map(|(to, from)| to - from), Some(4_100_000));
}

#[test]
fn slurm_tells_jobs_with_what_their_steps_used() {
    let jobs = sample(8);
    assert_eq!((jobs[0].memory, jobs[0].cores), (Some((5 << 30).into()), Some(4)));
    assert_eq!(jobs[0].cpu_user, Some(Micros(2_300_500_000)));
    assert_eq!(jobs[1].exit_status, Some(128 + 125));
    assert_eq!((jobs[2].name.as_str(), jobs[2].started), ("merge all", Some(Micros(605_000_000))));
    assert_eq!(jobs[3].ended, Some(Micros(9_000_000_000)), "it still runs: so long by now");
    let jobs = sample(9);
    let names: Vec<_> = jobs.iter().filter_map(|job| job.key.as_deref()).collect();
    assert_eq!(names, ["1_1", "1_2", "2", "4"]);
    assert_eq!((jobs[2].name.as_str(), jobs[2].exit_status), ("merge all", Some(3)));
}

#[test]
fn trinity_tells_three_phases_in_a_row() {
    let phases = sample(5);
    let told: Vec<_> = phases
        .iter()
        .map(|task| (task.name.as_str(), task.ended.expect("end").0 / 1_000_000))
        .collect();
    assert_eq!(told, [("Inchworm", 9), ("Chrysalis", 171), ("Rest", 185)]);
    assert_eq!((phases[2].after.len(), phases[0].cores), (1, Some(2)));
}

#[test]
fn a_wfformat_tells_files_links_and_lengths() {
    let (_, facts) = wfformat::IMPORTER
        .import_run(&[source("a.json", SAMPLES[6].2)], &|_| None)
        .expect("a workflow");
    let opens: Vec<&OpenSession> = facts
        .iter()
        .filter_map(|fact| if let Fact::Open(open) = fact { Some(open) } else { None })
        .collect();
    assert_eq!(opens.len(), 7);
    assert!(opens.iter().all(|open| open.read.is_none() && open.wrote.is_none() && open.hidden));
    let tasks = sample(6);
    assert_eq!((tasks[0].name.as_str(), tasks[0].cores), ("align", Some(2)));
    assert_eq!(tasks[0].cpu_user, Some(Micros(15_750_000)));
    assert_eq!(
        (tasks[2].started, tasks[2].ended),
        (Some(Micros(20_000_000)), Some(Micros(24_000_000)))
    );
    assert_eq!(tasks[2].after.len(), 2);
}

#[test]
fn a_workload_goes_out_as_wfformat_and_comes_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("a.run");
    let (header, facts) = wfformat::IMPORTER
        .import_run(&[source("a.json", SAMPLES[6].2)], &|_| None)
        .expect("a workflow");
    let mut writer = RunWriter::create(&file, header).expect("a run file");
    writer.write_facts(&facts).expect("written");
    writer.finish_run().expect("folded");
    let work =
        crate::learn_workload(&Run::open(&file).expect("readable")).expect("learnt").workload;
    let text = to_wfformat_json(&work, "a test");
    let told = wfformat::IMPORTER.read_records(&[source("out.json", &text)]).expect("its own");
    let sum = |tasks: &[ImportedTask]| tasks.iter().filter_map(|task| task.lasted).sum::<i64>();
    assert_eq!(sum(&told.tasks), 34_500_000);
    assert_eq!(told.tasks.len(), 3);
    let sizes: u64 = told.tasks.iter().flat_map(|t| &t.files).filter_map(|used| used.size).sum();
    assert_eq!(sizes, 1000 + 300 + 2000 + 400 + 300 + 400 + 700);
}

#[test]
fn flaws_name_the_file_and_the_line() {
    let nextflow = SAMPLES[0].2;
    let cases: &[(&str, &str, String, &str)] = &[
        ("nextflow", "t", String::new(), "t: it is empty"),
        ("nextflow", "t", "a\tb\n1\t2\n".into(), "t:1: it is not a trace of Nextflow: the first"),
        (
            "nextflow",
            "t",
            nextflow.replace("4.9 MB", "lots"),
            "t:2: peak_rss is \"lots\", which is no",
        ),
        ("nextflow", "t", nextflow[..500].into(), "t:5: 7 cells, but"),
        ("snakemake", "x/.snakemake/metadata/bWFw", "{".into(), "bWFw:1: it is no record of Snake"),
        (
            "snakemake",
            "bench.tsv",
            "x\ty\n".into(),
            "bench.tsv:1: it is not a record or a benchmark",
        ),
        ("trinity", "t", "Start: then\n".into(), "t:1: \"Start: then\" is no time"),
        ("trinity", "t", "hello\n".into(), "t: it is not Trinity.timing"),
        ("wfformat", "w", "[]".into(), "w:1: it is no WfFormat"),
        ("wfformat", "w", "{\"schemaVersion\": \"9\"}".into(), "w: its schemaVersion is \"9\""),
        ("wfformat", "w", SAMPLES[6].2.replace("\"a1\", \"a2\"]", "\"zz\"]"), "waits for \"zz\""),
        (
            "wfformat",
            "w",
            SAMPLES[6].2.replacen("\"parents\": []", "\"parents\": [\"m\"]", 1),
            "w: tasks wait for each other in a circle",
        ),
        ("wfformat", "w", SAMPLES[6].2.replace("10.5", "1e300"), "task \"a1\" ran for"),
        ("slurm", "s", "JobId=3 StartTime=soon\n".into(), "s:1: StartTime is \"soon\": no time"),
        ("slurm", "s", SAMPLES[8].2.replace("38:20.500", "x"), "s:3: TotalCPU is \"x\""),
    ];
    for (importer, path, content, words) in cases {
        let importer = Importer::find_by_name(importer).expect("an importer");
        let flaw =
            importer.import_run(&[source(path, content)], &|_| None).expect_err(words).to_string();
        assert!(flaw.contains(words), "{flaw}\nis not\n{words}");
    }
}
