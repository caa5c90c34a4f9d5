//! After a job on a node: mounts that its user made, and whose daemon ended with the job, go away.

use super::{Finding, Section, SetupFile, check_script, script_line};
use crate::commands::slurm::cluster_state::ClusterState;
use crate::commands::slurm::setup::SlurmSetup;

pub(super) const SECTION: Section = Section { name: "end of jobs", files, check };

const NAME: &str = "forebay-epilog";
/// The script, which Slurm runs as root, with an environment that has no PATH. A mount of root's stays:
/// it is the facility's.
const SCRIPT: &str = r#"#!/bin/sh
# After each job on a node, as root: takes away mounts of its user whose daemon was killed with the
# job; programs would get I/O errors there. Never fails: Slurm would drain the node.
# Written by `forebay slurm print`.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
[ "${SLURM_JOB_UID:-0}" != 0 ] || exit 0
while read -r _ directory kind options _; do
    case $kind,$options, in
        fuse.forebay,*,user_id="$SLURM_JOB_UID",*) ;;
        *) continue ;;
    esac
    # Names are written with \040 for a space, and so on.
    directory=$(printf '%bx' "$(printf '%s' "$directory" | sed 's/\\\([0-7]\)/\\0\1/g')")
    directory=${directory%x}
    # A living one answers, or refuses root; only of a dead one the kernel says this.
    case $(LC_ALL=C timeout 10 stat -- "$directory" 2>&1) in
        *"Transport endpoint is not connected"*)
            umount --lazy -- "$directory" &&
                logger -t forebay-epilog -- "$directory was left behind by job ${SLURM_JOB_ID:-}" 2> /dev/null
            ;;
    esac
done < /proc/self/mounts
exit 0
"#;

fn files(setup: &SlurmSetup, cluster: Option<&ClusterState>) -> Vec<SetupFile> {
    let line = script_line(setup, cluster, "Epilog", NAME);
    vec![
        SetupFile::lines(format!("# Mounts of a job that was killed are taken away.\n{line}")),
        SetupFile { name: NAME, mode: 0o755, text: SCRIPT.to_owned() },
    ]
}

fn check(setup: &SlurmSetup, cluster: &ClusterState) -> Vec<Finding> {
    vec![check_script(setup, cluster, "Epilog", NAME)]
}
