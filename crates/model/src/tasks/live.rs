//! The name of a task while it runs, as far as it is known then: by the programs that run, or by
//! the control files that Nextflow writes before. What engines say only afterwards (the rule of a
//! Snakemake job) is not known here.

use super::nextflow;
use super::program::{is_driver, process_name};
use crate::run_rows::ProcessRow;

/// The name under which a process is in the table of tasks, given the words of its ancestors and
/// its own, the oldest first; `whole` if they begin with the command of the run.
pub fn live_task_name(words: &[Vec<Vec<u8>>], whole: bool) -> Option<String> {
    let row = |argv: &Vec<Vec<u8>>| ProcessRow { argv: argv.clone(), ..ProcessRow::default() };
    let rows: Vec<ProcessRow> = words.iter().map(row).collect();
    // As `processes` claims: the command drives, and the topmost that does not is the task.
    let first = usize::from(whole);
    let task = rows.iter().skip(first).find(|row| !is_driver(row));
    task.or(rows.last()).map(process_name)
}

/// The work directory and the name of a task, from a control file that its engine wrote.
pub fn task_from_control_file<'p>(path: &'p [u8], content: &[u8]) -> Option<(&'p [u8], String)> {
    nextflow::parse_command_run(path, content)
}

/// The work directory of a task in which a path lies.
pub fn engine_directory(path: &[u8]) -> Option<&[u8]> {
    nextflow::work_directory(path)
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
        assert_eq!(named, Some((&directory[..], "NFCORE:ALIGN".to_owned())));
        assert_eq!(task_from_control_file(b"a.run", text), None);
        let out = [&directory[..], b"/out/a.bam"].concat();
        assert_eq!(engine_directory(&out), Some(&directory[..]));
        assert_eq!(engine_directory(b"out/a.bam"), None);
    }
}
