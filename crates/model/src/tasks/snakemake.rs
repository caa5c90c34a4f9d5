//! Snakemake: `.snakemake/metadata/<base64 of an output>` names the rule of each output that was
//! made, and `.snakemake/forebay/`, by the logger plugin, that of each output that a job is about to
//! make; the process below Snakemake that made the output is the job.

use super::process_claims::{ClaimedTask, EngineNoteValue, ObservedRun, TaskClaims};
use super::program::process_name;
use super::{EngineAdapter, EngineNote};
use std::collections::{BTreeSet, HashMap};

pub(super) const ENGINE: EngineAdapter = EngineAdapter {
    name: "snakemake",
    wanted: is_control_file,
    read: parse_control_file,
    claim: claim_processes,
};

const METADATA: &[u8] = b".snakemake/metadata/";
/// What the logger plugin writes before a job begins.
const BEGUN: &[u8] = b".snakemake/forebay/";
/// Notes of it: the rule of a job that has begun. That it succeeded is not said.
const BEGUN_RULE: &str = "begun_rule";
/// And that of one that failed: Snakemake may keep metadata of such outputs, too.
const FAILED_RULE: &str = "failed_rule";

/// The directory in which Snakemake runs, and the name of a record below `folder`.
fn split_path<'p>(path: &'p [u8], folder: &[u8]) -> Option<(&'p [u8], &'p [u8])> {
    let at = path.windows(folder.len()).position(|w| w == folder)?;
    let whole = at == 0 || path[at - 1] == b'/';
    whole.then(|| (&path[..at.saturating_sub(1)], &path[at + folder.len()..]))
}

fn split_record_path(path: &[u8]) -> Option<(&[u8], &[u8])> {
    split_path(path, METADATA)
}

fn is_control_file(path: &[u8]) -> bool {
    let named = |(_, name): (&[u8], &[u8])| !name.is_empty();
    split_record_path(path).is_some_and(named) || split_path(path, BEGUN).is_some_and(named)
}

/// What the logger plugin writes of a job.
#[derive(serde::Deserialize)]
struct ToldJob {
    rule: String,
    outputs: Vec<String>,
    #[serde(default)]
    failed: bool,
}

/// The rule of a job that is about to begin, and what it will make: files, and directories.
pub(super) fn parse_begun_job(path: &[u8], content: &[u8]) -> Option<(String, Vec<Vec<u8>>)> {
    parse_told_job(path, content).map(|(job, outputs)| (job.rule, outputs))
}

fn parse_told_job(path: &[u8], content: &[u8]) -> Option<(ToldJob, Vec<Vec<u8>>)> {
    let (directory, _) = split_path(path, BEGUN)?;
    let job: ToldJob = serde_json::from_slice(content).ok()?;
    let outputs = job.outputs.iter().map(|name| join_path(directory, name.as_bytes())).collect();
    (!job.rule.is_empty()).then_some((job, outputs))
}

/// The output that Snakemake's record with this path is about, as the workflow names it; `None` if
/// the path is no record's.
pub fn snakemake_output(path: &[u8]) -> Option<Vec<u8>> {
    split_record_path(path)
        .filter(|(_, name)| !name.is_empty())
        .and_then(|(_, name)| decode_output(b"", name))
}

/// The output that a record is about: base64, in long names spread over directories `@...`.
fn decode_output(directory: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let mut code = Vec::with_capacity(name.len());
    for part in name.split(|&b| b == b'/') {
        code.extend_from_slice(part.strip_prefix(b"@").unwrap_or(part));
    }
    Some(join_path(directory, &decode_base64(&code)?))
}

fn join_path(directory: &[u8], path: &[u8]) -> Vec<u8> {
    if path.starts_with(b"/") || directory.is_empty() {
        return path.to_vec();
    }
    [directory, b"/", path].concat()
}

/// Decodes URL-safe base64 with or without padding; the plain alphabet is understood too.
fn decode_base64(code: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut bits, mut count) = (Vec::with_capacity(code.len() / 4 * 3), 0u32, 0);
    for &byte in code.iter().filter(|&&b| b != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'-' | b'+' => 62,
            b'_' | b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xff) as u8);
        }
    }
    Some(out)
}

fn parse_control_file(path: &[u8], content: &[u8]) -> Vec<EngineNote> {
    if let Some((job, outputs)) = parse_told_job(path, content) {
        let what = if job.failed { FAILED_RULE } else { BEGUN_RULE };
        let value = || EngineNoteValue::Text(job.rule.clone());
        let note = |subject| EngineNote { subject, what, value: value() };
        return outputs.into_iter().map(note).collect();
    }
    let subject =
        split_record_path(path).and_then(|(directory, name)| decode_output(directory, name));
    let (Some(subject), Some(rule)) = (subject, parse_rule(content)) else { return Vec::new() };
    vec![EngineNote { subject, what: "rule", value: EngineNoteValue::Text(rule) }]
}

/// The rule in a record. A record with a long script may be cut: the rule comes first.
fn parse_rule(content: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Record {
        rule: String,
        #[serde(default)]
        incomplete: bool,
    }
    if let Ok(record) = serde_json::from_slice::<Record>(content) {
        return (!record.incomplete).then_some(record.rule);
    }
    let text = String::from_utf8_lossy(content);
    let after = text.split_once("\"rule\": \"")?.1;
    after.split_once('"').map(|(rule, _)| rule.to_owned())
}

fn claim_processes(seen: &ObservedRun, claims: &mut TaskClaims) {
    let (rules, begun) = (rules_of_notes(seen, "rule"), rules_of_notes(seen, BEGUN_RULE));
    let failed = rules_of_notes(seen, FAILED_RULE);
    let masters = find_schedulers(seen);
    // A job by what it made; the metadata are written when it succeeded.
    let mut made: HashMap<usize, MadeOutputs<'_>> = HashMap::new();
    for (process, path) in &seen.wrote {
        let Some(job) = job_of_process(seen, &masters, *process) else { continue };
        if let Some((rule, output)) = rule_for_file(&rules, path) {
            let known = made.entry(job).or_insert_with(|| MadeOutputs::of_rule(rule));
            known.outputs.insert(output);
            known.succeeded |= !failed.contains_key(output);
        } else if let Some((rule, output)) = rule_for_file(&begun, path) {
            made.entry(job).or_insert_with(|| MadeOutputs::of_rule(rule)).outputs.insert(output);
        }
    }
    let mut tops = HashMap::new();
    // On a node the job, its step and what retried it are one task: the target tells it.
    let mut sent: HashMap<&[u8], usize> = HashMap::new();
    for &process in seen.order() {
        if claims.of[process].is_some() {
            continue;
        }
        if let Some(job) = made.get(&process) {
            let first = job.outputs.first();
            let key = first.map(|output| String::from_utf8_lossy(output).into_owned());
            let task = claims.add_task(rule_task(job.rule, key, job.succeeded.then_some(0)));
            tops.insert(process, task);
            if let Some(target) = sent_target(seen, &masters, process) {
                sent.insert(target, task);
            }
        }
    }
    for &process in seen.order() {
        if claims.of[process].is_some() || tops.contains_key(&process) {
            continue;
        }
        if let Some(target) = sent_target(seen, &masters, process)
            && let Some(rule) = target_rule(seen, process)
        {
            let add = || claims.add_task(rule_task(&rule, None, None));
            tops.insert(process, *sent.entry(target).or_insert_with(add));
        } else if let Some(rule) = target_rule(seen, process)
            && let Some(job) = job_of_process(seen, &masters, process)
            && !tops.contains_key(&job)
        {
            // It made nothing that we saw, but its command line names the rule.
            tops.insert(job, claims.add_task(rule_task(&rule, None, None)));
        }
    }
    claims.claim_subtrees(seen, &tops);
}

/// What a job made.
struct MadeOutputs<'s> {
    rule: &'s str,
    outputs: BTreeSet<&'s [u8]>,
    /// Snakemake has said so.
    succeeded: bool,
}

impl<'s> MadeOutputs<'s> {
    fn of_rule(rule: &'s str) -> MadeOutputs<'s> {
        MadeOutputs { rule, outputs: BTreeSet::new(), succeeded: false }
    }
}

/// Rules by the outputs that notes are about.
fn rules_of_notes<'s>(seen: &'s ObservedRun, what: &str) -> HashMap<&'s [u8], &'s str> {
    let notes = seen.notes.iter();
    let ours = notes.filter(|note| note.engine == ENGINE.name && note.what == what);
    ours.filter_map(|note| match &note.value {
        EngineNoteValue::Text(rule) => Some((note.subject.as_slice(), rule.as_str())),
        EngineNoteValue::There | EngineNoteValue::Number(_) => None,
    })
    .collect()
}

fn rule_task(rule: &str, key: Option<String>, exit_status: Option<i64>) -> ClaimedTask {
    ClaimedTask {
        name: rule.into(),
        engine: ENGINE.name,
        key,
        exit_status,
        ..ClaimedTask::default()
    }
}

/// Which processes are a Snakemake that gives out jobs. One that runs a single job (`run:` blocks)
/// is part of it.
fn find_schedulers(seen: &ObservedRun) -> Vec<bool> {
    seen.processes
        .iter()
        .enumerate()
        .map(|(i, row)| process_name(row) == "snakemake" && target_rule(seen, i).is_none())
        .collect()
}

/// The rule of `python -m snakemake --target-jobs 'rule:...'`.
fn target_rule(seen: &ObservedRun, process: usize) -> Option<String> {
    let row = &seen.processes[process];
    let at = row.argv.iter().position(|word| word == b"--target-jobs")?;
    let target = String::from_utf8_lossy(row.argv.get(at + 1)?).into_owned();
    let rule = target.split(':').next().unwrap_or_default().trim_matches('\'');
    (process_name(row) == "snakemake" && !rule.is_empty()).then(|| rule.to_owned())
}

/// What a process was told to make that a cluster's job runs: no Snakemake that gives out jobs is
/// above it on its node.
fn sent_target<'s>(seen: &'s ObservedRun, masters: &[bool], process: usize) -> Option<&'s [u8]> {
    target_rule(seen, process)?;
    let above = |p: usize| p != process && (masters[p] || target_rule(seen, p).is_some());
    if seen.self_and_ancestors(process).any(above) {
        return None;
    }
    let argv = &seen.processes[process].argv;
    let at = argv.iter().position(|word| word == b"--target-jobs")?;
    argv.get(at + 1).map(Vec::as_slice)
}

/// The child of Snakemake that `process` comes from, or on another node the Snakemake that was sent
/// there; `None` for Snakemake itself and strangers.
fn job_of_process(seen: &ObservedRun, masters: &[bool], process: usize) -> Option<usize> {
    if masters[process] {
        return None;
    }
    let is_job = |p: &usize| {
        seen.parent(*p).is_some_and(|parent| masters[parent])
            || sent_target(seen, masters, *p).is_some()
    };
    seen.self_and_ancestors(process).find(is_job)
}

/// The rule of a file: its own record, or that of a directory it is in.
fn rule_for_file<'a>(
    rules: &HashMap<&'a [u8], &'a str>,
    path: &[u8],
) -> Option<(&'a str, &'a [u8])> {
    let mut part = path;
    loop {
        if let Some((output, rule)) = rules.get_key_value(part) {
            return Some((rule, output));
        }
        part = &part[..part.iter().rposition(|&b| b == b'/')?];
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, Snakemake's rules are lost and its jobs are named after their shells.
    use super::*;
    use crate::tasks::tests::{kept, process, task_names};

    /// As Snakemake 9.27.1 writes it.
    const RECORD: &str = r#"{"rule": "make", "input": [], "log": [], "shellcmd": "sleep 1",
        "record_format_version": 6, "starttime": 1795249121.67, "endtime": 1795249122.1,
        "incomplete": false, "external_jobid": null, "input_checksums": {}}"#;

    #[test]
    fn outputs_are_decoded_even_when_split() {
        assert_eq!(decode_base64(b"b3V0L3B5LnR4dA==").as_deref(), Some(&b"out/py.txt"[..]));
        assert_eq!(decode_base64(b"YT8_").as_deref(), Some(&b"a??"[..]));
        assert_eq!(decode_base64(b"a b"), None);
        assert_eq!(
            decode_output(b"p", b"@b3V0L3B5/LnR4dA==").as_deref(),
            Some(&b"p/out/py.txt"[..])
        );
        assert_eq!(decode_output(b"", b"b3V0L3B5LnR4dA==").as_deref(), Some(&b"out/py.txt"[..]));
        assert!(
            is_control_file(b".snakemake/metadata/b3V0")
                && is_control_file(b"a/.snakemake/metadata/@x/y")
        );
        assert!(
            !is_control_file(b".snakemake/metadata/")
                && !is_control_file(b"x.snakemake/metadata/b")
        );
    }

    #[test]
    fn a_cut_record_still_names_its_rule() {
        assert_eq!(parse_rule(RECORD.as_bytes()).as_deref(), Some("make"));
        assert_eq!(parse_rule(&RECORD.as_bytes()[..40]).as_deref(), Some("make"));
        assert_eq!(parse_rule(br#"{"rule": "x", "incomplete": true}"#), None);
        assert_eq!(parse_rule(b""), None);
    }

    #[test]
    fn a_job_is_what_made_its_outputs() {
        let processes = vec![
            process(1, None, "python3 /v/bin/snakemake --cores 2"),
            process(2, Some(1), "bash -c set -euo pipefail; tool > out/py.txt"),
            process(3, Some(2), "tool x"),
            process(4, Some(1), "/bin/sh -c cd /p && python3 -m snakemake --target-jobs 'py:'"),
            process(5, Some(4), "python3 -m snakemake --snakefile S --target-jobs py:i=1"),
            process(6, Some(5), "bash -c echo"),
            process(7, Some(1), "python3 /p/.snakemake/scripts/tmp1.plot.py"),
        ];
        let wrote = vec![
            (crate::ProcessId(3), b"/p/out/py.txt".to_vec()),
            (crate::ProcessId(3), b"/p/out/other".to_vec()),
            (crate::ProcessId(7), b"/p/dir/some/file".to_vec()),
            (crate::ProcessId(1), b"/p/out/py.txt".to_vec()),
        ];
        let mut notes = kept("/p", ".snakemake/metadata/b3V0L3B5LnR4dA==", RECORD, 9);
        let plot = RECORD.replace("make", "plot");
        notes.extend(kept("/p", ".snakemake/metadata/ZGly", &plot, 9));
        let claims = super::super::assign_tasks(&ObservedRun::new(processes, wrote, notes));
        assert_eq!(task_names(&claims), ["snakemake", "make", "make", "py", "py", "py", "plot"]);
        let job = &claims.tasks[claims.of[1].expect("claimed")];
        assert_eq!((job.key.as_deref(), job.exit_status), (Some("/p/out/py.txt"), Some(0)));
    }

    #[test]
    fn a_job_that_failed_has_the_name_that_the_plugin_gave_it() {
        let processes = vec![
            process(1, None, "python3 /v/bin/snakemake --cores 2"),
            process(2, Some(1), "bash -c tool > out/a; false"),
            process(3, Some(1), "bash -c tool > out/py.txt"),
        ];
        let wrote = vec![
            (crate::ProcessId(2), b"/p/out/a".to_vec()),
            (crate::ProcessId(3), b"/p/out/py.txt".to_vec()),
        ];
        let begun =
            |rule: &str, output: &str| format!(r#"{{"rule":"{rule}","outputs":["{output}"]}}"#);
        let mut notes = kept("/p", ".snakemake/forebay/1.0", &begun("bad", "out/a"), 2);
        notes.extend(kept("/p", ".snakemake/forebay/2.0", &begun("make", "/p/out/py.txt"), 3));
        notes.extend(kept("/p", ".snakemake/metadata/b3V0L3B5LnR4dA==", RECORD, 9));
        let claims = super::super::assign_tasks(&ObservedRun::new(processes, wrote, notes));
        assert_eq!(task_names(&claims), ["snakemake", "bad", "make"]);
        let status =
            |process: usize| claims.tasks[claims.of[process].expect("claimed")].exit_status;
        assert_eq!((status(1), status(2)), (None, Some(0)));
        // Metadata are there of what failed, too, and the plugin knows better.
        let told = r#"{"rule":"make","outputs":["out/py.txt"],"failed":true}"#;
        let mut notes = kept("/p", ".snakemake/metadata/b3V0L3B5LnR4dA==", RECORD, 9);
        notes.extend(kept("/p", ".snakemake/forebay/2.failed", told, 9));
        let processes = vec![process(1, None, "snakemake"), process(2, Some(1), "bash -c tool")];
        let wrote = vec![(crate::ProcessId(2), b"/p/out/py.txt".to_vec())];
        let claims = super::super::assign_tasks(&ObservedRun::new(processes, wrote, notes));
        let job = &claims.tasks[claims.of[1].expect("claimed")];
        assert_eq!((job.name.as_str(), job.exit_status), ("make", None));
        for cut in [r#"{"rule":"x","outp"#, r#"{"rule":"","outputs":["a"]}"#, "", "[]"] {
            assert!(
                parse_control_file(b".snakemake/forebay/1.0", cut.as_bytes()).is_empty(),
                "{cut}"
            );
        }
        assert!(
            is_control_file(b"x/.snakemake/forebay/1.0")
                && !is_control_file(b".snakemake/forebay/")
        );
    }

    #[test]
    fn a_job_and_its_step_on_another_node_are_one_task() {
        let target = "python3 -m snakemake --snakefile S --target-jobs work:n";
        let processes = vec![
            process(1, None, "python3 /v/bin/snakemake --executor slurm"),
            process(2, None, &format!("{target}=1")),
            process(3, Some(2), "srun -n1 step"),
            process(4, None, &format!("{target}=1")),
            process(5, Some(4), "bash -c tool > out/py.txt"),
            process(6, None, &format!("{target}=2")),
            process(7, Some(6), "bash -c false"),
        ];
        let wrote = vec![(crate::ProcessId(5), b"/p/out/py.txt".to_vec())];
        let notes = kept("/p", ".snakemake/metadata/b3V0L3B5LnR4dA==", RECORD, 9);
        let claims = super::super::assign_tasks(&ObservedRun::new(processes, wrote, notes));
        let names = ["snakemake", "make", "make", "make", "make", "work", "work"];
        assert_eq!(task_names(&claims), names);
        assert_eq!(claims.of[1], claims.of[4]);
        assert_ne!(claims.of[1], claims.of[6]);
    }
}
