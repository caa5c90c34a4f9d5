//! The file of `jobcomp/filetxt`: a line for each job that is over.

use super::super::amount_parsing::{parse_integer, parse_timestamp};
use super::super::{ImportError, ImportSource, ImportedRun, ImportedTask, utf8_text};
use super::parse_exit_code;
use std::collections::BTreeMap;

/// Lines of `Key=value`; a value may have blanks, so only known keys end one.
pub(super) fn read_jobcomp_file(
    source: &ImportSource,
    told: &mut ImportedRun,
) -> Result<(), ImportError> {
    const KEYS: [&str; 28] = [
        "JobId",
        "UserId",
        "GroupId",
        "Name",
        "JobState",
        "Partition",
        "TimeLimit",
        "StartTime",
        "EndTime",
        "NodeList",
        "NodeCnt",
        "ProcCnt",
        "WorkDir",
        "ReservationName",
        "Tres",
        "Account",
        "QOS",
        "WcKey",
        "Cluster",
        "SubmitTime",
        "EligibleTime",
        "ArrayJobId",
        "ArrayTaskId",
        "DerivedExitCode",
        "ExitCode",
        "HetJobId",
        "HetJobOffset",
        "Gres",
    ];
    for (at, line) in utf8_text(source)?.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let flaw = |why: String| ImportError::new(source, at + 1, why);
        let mut values: BTreeMap<&str, String> = BTreeMap::new();
        let mut last = None;
        for word in line.split(' ') {
            match word.split_once('=').filter(|(key, _)| KEYS.contains(key)) {
                Some((key, value)) => {
                    values.entry(key).or_insert_with(|| value.to_owned());
                    last = Some(key);
                }
                None => {
                    let value = last.and_then(|key| values.get_mut(key));
                    let value = value.ok_or_else(|| flaw("it is no line of jobcomp".to_owned()))?;
                    value.push(' ');
                    value.push_str(word);
                }
            }
        }
        let value = |key: &str| values.get(key).map(|value| value.trim()).filter(|v| !v.is_empty());
        let job = value("JobId").ok_or_else(|| flaw("it has no JobId".to_owned()))?;
        let when = |key| match value(key) {
            None | Some("Unknown" | "None" | "(null)") => Ok(None),
            Some(text) => parse_timestamp(text)
                .map(Some)
                .ok_or_else(|| flaw(format!("{key} is {text:?}: no time"))),
        };
        let (Some(started), ended) = (when("StartTime")?, when("EndTime")?) else {
            told.left_out += 1;
            continue;
        };
        let array = value("ArrayJobId").zip(value("ArrayTaskId"));
        told.tasks.push(ImportedTask {
            name: value("Name").unwrap_or("job").to_owned(),
            key: Some(array.map_or(job.to_owned(), |(job, task)| format!("{job}_{task}"))),
            started: Some(started),
            ended,
            exit_status: value("ExitCode").and_then(parse_exit_code),
            cores: value("ProcCnt")
                .and_then(parse_integer)
                .and_then(|cores| u32::try_from(cores).ok()),
            ..ImportedTask::default()
        });
    }
    Ok(())
}
