//! Nextflow: `trace.txt`, as `-with-trace` and `trace.enabled` write it, with printed or raw
//! numbers. It names no files, so what waited for what has to be inferred from times.

use super::amounts::{bytes, micros, moment, percent, spelled, whole};
use super::table::{Line, Table};
use super::{Importer, NotRead, Source, Told, ToldTask};

pub(super) const IMPORTER: Importer = Importer {
    name: "nextflow",
    reads: "trace.txt, as `nextflow run -with-trace` writes it",
    wanted: |path| path.rsplit(|&b| b == b'/').next().is_some_and(|name| name == b"trace.txt"),
    read,
};

fn read(sources: &[Source]) -> Result<Told, NotRead> {
    let mut told = Told { name: "nextflow".to_owned(), ..Told::default() };
    let mut cached = 0;
    for source in sources {
        let named = |column| Table::of(source, '\t', column, "a trace of Nextflow");
        let table = named("name").or_else(|flaw| named("process").map_err(|_| flaw))?;
        for line in table.lines() {
            let line = line?;
            match line.cell("status") {
                Some("CACHED") => cached += 1,
                Some("NEW" | "SUBMITTED" | "ABORTED") => {}
                _ => told.tasks.push(task(&line)?),
            }
        }
    }
    if cached > 0 {
        told.notes.push(format!("{cached} tasks came from Nextflow's cache and did not run"));
    }
    Ok(told)
}

fn task(line: &Line<'_>) -> Result<ToldTask, NotRead> {
    let at = |name| line.read(name, "no time", |text| whole(text).map_or_else(|| moment(text), ms));
    let length = |name| {
        line.read(name, "no length of time", |text| spelled(text).or_else(|| micros(text, 1_000)))
    };
    let amount = |name| line.read(name, "no amount of bytes", bytes);
    let (submit, duration, realtime) = (at("submit")?, length("duration")?, length("realtime")?);
    let complete = match (at("complete")?, submit, duration) {
        (Some(complete), ..) => Some(complete),
        (None, Some(submit), Some(duration)) => submit.checked_add(duration),
        _ => None,
    };
    let started = match (at("start")?, complete, realtime) {
        (Some(start), ..) => Some(start),
        (None, Some(complete), Some(realtime)) => complete.checked_sub(realtime),
        _ => None,
    };
    let share = line.read("%cpu", "no share", percent)?;
    let cpu = share.zip(realtime).map(|(share, realtime)| (share * realtime as f64) as u64);
    // Nextflow looks now and then: what was over before has no memory, it says.
    let memory = amount("peak_rss")?.filter(|&bytes| bytes > 0);
    let (name, tag) = name(line);
    Ok(ToldTask {
        name,
        key: tag.or_else(|| line.cell("hash").map(str::to_owned)),
        started,
        ended: complete,
        lasted: realtime,
        exit_status: line.cell("exit").and_then(whole),
        cpu,
        cores: line.read("cpus", "no number", whole)?.and_then(|cores| u32::try_from(cores).ok()),
        memory,
        rchar: amount("rchar")?,
        wchar: amount("wchar")?,
        ..ToldTask::default()
    })
}

/// Raw times are milliseconds.
fn ms(number: i64) -> Option<i64> {
    number.checked_mul(1_000)
}

/// `PROCESS (tag)` where the two have no columns of their own.
fn name(line: &Line<'_>) -> (String, Option<String>) {
    let whole = line.cell("name").unwrap_or_default();
    let (name, tag) = match whole.strip_suffix(')').and_then(|rest| rest.split_once(" (")) {
        Some((name, tag)) => (name, Some(tag)),
        None => (whole, None),
    };
    let name = line.cell("process").unwrap_or(name);
    (name.to_owned(), line.cell("tag").or(tag).map(str::to_owned))
}
