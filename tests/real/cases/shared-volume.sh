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

# Everything below happens in a network of the case's own, which is gone with it.
if [ "${INSIDE:-}" != yes ]; then
    INSIDE=yes exec unshare --net bash "$0"
fi
HEAD=10.77.0.254
ip link set lo up
ip link add bridge0 type bridge
ip addr add $HEAD/24 dev bridge0
ip link set bridge0 up

# node N COMMAND...: on a node with a network, mounts and a home of its own.
declare -A keeper
add_node() {
    local home=$WORK/home$1
    mkdir -p "$home"
    unshare --net --mount --propagation private sleep infinity &
    keeper[$1]=$!
    wait_for 5 test "$(readlink /proc/self/ns/net)" != "$(readlink "/proc/$!/ns/net")" || sleep 1
    ip link add "port$1" type veth peer name eth0 netns $!
    ip link set "port$1" master bridge0 up
    node "$1" ip addr add "10.77.0.$1/24" dev eth0
    node "$1" ip link set eth0 up
    node "$1" ip link set lo up
}
node() {
    local home=$WORK/home$1 pid=${keeper[$1]}
    shift
    nsenter --net="/proc/$pid/ns/net" --mount="/proc/$pid/ns/mnt" \
        env -C "$home" HOME="$home" XDG_STATE_HOME= "$@"
}
for n in 1 2 3; do add_node $n; done

say "the bucket, on the head"
mkdir -p "$WORK/objects/lab"
mkfifo "$WORK/s3.in"
"$S3_SERVER" "$WORK/objects" --listen $HEAD \
    < "$WORK/s3.in" > "$WORK/s3.out" &
s3=$!
exec 7> "$WORK/s3.in"
wait_for 5 test -s "$WORK/s3.out" || fail "no S3 server"
eval "$(python3 -c '
import json, shlex, sys
for name, value in json.loads(sys.stdin.readline()).items():
    print(f"export {name}={shlex.quote(value)}")' < "$WORK/s3.out")"

say "a private book, on the head"
mkdir "$WORK/data"
chmod 755 "$WORK"
url=$("$FOREBAY" book start --listen $HEAD:5432 "$WORK/data/book") || fail "book start"
for n in 1 2 3; do
    install -m 600 "$WORK/data/book/passfile" "$WORK/home$n/passfile"
done

say "the volume, on each node"
for n in 1 2 3; do
    node $n mkdir work
    node $n "$FOREBAY" mount --book "${url%%\?*}?passfile=$WORK/home$n/passfile" \
        --listen "10.77.0.$n" s3://lab/shared "$WORK/home$n/work" || fail "mount on node $n"
done
"$FOREBAY" book status "$url" > status || fail "book status"
[ "$(grep -c '  10\.77\.0\..*lease' status)" = 3 ] || { cat status; fail "not three nodes in the book"; }

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
    [ "$(node $n sha256sum work/reads.txt)" = \
        "$(node 1 sha256sum work/reads.txt)" ] || fail "node $n reads other bytes"
done

say "all names are in the book when a node has left, and the next mount has them"
node 2 "$FOREBAY" unmount "$WORK/home2/work" || fail "unmount of node 2"
[ -z "$(ls -A "$WORK/home2/work")" ] || fail "something is left below the mount"
node 3 sh -c 'echo later > work/later'
node 2 "$FOREBAY" mount --book "${url%%\?*}?passfile=$WORK/home2/passfile" \
    --listen 10.77.0.2 s3://lab/shared "$WORK/home2/work" || fail "node 2 mounts again"
[ "$(node 2 cat work/later)" = later ] || fail "node 2 does not see what it missed"
[ "$(node 2 sh -c 'ls work | wc -l')" = 92 ] || fail "not all names are there"

for n in 1 2 3; do
    node $n "$FOREBAY" unmount "$WORK/home$n/work" || fail "unmount of node $n"
done
"$FOREBAY" book stop "$WORK/data/book" || fail "book stop"
exec 7>&-
wait $s3
kill "${keeper[@]}"
