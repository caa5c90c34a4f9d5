//! Nextflow: a task is a work directory `xx/<30 hex>`; `.command.run` names it, `.command.begin`
//! starts it, `.exitcode` ends it.

use super::process_claims::{ClaimedTask, EngineNoteValue, ObservedRun, TaskClaims};
use super::{EngineAdapter, EngineNote};
use std::collections::HashMap;

pub(super) const ENGINE: EngineAdapter = EngineAdapter {
    name: "nextflow",
    wanted: is_control_file,
    read: parse_control_file,
    claim: claim_processes,
};

fn is_control_file(path: &[u8]) -> bool {
    let Some(slash) = path.iter().rposition(|&b| b == b'/') else { return false };
    matches!(&path[slash + 1..], b".command.run" | b".command.begin" | b".exitcode")
        && work_directory(path).is_some_and(|directory| directory.len() == slash)
}

/// The part of `path` that ends with `xx/<30 hex>`, the first such.
pub(super) fn work_directory(path: &[u8]) -> Option<&[u8]> {
    const LENGTH: usize = "xx/".len() + 30;
    let hex = |bytes: &[u8]| bytes.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let ends = (LENGTH..=path.len()).filter(|&end| end == path.len() || path[end] == b'/');
    ends.into_iter().find_map(|end| {
        let start = end - LENGTH;
        let part = &path[start..end];
        let whole = start == 0 || path[start - 1] == b'/';
        (whole && part[2] == b'/' && hex(&part[..2]) && hex(&part[3..])).then(|| &path[..end])
    })
}

fn parse_control_file(path: &[u8], content: &[u8]) -> Vec<EngineNote> {
    let Some(directory) = work_directory(path) else { return Vec::new() };
    let note = |what, value| vec![EngineNote { subject: directory.to_vec(), what, value }];
    if path.ends_with(b".command.begin") {
        return note("began", EngineNoteValue::There);
    }
    let text = String::from_utf8_lossy(content);
    if path.ends_with(b".exitcode") {
        return text
            .trim()
            .parse()
            .map_or(Vec::new(), |code| note("exit", EngineNoteValue::Number(code)));
    }
    task_name(&text).map_or(Vec::new(), |name| note("name", EngineNoteValue::Text(name.into())))
}

/// The work directory and the process of a task, from its `.command.run`.
pub(super) fn parse_command_run<'p>(path: &'p [u8], content: &[u8]) -> Option<(&'p [u8], String)> {
    let directory = work_directory(path).filter(|_| is_control_file(path))?;
    let text = String::from_utf8_lossy(content);
    Some((directory, split_tag(task_name(&text)?).0.to_owned()))
}

/// The name in `.command.run`: `### name: 'ALIGN (s1)'`, or in older versions
/// `# NEXTFLOW TASK: ALIGN (s1)`.
fn task_name(script: &str) -> Option<&str> {
    // Executors of clusters say where a job begins, between their options and the name.
    let is_header = |line: &&str| line.starts_with('#') || line.starts_with("NXF_CHDIR=");
    let header = script.lines().take(100).take_while(is_header);
    let found = header.into_iter().find_map(|line| {
        let quoted = line.strip_prefix("### name: ").map(|name| name.trim().trim_matches('\''));
        let plain = || line.trim_start_matches("# ").strip_prefix("NEXTFLOW TASK: ");
        quoted.or_else(plain)
    });
    found.map(str::trim).filter(|name| !name.is_empty())
}

/// `ALIGN (s1)` -> (`ALIGN`, `s1`).
fn split_tag(name: &str) -> (&str, Option<&str>) {
    match name.split_once(" (") {
        Some((process, tag)) => (process, Some(tag.strip_suffix(')').unwrap_or(tag))),
        None => (name, None),
    }
}

fn claim_processes(seen: &ObservedRun, claims: &mut TaskClaims) {
    let mut tasks: HashMap<&[u8], usize> = HashMap::new();
    for note in seen.notes.iter().filter(|note| note.engine == ENGINE.name) {
        let task = *tasks.entry(&note.subject).or_insert_with(|| add_task(claims, &note.subject));
        let task = &mut claims.tasks[task];
        match (note.what.as_str(), &note.value) {
            ("name", EngineNoteValue::Text(name)) => {
                let (process, tag) = split_tag(name);
                task.name = process.to_owned();
                if let (Some(tag), Some(key)) = (tag, &mut task.key) {
                    *key = format!("{key} ({tag})");
                }
            }
            ("began", _) => task.started = Some(note.at),
            ("exit", EngineNoteValue::Number(status)) => {
                (task.exit_status, task.ended) = (Some(*status), Some(note.at));
            }
            _ => {}
        }
    }
    let mut tops = HashMap::new();
    for (process, row) in seen.processes.iter().enumerate() {
        // Whoever looks into a work directory from elsewhere is not of the task.
        let inside = row.cwd.as_deref().filter(|_| !seen.is_stranger(process));
        let by_cwd = inside.and_then(work_directory);
        let by_script = || {
            let run = row.argv.iter().find(|word| word.ends_with(b"/.command.run"))?;
            work_directory(run).filter(|directory| directory.starts_with(b"/"))
        };
        if let Some(directory) = by_cwd.or_else(by_script) {
            let task = *tasks.entry(directory).or_insert_with(|| add_task(claims, directory));
            tops.insert(process, task);
        }
    }
    claims.claim_subtrees(seen, &tops);
}

/// A task of which no more than the directory is known. The key is what Nextflow prints.
fn add_task(claims: &mut TaskClaims, directory: &[u8]) -> usize {
    let hash = &directory[directory.len() - 33..];
    let key = String::from_utf8_lossy(&hash[..9]).into_owned();
    claims.add_task(ClaimedTask {
        name: "nextflow task".into(),
        engine: ENGINE.name,
        key: Some(key),
        ..ClaimedTask::default()
    })
}

#[cfg(test)]
mod tests {
    //! If these fail, a Nextflow run is a heap of bash processes without names.
    use super::*;
    use crate::tasks::tests::{kept, process, task_names};

    const HASH: &str = "3f/0123456789abcdef0123456789abcd";

    #[test]
    fn control_files_are_known_by_their_directory() {
        for name in [".command.run", ".command.begin", ".exitcode"] {
            assert!(is_control_file(format!("work/{HASH}/{name}").as_bytes()));
            assert!(is_control_file(format!("{HASH}/{name}").as_bytes()));
            assert!(!is_control_file(format!("work/{HASH}/sub/{name}").as_bytes()));
            assert!(!is_control_file(format!("work/{name}").as_bytes()));
        }
        assert!(!is_control_file(format!("work/{HASH}/.command.sh").as_bytes()));
    }

    #[test]
    fn names_old_and_new() {
        let new =
            "#!/bin/bash\n### ---\n### name: 'RNA:ALIGN (s 1)'\n### outputs:\n### ...\nset -e";
        assert_eq!(task_name(new), Some("RNA:ALIGN (s 1)"));
        let sent =
            "#!/bin/bash\n#SBATCH -J nf-ALIGN\nNXF_CHDIR=/w/3f/x\n### ---\n### name: 'ALIGN'\n";
        assert_eq!(task_name(sent), Some("ALIGN"));
        let old = "#!/bin/bash\n#SBATCH -J x\n# NEXTFLOW TASK: INDEX\nset -e\n";
        assert_eq!(task_name(old), Some("INDEX"));
        assert_eq!(task_name("#!/bin/bash\necho '### name: x'\n"), None);
        assert_eq!(split_tag("ALIGN (s (1))"), ("ALIGN", Some("s (1)")));
    }

    #[test]
    fn a_task_is_its_directory_and_all_that_it_starts() {
        let directory = format!("/p/work/{HASH}");
        let mut wrapper = process(2, Some(1), &format!("bash {directory}/.command.run"));
        wrapper.cwd = Some(directory.clone().into_bytes());
        let processes = vec![
            process(1, None, "java nextflow.cli.Launcher run x.nf"),
            wrapper,
            process(3, Some(2), "salmon index"),
        ];
        let notes = [
            (".command.run", "#!/bin/bash\n### name: 'INDEX (ref)'\n", 5),
            (".command.begin", "", 7),
            (".exitcode", "1", 90),
        ];
        let notes = notes.iter().flat_map(|(file, content, at)| {
            kept("/p", &format!("work/{HASH}/{file}"), content, *at)
        });
        let seen = ObservedRun::new(processes, vec![], notes.collect());
        let claims = super::super::assign_tasks(&seen);
        assert_eq!(task_names(&claims), ["nextflow.cli.Launcher", "INDEX", "INDEX"]);
        let task = &claims.tasks[claims.of[2].expect("claimed")];
        assert_eq!(task.key.as_deref(), Some("3f/012345 (ref)"));
        assert_eq!((task.started, task.exit_status), (Some(crate::Micros(7)), Some(1)));
    }
}
