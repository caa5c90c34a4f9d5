#!/bin/bash
# If this failed, a reader of the guide with four nodes on a shared volume would not get what it promises:
# a real workflow by Slurm with the results of a bare run, no wait for files, all tasks in one run; nor
# the same where a node dies in the middle.
# ring: long
# as: root
# alone: yes
# bare: no
# needs: snakemake bwa samtools bcftools bamsort bgzip slurmctld slurmd sbatch munged /usr/lib/postgresql ip nsenter python3
# limit: 900
set -u
ENGINE=snakemake
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
. "$REAL/cluster.sh"
. "$REAL/wgs.sh"
. "$REAL/wgs_nodes.sh"

wgs_alone "${smk[@]}" --quiet all --cores 2 --config "inputs=$PWD/inputs/data"
wgs_nodes
# Jobs have the plugin, too: the environment goes with them.
export PYTHONPATH=$TOOLS/snakemake-slurm
# What stands behind `--slurm-requeue` is this cluster's: it has no accounts, and jobs of a second.
wgs_by_slurm "${smk[@]}" --executor slurm --jobs 8 --latency-wait 0 --slurm-requeue \
    --slurm-no-account --slurm-status-command squeue --slurm-init-seconds-before-status-checks 2 \
    --seconds-between-status-checks 2 --default-resources runtime=10 mem_mb=100 \
    --config "inputs=$WORK/volume/inputs"
wgs_same
