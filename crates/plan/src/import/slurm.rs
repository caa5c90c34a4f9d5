//! Slurm: what `sacct -P` prints, and the file of `jobcomp/filetxt`, in which there is a line for
//! each job. Neither names files; which job waited for which is not in them.

mod completed;

use super::amount_parsing::{parse_bytes, parse_days_and_clock, parse_integer, parse_timestamp};
use super::delimited_table::{DelimitedTable, TableLine};
use super::{ImportError, ImportSource, ImportedRun, ImportedTask, Importer, utf8_text};
use std::collections::BTreeMap;

pub(super) const IMPORTER: Importer = Importer {
    name: "slurm",
    reads: "what `sacct -P` printed, or the file of JobCompType=jobcomp/filetxt",
    wanted: |_| false,
    read: read_job_records,
};

fn read_job_records(sources: &[ImportSource]) -> Result<ImportedRun, ImportError> {
    let mut told = ImportedRun { name: "slurm".to_owned(), ..ImportedRun::default() };
    for source in sources {
        let first =
            utf8_text(source)?.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        if first.starts_with("JobId=") {
            completed::read_jobcomp_file(source, &mut told)?;
        } else {
            read_sacct_table(source, &mut told)?;
        }
    }
    Ok(told)
}

/// Steps (`7.batch`, `7.0`) tell what their job used.
fn read_sacct_table(source: &ImportSource, told: &mut ImportedRun) -> Result<(), ImportError> {
    let table = DelimitedTable::parse_with_column(source, "|", "JobID", "a table of `sacct -P`")?;
    let mut jobs: BTreeMap<String, usize> = BTreeMap::new();
    let mut running = Vec::new();
    for line in table.lines() {
        let line = line?;
        let id = line.cell("JobID").ok_or_else(|| line.error_at_line("there is no JobID"))?;
        let (job, step) = id.split_once('.').map_or((id, None), |(job, step)| (job, Some(step)));
        let clock = |name| line.parse_cell(name, "no length of time", parse_days_and_clock);
        let memory = line.parse_cell("MaxRSS", "no amount of bytes", parse_bytes)?;
        let cpu = clock("TotalCPU")?.and_then(|cpu| u64::try_from(cpu).ok());
        if step.is_some() {
            if let Some(&place) = jobs.get(job) {
                let task = &mut told.tasks[place];
                task.memory = task.memory.max(memory);
                task.cpu = task.cpu.max(cpu);
            }
            continue;
        }
        let started = parse_time_cell(&line, "Start")?;
        let Some(started) = started else {
            told.left_out += 1;
            continue;
        };
        let lasted = match line.parse_cell("ElapsedRaw", "no number", parse_integer)? {
            Some(seconds) => seconds.checked_mul(1_000_000),
            None => clock("Elapsed")?,
        };
        let ended = parse_time_cell(&line, "End")?;
        if ended.is_none() {
            running.push(told.tasks.len());
        }
        let ended = ended.or_else(|| started.checked_add(lasted?));
        let cores = match line.cell("AllocCPUS").or_else(|| line.cell("NCPUS")) {
            Some(cores) => parse_integer(cores).and_then(|cores| u32::try_from(cores).ok()),
            None => None,
        };
        let task = ImportedTask {
            name: line.cell("JobName").unwrap_or("job").to_owned(),
            key: Some(job.to_owned()),
            started: Some(started),
            ended,
            exit_status: line.cell("ExitCode").and_then(parse_exit_code),
            cpu,
            cores: cores.filter(|&cores| cores > 0),
            memory,
            ..ImportedTask::default()
        };
        jobs.insert(job.to_owned(), told.tasks.len());
        told.tasks.push(task);
    }
    // What a step used is told when it has ended: until then it is not seen, and no 0.
    for &place in &running {
        let task = &mut told.tasks[place];
        task.cpu = task.cpu.filter(|&cpu| cpu > 0);
    }
    if !running.is_empty() {
        let (noun, still) = if running.len() == 1 { ("job", "runs") } else { ("jobs", "run") };
        told.notes.push(format!(
            "{} {noun} still {still}, and {} told up to then",
            running.len(),
            if running.len() == 1 { "is" } else { "are" }
        ));
    }
    Ok(())
}

fn parse_time_cell(line: &TableLine<'_>, name: &str) -> Result<Option<i64>, ImportError> {
    match line.cell(name) {
        None | Some("Unknown" | "None") => Ok(None),
        Some(_) => line.parse_cell(name, "no time", parse_timestamp),
    }
}

/// `STATUS:SIGNAL`, as a shell counts it.
fn parse_exit_code(code: &str) -> Option<i64> {
    let (status, signal) = code.split_once(':')?;
    match parse_integer(signal)? {
        0 => parse_integer(status),
        signal => signal.checked_add(128),
    }
}
