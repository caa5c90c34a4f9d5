//! Trinity: `Trinity.timing`, the end of a run in three phases. Newer versions print the names of
//! the phases beside times that are not theirs, so the names are told with that warning.

use super::amount_parsing::{parse_date_output, parse_integer};
use super::{ImportError, ImportSource, ImportedRun, ImportedTask, Importer, utf8_text};

pub(super) const IMPORTER: Importer = Importer {
    name: "trinity",
    reads: "Trinity.timing",
    wanted: |path| path.ends_with(b"Trinity.timing"),
    read: read_timings,
};

fn read_timings(sources: &[ImportSource]) -> Result<ImportedRun, ImportError> {
    let mut told = ImportedRun { name: "Trinity".to_owned(), ..ImportedRun::default() };
    for source in sources {
        read_timing_file(source, &mut told)?;
    }
    told.notes.push(
        "Trinity.timing names three phases, but in some versions a time is not that of its phase; \
         only their sum is sure"
            .to_owned(),
    );
    Ok(told)
}

fn read_timing_file(source: &ImportSource, told: &mut ImportedRun) -> Result<(), ImportError> {
    let (mut began, mut cores, mut phases) = (None, None, Vec::new());
    for (at, line) in utf8_text(source)?.lines().enumerate() {
        let bad = |what| ImportError::new(source, at + 1, format!("{:?} is {what}", line.trim()));
        if let Some(when) = line.strip_prefix("Start:") {
            began = Some(parse_date_output(when).ok_or_else(|| bad("no time"))?);
        } else if let Some(parameters) = line.strip_prefix("Trinity Parameters:") {
            let mut words = parameters.split_whitespace();
            cores = words.find(|word| *word == "--CPU").and_then(|_| parse_integer(words.next()?));
        } else if let Some((name, rest)) = line.strip_prefix("  ").and_then(|l| l.split_once(" ("))
            && let Some((_, time)) = rest.split_once(')')
        {
            let seconds = time.trim().strip_suffix("seconds").unwrap_or(time);
            phases.push((name, parse_integer(seconds).ok_or_else(|| bad("no time of a phase"))?));
        }
    }
    let Some(mut at) = began.filter(|_| !phases.is_empty()) else {
        let why = "it is not Trinity.timing, or of a run that did not end: there is no Start and no \
                   phase in it";
        return Err(ImportError::new(source, None, why));
    };
    let many = told.tasks.len();
    for (number, (name, seconds)) in phases.into_iter().enumerate() {
        let end = seconds.checked_mul(1_000_000).and_then(|lasted| at.checked_add(lasted));
        let end = end.ok_or_else(|| ImportError::new(source, None, "a phase without end"))?;
        told.tasks.push(ImportedTask {
            name: name.trim().to_owned(),
            started: Some(at),
            ended: Some(end),
            cores: cores.and_then(|cores| u32::try_from(cores).ok()),
            after: if number > 0 { vec![many + number - 1] } else { Vec::new() },
            ..ImportedTask::default()
        });
        at = end;
    }
    Ok(())
}
