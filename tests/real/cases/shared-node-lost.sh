#!/bin/bash
# If this failed, a node that is taken away in the middle of a workflow (a spot instance, a crash)
# would take results of others with it, or its own that were safe, or nobody could go on afterwards.
# ring: long
# as: root
# alone: yes
# bare: no
# needs: nextflow java slurmctld slurmd sbatch munged /usr/lib/postgresql ip nsenter
# limit: 600
set -u
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
. "$REAL/cluster.sh"

cat > nextflow.config <<'CONF'
process.executor = 'slurm'
executor { queueSize = 8; pollInterval = '1s'; queueStatInterval = '1s'; exitReadTimeout = '60s' }
CONF
wanted=$(for n in $(seq 32); do seq "$n" 20000; done | awk '{s += $1} END {print s}')

say "a volume on four nodes and the head"
nodes 4
bucket
book
mkdir "$WORK/started"
volume_everywhere lost
cluster 4

say "a node is gone when a third of the tasks have ended"
finished() { find "$WORK/started" -type f | wc -l; }
mkdir "$WORK/head"
cd "$WORK/head" || exit 1
cp "$REAL/pipelines/thirty_three.nf" "$WORK/volume/main.nf"
cp ../d/nextflow.config "$WORK/volume"
flow=(nextflow -q run "$WORK/volume/main.nf" -c "$WORK/volume/nextflow.config" -w "$WORK/volume/work"
    --started "$WORK/started" --out "$WORK/volume/results")
"${flow[@]}" > "$WORK/out" 2>&1 &
engine=$!
third() { [ "$(finished)" -ge 10 ] || ! kill -0 $engine; }
wait_for 30 third || fail "no tasks end"
kill -0 $engine || { cat "$WORK/out"; tail -n 50 .nextflow.log; fail "the engine has ended"; }
# What the head has seen to its end stays, whoever made it.
for task in "$WORK"/volume/work/*/*; do
    [ "$(cat "$task/.exitcode" 2> /dev/null)" = 0 ] && echo "$(head -n 1 "$task/large") $task"
done > "$WORK/seen"
[ -s "$WORK/seen" ] || fail "the head sees no task that has ended"
lose_node 3
scontrol update nodename=n3 state=down reason=gone
if ! wait $engine; then
    say "files that the bucket did not have yet are gone with it: removed by hand, and made again"
    grep -q "Input/output error" "$WORK/out" .nextflow.log ||
        { tail -n 80 .nextflow.log; cat "$WORK/out"; daemon_logs; stop; fail "the run"; }
    for task in "$WORK"/volume/work/*/*; do
        [ ! -f "$task/large" ] || cat "$task/large" > /dev/null 2>&1 || { rm -r "$task" && echo "$task"; }
    done | tee "$WORK/removed"
    "${flow[@]}" -resume > "$WORK/out" 2>&1 ||
        { tail -n 80 .nextflow.log; cat "$WORK/out"; daemon_logs; stop; fail "-resume"; }
fi

[ "$(cat "$WORK/volume/results/total.txt")" = "$wanted" ] || { stop; fail "another result"; }
[ "$(finished)" = 32 ] || { stop; fail "$(finished) tasks"; }
say "$(($(cat "$WORK"/started/* | wc -l) - 32)) tasks ran twice"
touch "$WORK/removed"
while read -r number task; do
    grep -qF "$task" "$WORK/removed" || [ "$(wc -l < "$WORK/started/$number")" = 1 ] || { stop; fail "task $number, which had ended, ran again"; }
done < "$WORK/seen"
cd "$WORK" || exit 1

rm "$etc/slurmd.n3.pid"
stop
volume_nowhere
end_nodes
