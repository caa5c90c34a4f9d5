#!/bin/bash
# If this failed, a team that does what docs/guides/cluster.md says, on nodes with networks, homes and
# mounts of their own, would not get one volume on all of them.
# ring: short
# as: root
# bare: no
# needs: /usr/lib/postgresql ip nsenter unshare
# limit: 120
set -u
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
nodes 3
bucket

say "a private book, on the head"
book

say "the volume, on each node"
mount_on() {
    node "$1" "$FOREBAY" mount --book "$(url_on "$1")" --listen "10.77.0.$1" s3://lab/shared \
        "$WORK/home$1/work" || fail "mount on node $1"
}
for n in 1 2 3; do
    node $n mkdir work
    mount_on $n
done
"$FOREBAY" book status "$url" > status || fail "book status"
[ "$(grep -c '^  10\.77\.0\..*lease' status)" = 3 ] || { cat status; fail "not three nodes in the book"; }

say "what a program on one node closed, programs on the others find at once"
for round in $(seq 30); do
    for n in 1 2 3; do
        node $n mkdir "work/task-$round-$n"
        node $n sh -c "echo $n > work/task-$round-$n/result; echo 0 > work/task-$round-$n/.exitcode"
        for other in 1 2 3; do
            [ "$(node $other cat "work/task-$round-$n/.exitcode" "work/task-$round-$n/result")" = "0
$n" ] || fail "round $round: node $other does not see what node $n made"
        done
    done
done

say "long files are read on nodes that did not write them"
node 1 sh -c 'seq 2000000 > work/reads.txt'
for n in 2 3; do
    [ "$(node $n sha256sum work/reads.txt)" = "$(node 1 sha256sum work/reads.txt)" ] ||
        fail "node $n reads other bytes"
done

say "all names are in the book when a node has left, and its next mount has them"
node 2 "$FOREBAY" unmount "$WORK/home2/work" || fail "unmount of node 2"
[ -z "$(node 2 ls -A work)" ] || fail "something is left below the mount"
node 3 sh -c 'echo later > work/later'
mount_on 2
[ "$(node 2 cat work/later)" = later ] || fail "node 2 does not see what it missed"
[ "$(node 2 sh -c 'ls work | wc -l')" = 92 ] || fail "not all names are there"

for n in 1 2 3; do
    node $n "$FOREBAY" unmount "$WORK/home$n/work" || fail "unmount of node $n"
done
end_nodes
