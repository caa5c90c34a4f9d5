//! Snakemake: records below `.snakemake/metadata/`, one for each output, and benchmark files.
//!
//! A record names rule, inputs and times; a benchmark CPU and memory, but in its short form not
//! whose: it goes to the job of that length whose rule its path names.

use super::amount_parsing::{parse_clock, parse_scaled_decimal};
use super::delimited_table::DelimitedTable;
use super::{ImportError, ImportSource, ImportedFileUse, ImportedRun, ImportedTask, Importer};
use forebay_model::tasks::snakemake_output;
use serde::Deserialize;
use std::collections::BTreeMap;

pub(super) const IMPORTER: Importer = Importer {
    name: "snakemake",
    reads: "the project's directory (or files of .snakemake/metadata), and benchmark files",
    wanted: |path| snakemake_output(path).is_some(),
    read: read_metadata,
};

/// What is used of a record; versions differ in the rest.
#[derive(Debug, Deserialize)]
struct Record {
    rule: String,
    #[serde(default)]
    input: Vec<String>,
    starttime: Option<f64>,
    endtime: Option<f64>,
    #[serde(default)]
    incomplete: bool,
    job_hash: Option<i64>,
}

fn read_metadata(sources: &[ImportSource]) -> Result<ImportedRun, ImportError> {
    let mut told = ImportedRun { name: "snakemake".to_owned(), ..ImportedRun::default() };
    // Outputs of one job have one hash, or, in older records, one start.
    let mut jobs: BTreeMap<(String, i64), usize> = BTreeMap::new();
    let mut benchmarks = Vec::new();
    for source in sources {
        let Some(output) = snakemake_output(source.path.as_bytes()) else {
            benchmarks.push((source, parse_benchmark(source)?));
            continue;
        };
        let record: Record = serde_json::from_slice(&source.content).map_err(|error| {
            ImportError::new(source, error.line(), format!("it is no record of Snakemake: {error}"))
        })?;
        if record.incomplete {
            told.left_out += 1;
            continue;
        }
        let times = [record.starttime, record.endtime].map(|time| time.map(seconds_to_micros));
        let bad = || ImportError::new(source, None, "starttime or endtime is no time");
        let [started, ended] = match times {
            [Some(None), _] | [_, Some(None)] => return Err(bad()),
            [started, ended] => [started.flatten(), ended.flatten()],
        };
        let which = (record.rule.clone(), record.job_hash.or(started).unwrap_or(0));
        let place = *jobs.entry(which).or_insert_with(|| {
            let read = |path: &String| ImportedFileUse {
                path: path.clone(),
                ..ImportedFileUse::default()
            };
            told.tasks.push(ImportedTask {
                name: record.rule.clone(),
                started,
                exit_status: Some(0),
                files: record.input.iter().map(read).collect(),
                ..ImportedTask::default()
            });
            told.tasks.len() - 1
        });
        let task = &mut told.tasks[place];
        // Each output has its own record, the last was written last.
        task.ended = task.ended.max(ended);
        task.started = task.started.into_iter().chain(started).min();
        let path = String::from_utf8_lossy(&output).into_owned();
        task.key = task.key.take().into_iter().chain([path.clone()]).min();
        task.files.push(ImportedFileUse { path, write: true, ..ImportedFileUse::default() });
    }
    for (source, found) in benchmarks {
        assign_benchmark(source, found, &mut told);
    }
    Ok(told)
}

/// Microseconds since 1970.
fn seconds_to_micros(seconds: f64) -> Option<i64> {
    (0.0..1e11).contains(&seconds).then_some((seconds * 1e6).round() as i64)
}

/// One repeat of a benchmark.
#[derive(Clone, Debug)]
struct Benchmark {
    rule: Option<String>,
    lasted: i64,
    cpu: Option<u64>,
    memory: Option<u64>,
    threads: Option<u32>,
}

/// The first repeat; the others tell the same job once more.
fn parse_benchmark(source: &ImportSource) -> Result<Option<Benchmark>, ImportError> {
    let table = DelimitedTable::parse_with_column(
        source,
        "\t",
        "s",
        "a record or a benchmark of Snakemake",
    )?;
    let Some(line) = table.lines().next().transpose()? else { return Ok(None) };
    let number =
        |name| line.parse_cell(name, "no number", |text| parse_scaled_decimal(text, 1_000_000));
    // Of a job that was over too soon, everything but the time is NA, or empty.
    let known = |name| match line.cell(name) {
        None | Some("NA") => Ok(None),
        Some(_) => number(name),
    };
    let lasted = match number("s")? {
        Some(lasted) => lasted,
        None => line
            .parse_cell("h:m:s", "no length of time", parse_clock)?
            .ok_or_else(|| line.error_at_line("there is no time in s or h:m:s"))?,
    };
    // Megabytes here are 2^20 bytes.
    let bytes = |mebibytes: i64| ((mebibytes as f64 / 1e6) * 1_048_576.0) as u64;
    Ok(Some(Benchmark {
        rule: line.cell("rule_name").map(str::to_owned),
        lasted,
        cpu: known("cpu_time")?.and_then(|cpu| u64::try_from(cpu).ok()),
        memory: known("max_rss")?.map(bytes),
        threads: line.cell("threads").and_then(|threads| threads.parse().ok()),
    }))
}

/// Gives a benchmark to its job; where there is none, it is a job by itself.
fn assign_benchmark(source: &ImportSource, found: Option<Benchmark>, told: &mut ImportedRun) {
    const NEAR_MICROS: i64 = 1_000_000;
    let Some(found) = found else { return };
    let fits = |task: &ImportedTask| {
        let lasted = task.started.zip(task.ended).map(|(from, to)| to.abs_diff(from))?;
        let named = match &found.rule {
            Some(rule) => *rule == task.name,
            None => source.path.contains(&task.name),
        };
        let miss = lasted.abs_diff(found.lasted.unsigned_abs());
        let near = miss <= NEAR_MICROS.unsigned_abs() + lasted / 50;
        (named && near && task.memory.is_none() && task.cpu.is_none()).then_some(miss)
    };
    let nearest = told.tasks.iter_mut().filter_map(|task| Some((fits(task)?, task)));
    if let Some((_, task)) = nearest.min_by_key(|(miss, _)| *miss) {
        (task.cpu, task.memory, task.cores) = (found.cpu, found.memory, found.threads);
        return;
    }
    let name = source.path.rsplit('/').next().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    told.tasks.push(ImportedTask {
        name: found.rule.unwrap_or_else(|| stem.to_owned()),
        key: Some(name.to_owned()),
        lasted: Some(found.lasted),
        cpu: found.cpu,
        memory: found.memory,
        cores: found.threads,
        ..ImportedTask::default()
    });
}
