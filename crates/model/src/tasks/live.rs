//! The name of a task while it runs, as far as it is known then: by the programs that run, or by
//! the control files that Nextflow, or Snakemake with the logger plugin, writes before. What engines
//! say only afterwards is not known here.

use super::program::{is_driver, process_name};
use super::{nextflow, snakemake};
use crate::run_rows::ProcessRow;

/// The name under which a process is in the table of tasks, given the words of its ancestors and
/// its own, the oldest first; `whole` if they begin with the command of the run.
pub fn live_task_name(words: &[Vec<Vec<u8>>], whole: bool) -> Option<String> {
    let row = |argv: &Vec<Vec<u8>>| ProcessRow { argv: argv.clone(), ..ProcessRow::default() };
    let rows: Vec<ProcessRow> = words.iter().map(row).collect();
    // As `processes` claims: the command drives, and the topmost that does not is the task.
    let first = usize::from(whole);
    // Forks of the command drive, too, where they start others.
    let is_fork = |row: &ProcessRow| whole && rows.first().is_some_and(|top| top.argv == row.argv);
    let mut below = rows.iter().skip(first);
    let task = below.find(|row| !is_driver(row) && !is_fork(row));
    task.or(rows.last()).map(process_name)
}

/// Where a task works, and its name, from a control file that its engine wrote before: all in these
/// directories, and these files, are the task's.
pub fn task_from_control_file(path: &[u8], content: &[u8]) -> Option<(Vec<Vec<u8>>, String)> {
    if let Some((directory, name)) = nextflow::parse_command_run(path, content) {
        return Some((vec![directory.to_vec()], name));
    }
    snakemake::parse_begun_job(path, content).map(|(rule, outputs)| (outputs, rule))
}

#[cfg(test)]
mod tests {
    //! If these fail, a rule for the files of a task misses them.
    use super::*;

    fn words(lines: &[&str]) -> Vec<Vec<Vec<u8>>> {
        let split = |line: &&str| line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        lines.iter().map(split).collect()
    }

    #[test]
    fn the_topmost_program_that_drives_no_other_is_the_task() {
        for (lines, whole, expected) in [
            (
                &["snakemake -c 8", "bash -c x", "samtools sort a", "sh -c y", "gzip"][..],
                true,
                "samtools sort",
            ),
            (&["bash pipeline.sh", "sort -k1"], true, "sort"),
            (&["bash pipeline.sh"], true, "pipeline.sh"),
            (&["samtools view a"], true, "samtools view"),
            (&["samtools view a", "gzip"], true, "gzip"),
            (&["samtools view a", "gzip"], false, "samtools view"),
            (&["snakemake", "bash -c x"], true, "bash"),
            (&["python flow.py", "python flow.py", "sort x"], true, "sort"),
            (&["python flow.py", "python flow.py"], true, "flow.py"),
        ] {
            assert_eq!(
                live_task_name(&words(lines), whole).as_deref(),
                Some(expected),
                "{lines:?}"
            );
        }
        assert_eq!(live_task_name(&[], true), None);
    }

    #[test]
    fn nextflow_names_its_tasks_before_they_run() {
        let directory = b"work/3f/0123456789abcdef0123456789abcd";
        let run = [&directory[..], b"/.command.run"].concat();
        let text = b"#!/bin/bash\n### name: 'NFCORE:ALIGN (s1)'\n";
        let named = task_from_control_file(&run, text);
        assert_eq!(named, Some((vec![directory.to_vec()], "NFCORE:ALIGN".to_owned())));
        assert_eq!(task_from_control_file(b"a.run", text), None);
    }

    #[test]
    fn snakemakes_plugin_names_its_jobs_before_they_run() {
        let text = br#"{"rule":"align","outputs":["map/1.bam","/ref/x"],"threads":4}"#;
        let named = task_from_control_file(b"p/.snakemake/forebay/7.1.0", text);
        let outputs = vec![b"p/map/1.bam".to_vec(), b"/ref/x".to_vec()];
        assert_eq!(named, Some((outputs, "align".to_owned())));
        assert_eq!(task_from_control_file(b"p/.snakemake/metadata/7", text), None);
    }
}
