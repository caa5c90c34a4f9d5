//! How long the jobs of a stage are, against each other.

use crate::toml::{ConfigError, TomlEntry, TomlTable};

/// Lists of lengths that stages refer to by name.
pub(super) type NamedLengths<'d> = Vec<(&'d str, Vec<f64>)>;

const LENGTH: (f64, f64) = (1e-6, 1e12);

pub(super) fn parse_named_lists(root: TomlTable<'_>) -> Result<NamedLengths<'_>, ConfigError> {
    let Some(entry) = root.get("lengths") else { return Ok(Vec::new()) };
    entry
        .as_table()?
        .entries()
        .into_iter()
        .map(|entry| Ok((entry.key, parse_length_list(entry)?)))
        .collect()
}

fn parse_length_list(entry: TomlEntry<'_>) -> Result<Vec<f64>, ConfigError> {
    let items = entry.as_list().ok_or_else(|| entry.wrong_type_error("a list of numbers"))?;
    if items.is_empty() {
        return Err(entry.value_error("no length stands here"));
    }
    items.into_iter().map(|item| item.as_number(LENGTH.0, LENGTH.1)).collect()
}

/// `jobs = 5424` of one length; with `spread = 0.1` they are from 0.9 to 1.1, with `shortest =
/// 0.2` from 0.2 to 1. `jobs = "chromosomes"` is a list by name, once for each of `times`.
pub(super) fn job_lengths(
    table: TomlTable<'_>,
    named: &NamedLengths<'_>,
) -> Result<Vec<f64>, ConfigError> {
    let jobs = table.get_required("jobs")?;
    let Ok(name) = jobs.as_text() else {
        return spread_lengths(table, jobs.as_integer(1, 1 << 20)?);
    };
    let Some((_, list)) = named.iter().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
        return Err(jobs.unknown_name_error("list of lengths", name, &known));
    };
    let Some(times) = table.get("times") else { return Ok(list.clone()) };
    let items = times.as_list().ok_or_else(|| times.wrong_type_error("a list of numbers"))?;
    let mut all = Vec::new();
    for item in items {
        let factor = item.as_number(LENGTH.0, LENGTH.1)?;
        all.extend(list.iter().map(|length| length * factor));
    }
    if all.is_empty() { Err(times.value_error("no number stands here")) } else { Ok(all) }
}

fn spread_lengths(table: TomlTable<'_>, jobs: u32) -> Result<Vec<f64>, ConfigError> {
    let (from, to) = match (table.get("spread"), table.get("shortest")) {
        (Some(_), Some(entry)) => {
            return Err(entry.key_error("spread says already how they differ"));
        }
        (Some(entry), None) => {
            let spread = entry.as_number(0.0, 0.999)?;
            (1.0 - spread, 1.0 + spread)
        }
        (None, Some(entry)) => (entry.as_number(1e-3, 1.0)?, 1.0),
        (None, None) => (1.0, 1.0),
    };
    // Long and short ones come mixed, as they do in life: the step is nearly the golden section of
    // their number, and shares no divisor with it, so that each length comes once.
    let mut step = (f64::from(jobs) * 0.618) as u64 | 1;
    while greatest_common_divisor(step, u64::from(jobs)) > 1 {
        step += 2;
    }
    let last = f64::from(jobs.max(2) - 1);
    let place = |job: u32| (u64::from(job) * step % u64::from(jobs)) as f64 / last;
    Ok((0..jobs).map(|job| from + (to - from) * if jobs == 1 { 1.0 } else { place(job) }).collect())
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
