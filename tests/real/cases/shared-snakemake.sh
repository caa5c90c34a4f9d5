#!/bin/bash
# If this failed, Snakemake with Slurm could not work on a volume that all nodes write without waiting
# for files to appear, or would make other results than one machine does.
# ring: long
# as: root
# alone: yes
# bare: no
# needs: snakemake bwa samtools bcftools bamsort bgzip slurmctld slurmd sbatch munged /usr/lib/postgresql ip
# limit: 600
set -u
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
. "$REAL/cluster.sh"
. "$REAL/wgs.sh"

failed_jobs() {
    find "$WORK/volume/run/.snakemake/slurm_logs" -name '*.log' -exec tail -n 40 {} +
}

say "on this machine alone"
mkdir inputs bare
(cd inputs && "${smk[@]}" --quiet all --cores 2 -- inputs) || fail "the inputs"
(cd bare && "${smk[@]}" --quiet all --cores 2 --config "inputs=$PWD/../inputs/data") || fail "the bare run"

say "a volume on four nodes and the head"
nodes 4
bucket
book
volume_everywhere smk
cluster 4

say "Snakemake on the head, its jobs on the nodes, no wait for files"
cp -r inputs/data "$WORK/volume/inputs"
mkdir "$WORK/volume/run"
# Slurm has no accounts here. Jobs have the plugin, too: the environment goes with them.
export PYTHONPATH=$TOOLS/snakemake-slurm
(cd "$WORK/volume/run" && "${smk[@]}" --executor slurm --jobs 8 --latency-wait 0 --slurm-no-account \
    --slurm-status-command squeue --slurm-init-seconds-before-status-checks 2 \
    --seconds-between-status-checks 2 --default-resources runtime=10 mem_mb=100 \
    --config "inputs=$WORK/volume/inputs") > "$WORK/out" 2>&1 ||
    { tail -n 60 "$WORK/out"; failed_jobs; daemon_logs; stop; fail "the run"; }
stop

say "the same results"
results bare > expected
results "$WORK/volume/run" > got
[ -s expected ] || fail "no results"
diff expected got || fail "other results"

volume_nowhere
end_nodes
