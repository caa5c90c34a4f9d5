//! Options of `sbatch` and `srun`: which take a value, so that it is known which word is the script
//! or the program. A command line with any other is left as it is.

/// Letters that take a value; all others are switches.
const SHORT_WITH_VALUE: &str = "AabBcCdDeFGiJLmMnNopqrSTtwx";
/// Letters that are switches.
const SHORT: &str = "EHIkKlOQsuvXZ";

/// Options that take a value, as `--name value` or `--name=value`.
#[rustfmt::skip]
const WITH_VALUE: &[&str] = &[
    "account", "acctg-freq", "array", "batch", "bb", "bbf", "begin", "chdir", "cluster-constraint",
    "clusters", "comment", "constraint", "container", "container-id", "core-spec",
    "cores-per-socket", "cpu-bind", "cpu-freq", "cpus-per-gpu", "cpus-per-task", "deadline",
    "delay-boot", "dependency", "distribution", "epilog", "error", "exclude", "export",
    "export-file", "extra", "extra-node-info", "gid", "gpu-bind", "gpu-freq", "gpus",
    "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "gres-flags", "hint", "input",
    "job-name", "jobid", "kill-on-invalid-dep", "licenses", "mail-type", "mail-user",
    "max-threads", "mcs-label", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus", "mpi",
    "msg-timeout", "network", "nodefile", "nodelist", "nodes", "ntasks", "ntasks-per-core",
    "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-socket", "ntasks-per-tres", "open-mode",
    "output", "partition", "power", "prefer", "priority", "profile", "prolog", "qos", "relative",
    "reservation", "signal", "slurmd-debug", "sockets-per-node", "switches", "task-epilog",
    "task-prolog", "thread-spec", "threads", "threads-per-core", "time", "time-min", "tmp",
    "tres-bind", "tres-per-task", "uid", "wait-all-nodes", "wckey", "wrap",
];

/// Options whose value, if any, is written `--name=value`.
#[rustfmt::skip]
const WITHOUT: &[&str] = &[
    "contiguous", "disable-status", "exact", "exclusive", "external-launcher", "get-user-env",
    "hold", "ignore-pbs", "immediate", "interactive", "kill-on-bad-exit", "label", "nice",
    "no-allocate", "no-kill", "no-requeue", "oom-kill-step", "overcommit", "overlap",
    "oversubscribe", "parsable", "preserve-env", "propagate", "quiet", "quit-on-interrupt",
    "reboot", "requeue", "resv-ports", "send-libs", "share", "spread-job", "stepmgr", "test-only",
    "unbuffered", "use-min-nodes", "verbose", "whole",
];

/// Where in a command line something stands.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// The first word that is no option: a script, or a program.
    pub(super) first: Option<usize>,
    /// The word that has the value of `--wrap`, and where in it the value begins.
    pub(super) wrap: Option<(usize, usize)>,
}

/// Finds the script or program among the words after `program`; `None`: a word is not known.
pub(super) fn find_places(program: &str, words: &[&str]) -> Option<Places> {
    let wait_has_value = program == "srun";
    let mut places = Places::default();
    let mut at = 0;
    while at < words.len() {
        let word = words[at];
        if word == "--" {
            places.first = (at + 1 < words.len()).then_some(at + 1);
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, _)) => (name, Some("--".len() + name.len() + 1)),
                None => (long, None),
            };
            let takes = WITH_VALUE.contains(&name) || name == "wait" && wait_has_value;
            if !takes && !WITHOUT.contains(&name) && name != "wait" {
                return None;
            }
            if name == "wrap" {
                places.wrap = Some(value.map_or((at + 1, 0), |from| (at, from)));
            }
            at += usize::from(takes && value.is_none()) + 1;
            continue;
        }
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            places.first = Some(at);
            break;
        };
        let mut rest = letters.chars();
        let mut next = false;
        while let Some(letter) = rest.next() {
            let takes = SHORT_WITH_VALUE.contains(letter) || letter == 'W' && wait_has_value;
            if takes {
                next = rest.as_str().is_empty();
                break;
            }
            // Of these the value, if any, follows at once.
            if matches!(letter, 'I' | 'K' | 'k') {
                break;
            }
            if !SHORT.contains(letter) && letter != 'W' {
                return None;
            }
        }
        at += usize::from(next) + 1;
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    //! If these fail, a job is started with another word as its program.
    use super::*;

    fn first<'a>(program: &str, line: &'a str) -> Option<&'a str> {
        let words: Vec<&str> = line.split(' ').collect();
        find_places(program, &words)?.first.map(|at| words[at])
    }

    #[test]
    fn the_script_and_the_program_are_found_behind_all_kinds_of_options() {
        assert_eq!(first("sbatch", ".command.run"), Some(".command.run"));
        assert_eq!(first("sbatch", "-n 4 -Jname --mem 4G --hold job.sh -n 5"), Some("job.sh"));
        assert_eq!(first("sbatch", "-W --wait -Qv --parsable --array=1-9 job.sh"), Some("job.sh"));
        assert_eq!(first("srun", "-n1 --cpu-bind=q python -m x"), Some("python"));
        assert_eq!(first("srun", "-W 5 -K1 -l -u --exclusive prog"), Some("prog"));
        assert_eq!(first("srun", "--ntasks 3 -- prog"), Some("prog"));
        assert_eq!(first("sbatch", "-n 4"), None);
    }

    #[test]
    fn a_line_with_an_option_that_is_not_known_is_left_alone() {
        for line in [
            "--surprise x job.sh",
            "-% job.sh",
            "--version",
            "-V",
            "--help",
            "-h",
            "--pty bash",
            "--multi-prog conf",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(find_places("srun", &words), None, "{line}");
        }
    }

    #[test]
    fn the_command_of_wrap_is_found() {
        let places = find_places("sbatch", &["-n", "1", "--wrap", "echo x"]).expect("known");
        assert_eq!((places.wrap, places.first), (Some((3, 0)), None));
        let places = find_places("sbatch", &["--wrap=echo x"]).expect("known");
        assert_eq!(places.wrap, Some((0, 7)));
    }
}
