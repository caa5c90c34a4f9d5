#!/bin/bash
# Runs the pipeline once on a new cluster, and may take a node away meanwhile: four nodes of Slurm's of two
# cores each, and the head, with a network, a mount and a home each, share a volume.
#   WORK=FOLDER FOREBAY=... one_run.sh
#   RECORD=FILE      records the run
#   NODE=3 AT=SECONDS   kills all that runs on this node, so long after the start, and tells Slurm that it
#                    is down; BACK=SECONDS   then another one, empty, is in its place; without: none is
# It leaves in WORK: times (began, lost, back, ended: a word and a second), started (a file for each task
# with a line for each attempt), results, and Nextflow's head/.nextflow.log.
# It is for mount and pid namespaces of its own: what runs in them ends with it.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REAL=$(cd "$here/../../tests/real" && pwd)
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
. "$REAL/cluster.sh"

CPUS=2
slurm_more() { short_jobs; }
# What a task has made sure of is then lost with no node.
MOUNT_OPTIONS="--durable bucket"

now() { echo "$1 $(date +%s.%N)" >> "$WORK/times"; }

nodes 4
book
mkdir "$WORK/lasting" "$WORK/started" "$WORK/head"
volume_everywhere "$WORK/lasting"
cluster 4
cp "$here/main.nf" "$here/nextflow.config" "$WORK/volume"
cd "$WORK/head" || exit 1
flow=(nextflow -q run "$WORK/volume/main.nf" -c "$WORK/volume/nextflow.config" -w "$WORK/volume/work"
    --started "$WORK/started" --out "$WORK/volume/results")
[ -z "${RECORD:-}" ] || flow=("$FOREBAY" run --recorder auto --jobs "$WORK/volume/jobs"
    --at "$WORK/volume" -o "$RECORD" -- "${flow[@]}")
now began
"${flow[@]}" > "$WORK/out" 2>&1 &
engine=$!
if [ -n "${AT:-}" ]; then
    sleep "$AT"
    kill -0 $engine || fail "the run has ended before $AT s"
    lose_node "$NODE"
    scontrol update "nodename=n$NODE" state=down reason=gone
    now lost
    rm "$etc/slurmd.n$NODE.pid"
    if [ -n "${BACK:-}" ]; then
        sleep "$BACK"
        replace_node "$NODE"
        volume_on "$NODE"
        start_slurmd "$NODE"
        works() { sinfo -h -N -n "n$NODE" -o %T | grep -qE '^(idle|mixed|allocated)$'; }
        wait_for 20 works || { cat "$etc"/*.log; fail "node $NODE does not come back"; }
        now back
    fi
fi
wait $engine
status=$?
now ended
cat "$WORK/out"
cp -r "$WORK/volume/results" "$WORK/results"
cd "$WORK" || exit 1
[ $status = 0 ] || { daemon_logs; tail -n 80 head/.nextflow.log; }
stop
volume_nowhere
end_nodes
exit $status
