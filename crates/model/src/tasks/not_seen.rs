//! Programs that hand work to where Forebay does not look: another machine, or a daemon that was
//! there before. Their files are not in the run, and the summary says so.

use super::process_claims::ObservedRun;
use super::program::{base_name, program_name, shell_command};
use std::collections::{BTreeMap, HashSet};

/// A program, and the words of which one must follow for it to hand work over (none: always).
#[rustfmt::skip]
const PROGRAMS: &[(&str, &[&str])] = &[
    ("sbatch", &[]), ("srun", &[]), ("salloc", &[]),            // Slurm
    ("qsub", &[]), ("qrsh", &[]), ("bsub", &[]),                // PBS, Grid Engine, LSF
    ("pjsub", &[]), ("condor_submit", &[]), ("flux", &["submit", "run", "batch", "alloc"]),
    ("hq", &["submit"]),
    ("docker", &["run", "exec", "start", "create", "compose", "build", "buildx"]),
    ("podman-remote", &["run", "exec", "start", "create", "build"]),
    ("nerdctl", &["run", "exec", "start", "create", "build"]),
    ("kubectl", &["run", "exec", "apply", "create"]),
    ("ssh", &[]), ("pdsh", &[]), ("rsh", &[]),
    ("at", &[]), ("batch", &[]), ("systemd-run", &[]),
];

/// An `ssh` with one of these only moves files or history, as part of git or rsync.
const HARMLESS: &[&str] = &["git-upload-pack", "git-receive-pack", "rsync"];

/// How often each such program was started, by name.
pub(crate) fn count_unseen_programs(seen: &ObservedRun) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    // A shell whose child is the program is counted once, at the child.
    let mut started: HashSet<(usize, &str)> = HashSet::new();
    let own = || seen.processes.iter().enumerate().filter(|(at, _)| !seen.is_stranger(*at));
    for (process, _) in own() {
        let hands_over = hands_over_as(seen, process);
        if let Some(name) = hands_over {
            // A part of it that it forked, or the program behind a facility's script of that name.
            if seen.parent(process).is_some_and(|parent| hands_over_as(seen, parent) == Some(name))
            {
                continue;
            }
            *counts.entry(name).or_insert(0) += 1;
            started.extend(seen.parent(process).map(|parent| (parent, name)));
        }
    }
    for (process, row) in own() {
        // A part of a shell that it forked has the shell's text, and did not start what stands in it.
        if seen.parent(process).is_some_and(|parent| seen.processes[parent].argv == row.argv) {
            continue;
        }
        for name in shell_command(row).map(find_in_script).unwrap_or_default() {
            if !started.contains(&(process, name)) {
                *counts.entry(name).or_insert(0) += 1;
            }
        }
    }
    counts
}

fn hands_over_as(seen: &ObservedRun, process: usize) -> Option<&'static str> {
    let row = &seen.processes[process];
    let words: Vec<&[u8]> = row.argv.iter().map(Vec::as_slice).collect();
    find_remote_program(program_name(row).as_bytes(), words.get(1..).unwrap_or_default())
}

/// The name of a program that hands work over when it is started with these words.
pub(super) fn remote_program_name(program: &[u8], words: &[&[u8]]) -> Option<&'static str> {
    find_remote_program(program, words)
}

/// The batch system's program by which a process of this command line sends work to other machines.
pub fn find_batch_submit(argv: &[Vec<u8>]) -> Option<&'static str> {
    const INTERPRETERS: [&[u8]; 6] = [b"sh", b"bash", b"dash", b"perl", b"python", b"python3"];
    const BATCH: [&str; 8] =
        ["sbatch", "srun", "salloc", "qsub", "qrsh", "bsub", "pjsub", "condor_submit"];
    let words: Vec<&[u8]> = argv.iter().map(Vec::as_slice).collect();
    // Some are scripts.
    let is_script = INTERPRETERS.contains(&base_name(words.first()?)) && words.len() > 1;
    let (program, rest) = words[usize::from(is_script)..].split_first()?;
    find_remote_program(base_name(program), rest).filter(|name| BATCH.contains(name))
}

fn find_remote_program(program: &[u8], words: &[&[u8]]) -> Option<&'static str> {
    let (name, needs) = PROGRAMS.iter().find(|(name, _)| name.as_bytes() == program)?;
    let harmless = words.iter().any(|word| {
        HARMLESS.iter().any(|h| word.starts_with(h.as_bytes()) || base_name(word) == h.as_bytes())
    });
    let fits = needs.is_empty()
        || words.iter().any(|word| needs.iter().any(|need| need.as_bytes() == *word));
    (fits && !harmless).then_some(*name)
}

/// Such programs in the text of a shell script, where a command can stand.
fn find_in_script(script: &[u8]) -> Vec<&'static str> {
    /// Words after which another command stands.
    const BEFORE: &[&[u8]] =
        &[b"then", b"do", b"else", b"exec", b"time", b"sudo", b"!", b"{", b"nohup", b"env"];
    let mut found = Vec::new();
    for command in script.split(|b| matches!(b, b';' | b'\n' | b'&' | b'|' | b'(' | b'`')) {
        let words: Vec<&[u8]> =
            command.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty()).collect();
        let skipped =
            words.iter().take_while(|word| BEFORE.contains(word) || is_assignment(word)).count();
        if let [program, rest @ ..] = &words[skipped..] {
            found.extend(find_remote_program(base_name(program), rest));
        }
    }
    found
}

fn is_assignment(word: &[u8]) -> bool {
    let name = word.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    name > 0 && word.get(name) == Some(&b'=')
}

#[cfg(test)]
mod tests {
    //! If these fail, a summary claims to be the whole truth when the work was done elsewhere.
    use super::*;
    use crate::tasks::tests::process;

    fn counts(lines: &[(u32, Option<u32>, &str)]) -> Vec<(&'static str, u64)> {
        let processes = lines.iter().map(|(id, parent, line)| process(*id, *parent, line));
        count_unseen_programs(&ObservedRun::new(processes.collect(), vec![], vec![]))
            .into_iter()
            .collect()
    }

    #[test]
    fn every_program_is_found_alone_and_in_a_script() {
        for (name, needs) in PROGRAMS {
            let line = format!("/usr/bin/{name} {} x", needs.first().copied().unwrap_or("-n"));
            assert_eq!(counts(&[(1, None, &line)]), [(*name, 1)]);
            let script = format!("bash -ec cd d && A=1 {line} > log");
            assert_eq!(counts(&[(1, None, &script)]), [(*name, 1)], "{script}");
        }
    }

    #[test]
    fn a_shell_and_its_child_are_one() {
        let tree = [(1, None, "sh -c sbatch job.sh"), (2, Some(1), "sbatch job.sh")];
        assert_eq!(counts(&tree), [("sbatch", 1)]);
        let forks = [
            (1, None, "bash flow.sh"),
            (2, Some(1), "/opt/bin/sbatch job.sh"),
            (3, Some(2), "/opt/bin/sbatch job.sh"),
            (4, Some(2), "/usr/bin/sbatch job.sh"),
            (5, Some(1), "/opt/bin/sbatch job.sh"),
        ];
        assert_eq!(counts(&forks), [("sbatch", 2)]);
        let text = "sh -c echo|sbatch;srun";
        let shell = [(1, None, text), (2, Some(1), text), (3, Some(1), "sbatch")];
        assert_eq!(counts(&shell), [("sbatch", 1), ("srun", 1)]);
    }

    #[test]
    fn batch_systems_are_known_as_programs_and_as_scripts() {
        let of = |line: &str| {
            find_batch_submit(
                &line.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>(),
            )
        };
        assert_eq!(of("/usr/bin/sbatch job.sh"), Some("sbatch"));
        assert_eq!(of("/bin/bash /opt/sge/bin/qsub job.sh"), Some("qsub"));
        for line in ["cat sbatch", "bash", "sh job.sh", "docker run x", "ssh host", ""] {
            assert_eq!(of(line), None, "{line}");
        }
    }

    #[test]
    fn what_stays_here_is_not_reported() {
        for line in [
            "docker ps",
            "ssh -x git@host git-upload-pack 'a/b'",
            "ssh host rsync --server .",
            "bash -c echo sbatch",
            "bash -c grep ssh log; cat at",
            "bash sbatch",
            "samtools sort at",
        ] {
            assert_eq!(counts(&[(1, None, line)]), [], "{line}");
        }
    }
}
