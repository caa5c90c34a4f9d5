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
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
. "$REAL/cluster.sh"
. "$REAL/wgs.sh"

# How often a rule ran in a run, by its run file.
cat > told.py <<'PY'
import sqlite3, sys
run = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
for row in run.execute("""SELECT name, count(*) FROM tasks WHERE engine = 'snakemake' AND kind = 'task'
                          GROUP BY name ORDER BY name"""):
    print(*row)
PY

say "on this machine alone"
mkdir inputs bare
(cd inputs && "${smk[@]}" --quiet all --cores 2 -- inputs) || fail "the inputs"
(cd bare && "$FOREBAY" run -q --recorder auto -o "$WORK/one.run" -- \
    "${smk[@]}" --quiet all --cores 2 --config "inputs=$PWD/../inputs/data") || fail "the run alone"
python3 told.py "$WORK/one.run" > alone.told

say "a volume on four nodes and the head"
nodes 4
bucket
book
volume_everywhere wgs
cluster 4

say "the guide's command; a node dies in the middle, and is mended"
cp -r inputs/data "$WORK/volume/inputs"
mkdir "$WORK/volume/project"
# Jobs have the plugin, too: the environment goes with them.
export PYTHONPATH=$TOOLS/snakemake-slurm
cd "$WORK/volume/project" || exit 1
# What stands behind `--slurm-requeue` is this cluster's: it has no accounts, and jobs of a second.
"$FOREBAY" run --jobs "$WORK/volume/jobs" --at "$WORK/volume" --recorder auto -o "$WORK/all.run" -- \
    "${smk[@]}" --executor slurm --jobs 8 --latency-wait 0 --slurm-requeue \
    --slurm-no-account --slurm-status-command squeue --slurm-init-seconds-before-status-checks 2 \
    --seconds-between-status-checks 2 --default-resources runtime=10 mem_mb=100 \
    --config "inputs=$WORK/volume/inputs" > "$WORK/out" 2> "$WORK/summary" &
run=$!
cd "$WORK" || exit 1
check() { # cause
    tail -n 40 out; cat summary
    find volume/project/.snakemake/slurm_logs -name '*.log' -exec tail -n 20 {} + | tail -n 200
    daemon_logs; stop; fail "$1"
}
# Jobs have numbers, from 1 to some 80.
begun() { squeue -h -t R -o %i | sort -n | tail -n 1; }
# One that is recorded by now: its mark is there.
its_job() {
    local job
    for job in $(squeue -h -w n3 -t R -o %i); do
        ls volume/jobs/*/began | grep -q "[.]$job[.]0" && echo "$job" && return
    done
}
middle() {
    kill -0 $run || return 0
    [ "0$(begun)" -ge 20 ] && victim=$(its_job) && [ -n "$victim" ]
}
wait_for 60 middle || check "no job runs on node 3"
kill -0 $run 2> /dev/null || check "the run has ended before the node died"
kill_on_node 3
scontrol update nodename=n3 state=down reason=died
rm "$etc/slurmd.n3.pid"
requeued() { scontrol -o show job "$victim" | grep -q ' Restarts=[1-9]'; }
wait_for 20 requeued || check "job $victim is not requeued"
# As at its next boot: the mount first, then slurmd.
node 3 umount -l "$WORK/volume"
node 3 "$FOREBAY" mount --book "$(url_on 3)" --listen 10.77.0.3 s3://lab/wgs "$WORK/volume" ||
    check "the mount on node 3, again"
node 3 slurmd -N n3 || check "slurmd on node 3, again"
back() { sinfo -h -N -n n3 -o %T | grep -qE '^(idle|mixed|allocated)$'; }
wait_for 20 back || check "node 3 does not come back"
wait $run || check "the run"
cat summary

say "all is in one run, but for the record of the job that died"
grep -q "^forebay: [0-9]* run files of [45] nodes joined" summary || check "nothing was joined"
grep -q "begun and left no record" summary || check "a record that is missing is not told"
grep -q "handed over" summary && check "jobs that were recorded are told as not seen"
python3 "$WORK/d/told.py" all.run > all.told
cat all.told
same d/alone.told all.told
stop

say "the same results"
results d/bare > expected
results volume/project > got
[ -s expected ] || fail "no results"
diff expected got || fail "other results"

volume_nowhere
end_nodes
