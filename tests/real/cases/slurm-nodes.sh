#!/bin/bash
# If this failed, a comparison by nodes on a cluster would run elsewhere than it says, or say that
# all went well where one of its commands did not.
# ring: short
# as: root
# alone: yes
# bare: no
# needs: slurmctld slurmd srun munged python3
# limit: 120
set -u
. "$REAL/lib.sh"
. "$REAL/cluster.sh"
cluster 4

say "each size runs on as many nodes, each command in its own directory"
mkdir shared
bench() { "$FOREBAY" bench --on "net=$PWD/shared" --slurm --nodes 1,4 --repeat 3 "$@"; }
bench -o results --json -- \
    sh -c 'echo "$SLURMD_NODENAME $FOREBAY_NODE $FOREBAY_JOB $(basename "$(dirname "$PWD")")"
           seq 200000 > numbers; sort -r numbers | tail -1' > told.json ||
    { cat "$etc"/*.log results/*.log; stop; fail "bench"; }
for round in 0 1 2; do
    [ "$(grep -c '^n' "results/$round-net@1x1.log")" = 1 ] || { stop; fail "not one command"; }
    [ "$(grep '^n' "results/$round-net@4x1.log" | cut -d' ' -f1 | sort -u | wc -l)" = 4 ] ||
        { cat "results/$round-net@4x1.log"; stop; fail "not four nodes"; }
    [ "$(grep '^n' "results/$round-net@4x1.log" | cut -d' ' -f2-4 | sort)" = \
        "$(for node in 0 1 2 3; do echo "$node 0 node-$node"; done)" ] ||
        { cat "results/$round-net@4x1.log"; stop; fail "other directories"; }
done
[ -z "$(ls -A shared)" ] || { ls -A shared; stop; fail "something is left on the storage"; }
python3 - <<'CHECK' || { cat told.json; stop; fail "other figures"; }
import json
one, four = json.load(open("told.json"))["on"]
assert one["scale"] == {"nodes": 1, "jobs": 1, "slurm": True}, one
assert four["runs"] == 3 and four["failed"] == 0 and four["efficiency"] > 0, four
assert abs(four["commands_per_hour"] * four["median_s"] / 3600 - 4) < 1e-6, four
CHECK

say "two jobs on a node are two of its commands"
bench --jobs 2 -o two -- sh -c 'echo "$SLURMD_NODENAME $FOREBAY_NODE.$FOREBAY_JOB"' > told ||
    { cat told two/*.log; stop; fail "bench"; }
# srun may say there, too, that it waits for resources.
grep '^n' 'two/2-net@4x2.log' > ran
[ "$(cut -d' ' -f2 ran | sort | paste -sd' ')" = "0.0 0.1 1.0 1.1 2.0 2.1 3.0 3.1" ] ||
    { cat two/2-net@4x2.log; stop; fail "others ran"; }
# Both commands of a node run on the same one.
[ "$(sed 's/[.].$//' ran | sort -u | wc -l)" = 4 ] ||
    { cat two/2-net@4x2.log; stop; fail "a node's commands are not on one node"; }

say "one command that fails is a failure of the run"
expect_status 1 bench -o failed -- sh -c '[ "$FOREBAY_NODE" != 3 ]' > told
grep -q 'net@4x1: 100 % of runs failed' told || { cat told; stop; fail "it is not told"; }

say "what is emulated on this machine is not offered to others"
expect_status 2 "$FOREBAY" bench --on efs-elastic --slurm --nodes 2 -- true
stop
