//! Before a job begins on a node: its volumes are well there, and its user has a directory on tiers.

use super::{Finding, INCLUDE, Section, SetupFile, check_script, script_line};
use crate::commands::slurm::cluster_state::ClusterState;
use crate::commands::slurm::setup::{SlurmSetup, quoted};

pub(super) const SECTION: Section = Section { name: "begin of jobs", files, check };

const NAME: &str = "forebay-prolog";
/// Without it Slurm holds a job whose node was not well, until somebody releases it.
const NO_HOLD: &str = "nohold_on_prolog_fail";

fn is_wanted(setup: &SlurmSetup) -> bool {
    !setup.mounts.is_empty() || !setup.user_directories.is_empty()
}

fn files(setup: &SlurmSetup, cluster: Option<&ClusterState>) -> Vec<SetupFile> {
    if !is_wanted(setup) {
        return Vec::new();
    }
    let line = script_line(setup, cluster, "Prolog", NAME);
    let more = ClusterState::merged_list(cluster, "SchedulerParameters", &[NO_HOLD.to_owned()]);
    let lines = format!(
        "# A node whose volumes are not well gets no job: it is drained, and the job waits for another.\n\
         {line}SchedulerParameters={more}\n"
    );
    vec![SetupFile::lines(lines), SetupFile { name: NAME, mode: 0o755, text: script(setup) }]
}

/// The script, which Slurm runs as root, with an environment that has no PATH.
fn script(setup: &SlurmSetup) -> String {
    let mut text = "#!/bin/sh\n\
        # Before each job on a node, as root. If it fails, Slurm drains the node and runs the job on\n\
        # another one. Written by `forebay slurm print`.\n\
        PATH=/usr/sbin:/usr/bin:/sbin:/bin\n\
        say() {\n    \
            logger -t forebay-prolog -- \"$*\" 2> /dev/null\n    \
            echo \"forebay-prolog: $*\" >&2\n\
        }\n"
    .to_owned();
    if !setup.mounts.is_empty() {
        let mounts: Vec<String> =
            setup.mounts.iter().map(|path| quoted(&path.to_string_lossy())).collect();
        let forebay = quoted(&setup.forebay.to_string_lossy());
        text.push_str(&format!(
            "# 0 is well, 1 degraded: programs wait at most. 3 is not mounted, 4 gone.\n\
             for mount in {}; do\n    \
                 timeout 60 {forebay} status \"$mount\" > /dev/null 2>&1\n    \
                 status=$?\n    \
                 case $status in\n        \
                     0 | 1) ;;\n        \
                     *) say \"$mount is not well (status $status): job ${{SLURM_JOB_ID:-}} can't run here\"; exit 1 ;;\n    \
                 esac\n\
             done\n",
            mounts.join(" ")
        ));
    }
    for (before, behind) in &setup.user_directories {
        text.push_str(&format!(
            "# Made once, and only then given to the user: nobody else's directory is ever touched.\n\
             case ${{SLURM_JOB_USER:-/}} in\n    \
                 */* | .*) ;;\n    \
                 *)\n        \
                     group=${{SLURM_JOB_GID:-$(id -g -- \"$SLURM_JOB_USER\" 2> /dev/null)}}\n        \
                     directory={}\"$SLURM_JOB_USER\"{}\n        \
                     mkdir -m 700 -- \"$directory\" 2> /dev/null &&\n            \
                         chown -h -- \"$SLURM_JOB_UID${{group:+:$group}}\" \"$directory\"\n        \
                     [ -d \"$directory\" ] || say \"$directory can't be made\"\n        \
                     ;;\n\
             esac\n",
            quoted(before),
            quoted(behind)
        ));
    }
    text + "exit 0\n"
}

fn check(setup: &SlurmSetup, cluster: &ClusterState) -> Vec<Finding> {
    if !is_wanted(setup) {
        return Vec::new();
    }
    let parameters = cluster.setting("SchedulerParameters").unwrap_or_default();
    let released = match parameters.split(',').any(|word| word == NO_HOLD) {
        true => Finding::ok("a job whose node is not well goes to another one by itself"),
        false => Finding::limited(
            format!("SchedulerParameters has no {NO_HOLD}: a job whose node is not well is held"),
            INCLUDE,
        ),
    };
    vec![check_script(setup, cluster, "Prolog", NAME), released]
}
