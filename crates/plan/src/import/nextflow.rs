//! Nextflow: `trace.txt`, as `-with-trace` and `trace.enabled` write it, with printed or raw
//! numbers. It names no files, so what waited for what has to be inferred from times.

use super::amount_parsing::{
    parse_bytes, parse_duration_words, parse_integer, parse_percent, parse_scaled_decimal,
    parse_timestamp,
};
use super::delimited_table::{DelimitedTable, TableLine, detect_separator};
use super::{ImportError, ImportSource, ImportedRun, ImportedTask, Importer};
use forebay_model::Micros;
use std::collections::BTreeMap;

pub(super) const IMPORTER: Importer = Importer {
    name: "nextflow",
    reads: "trace.txt, as `nextflow run -with-trace` writes it",
    wanted: |path| path.rsplit(|&b| b == b'/').next().is_some_and(|name| name == b"trace.txt"),
    read: read_trace,
};

/// Columns that figures come from; one of each line tells the same.
const FIGURES: [&[&str]; 7] = [
    &["start", "submit"],
    &["complete", "duration"],
    &["realtime"],
    &["%cpu"],
    &["peak_rss"],
    &["rchar"],
    &["wchar"],
];

fn read_trace(sources: &[ImportSource]) -> Result<ImportedRun, ImportError> {
    let mut told = ImportedRun { name: "nextflow".to_owned(), ..ImportedRun::default() };
    let mut cached = 0;
    let mut around = EngineOverhead::default();
    for source in sources {
        let named = |column| {
            DelimitedTable::parse_with_column(
                source,
                detect_separator(source)?,
                column,
                "a trace of Nextflow",
            )
        };
        let table = named("name").or_else(|flaw| named("process").map_err(|_| flaw))?;
        let missing =
            FIGURES.iter().filter(|names| !names.iter().any(|name| table.has_column(name)));
        let missing: Vec<&str> = missing.map(|names| names[0]).collect();
        if !missing.is_empty() {
            told.notes.push(format!(
                "the trace has no column {}: what they say is not seen (`trace.fields` of Nextflow \
                 names the columns)",
                missing.join(", ")
            ));
        }
        for line in table.lines() {
            let line = line?;
            match line.cell("status") {
                Some("CACHED") => cached += 1,
                Some("NEW" | "SUBMITTED" | "ABORTED") => told.left_out += 1,
                _ => {
                    let task = parse_task(&line)?;
                    around.add_task(&task);
                    told.tasks.push(task);
                }
            }
        }
    }
    if cached > 0 {
        told.notes.push(format!("{cached} tasks came from Nextflow's cache and did not run"));
    }
    told.notes.extend(around.overhead_note());
    Ok(told)
}

/// What Nextflow did around the scripts of tasks between their starts and ends, by process.
#[derive(Debug, Default)]
struct EngineOverhead(BTreeMap<String, (i64, i64)>);

impl EngineOverhead {
    fn add_task(&mut self, task: &ImportedTask) {
        let times = (task.started.zip(task.ended), task.lasted);
        if let (Some((start, end)), Some(script)) = times {
            let sums = self.0.entry(task.name.clone()).or_default();
            sums.0 = sums.0.saturating_add(end.saturating_sub(start).saturating_sub(script).max(0));
            sums.1 = sums.1.saturating_add(script);
        }
    }

    /// A tenth of the scripts' time is worth a word.
    fn overhead_note(&self) -> Option<String> {
        let sum = |of: fn(&(i64, i64)) -> i64| self.0.values().map(of).fold(0, i64::saturating_add);
        let (beside, scripts) = (sum(|sums| sums.0), sum(|sums| sums.1));
        let (name, most) = self.0.iter().max_by_key(|(_, sums)| sums.0)?;
        let length = |micros: i64| Micros(micros.unsigned_abs());
        (beside > scripts / 10).then(|| {
            format!(
                "between start and end of tasks Nextflow spent {} around scripts that took {}, most \
                 for {name} ({} around {}): staging files, starting containers, publishing, which \
                 often is waiting for storage",
                length(beside),
                length(scripts),
                length(most.0),
                length(most.1)
            )
        })
    }
}

fn parse_task(line: &TableLine<'_>) -> Result<ImportedTask, ImportError> {
    let at = |name| {
        line.parse_cell(name, "no time", |text| {
            parse_integer(text).map_or_else(|| parse_timestamp(text), millis_to_micros)
        })
    };
    let length = |name| {
        line.parse_cell(name, "no length of time", |text| {
            parse_duration_words(text).or_else(|| parse_scaled_decimal(text, 1_000))
        })
    };
    let amount = |name| line.parse_cell(name, "no amount of bytes", parse_bytes);
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
    let share = line.parse_cell("%cpu", "no share", parse_percent)?;
    let cpu = share.zip(realtime).map(|(share, realtime)| (share * realtime as f64) as u64);
    // Nextflow looks now and then: what was over before has no memory, it says.
    let memory = amount("peak_rss")?.filter(|&bytes| bytes > 0);
    let (name, tag) = process_and_tag(line);
    Ok(ImportedTask {
        name,
        key: tag.or_else(|| line.cell("hash").map(str::to_owned)),
        started,
        ended: complete,
        lasted: realtime,
        exit_status: line.cell("exit").and_then(parse_integer),
        cpu,
        cores: line
            .parse_cell("cpus", "no number", parse_integer)?
            .and_then(|cores| u32::try_from(cores).ok()),
        memory,
        rchar: amount("rchar")?,
        wchar: amount("wchar")?,
        ..ImportedTask::default()
    })
}

/// Raw times are milliseconds.
fn millis_to_micros(number: i64) -> Option<i64> {
    number.checked_mul(1_000)
}

/// `PROCESS (tag)` where the two have no columns of their own.
fn process_and_tag(line: &TableLine<'_>) -> (String, Option<String>) {
    let whole = line.cell("name").unwrap_or_default();
    let (name, tag) = match whole.strip_suffix(')').and_then(|rest| rest.split_once(" (")) {
        Some((name, tag)) => (name, Some(tag)),
        None => (whole, None),
    };
    let name = line.cell("process").unwrap_or(name);
    (name.to_owned(), line.cell("tag").or(tag).map(str::to_owned))
}
