#!/bin/bash
# If this failed, a node that is cut off, a database or a bucket that is away would lose files of a
# shared volume, let programs wait for ever, or say nothing of why.
# ring: long
# as: root
# alone: yes
# bare: no
# needs: /usr/lib/postgresql ip nsenter timeout
# limit: 600
set -u
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
nodes 3
bucket
book
mkdir "$WORK/volume"
mount_on() {
    node "$1" "$FOREBAY" mount --book "$(url_on "$1")" --listen "10.77.0.$1" s3://lab/fail \
        "$WORK/volume" || fail "mount on node $1"
}
for k in 1 2 3; do mount_on $k; done
v=$WORK/volume
said() { grep -h "$1" "$WORK/home$2"/.local/state/forebay/daemons/*/daemon.log; }

say "a node that is cut off from all others: they go on without it, and it takes no changes"
node 2 sh -c "mkdir $v/cut && echo kept > $v/cut/kept && sync $v/cut/kept $v/cut"
node 1 cat "$v/cut/kept" > /dev/null || fail "node 1 does not see the file"
node 2 sh -c "echo mine > $v/cut/mine"
ip link set port2 down
began=$SECONDS
node 1 timeout 120 sh -c "echo taken > $v/cut/taken" || fail "node 1 does not go on"
echo "node 1 had waited $((SECONDS - began)) s"
node 2 timeout 120 sh -c "echo late > $v/cut/late" 2> late && fail "a node that is cut off takes a change"
grep -q "timed out" late || { cat late; fail "it says something else"; }
said "the lease can't be renewed" 2 | tail -n 1 | grep . || { daemon_logs; fail "its log does not say why"; }
ip link set port2 up
comes_back() { [ "$(node 2 cat "$v/cut/taken")" = taken ]; }
wait_for 10 comes_back || { daemon_logs; fail "node 2 does not come back"; }
[ "$(node 2 cat "$v/cut/kept")" = kept ] || fail "what fsync promised is gone"
[ ! -e "$v/cut/late" ] || fail "a refused change is there"
node 2 sh -c "echo again > $v/cut/again" || fail "node 2 takes no changes"
[ "$(node 3 cat "$v/cut/again")" = again ] || fail "node 3 does not see them"

say "two nodes that reach the book and not each other: each gets the other's folders by way of the book"
node 1 sh -c "mkdir $v/apart && echo one > $v/apart/one"
lost=02:00:00:00:00:99   # Nobody has it: what is sent there is gone, and nobody says so.
node 1 ip neigh replace 10.77.0.2 lladdr $lost nud permanent dev eth0
node 2 ip neigh replace 10.77.0.1 lladdr $lost nud permanent dev eth0
began=$SECONDS
[ "$(node 2 timeout 120 cat "$v/apart/one")" = one ] || { daemon_logs; fail "node 2 does not see what node 1 has closed"; }
echo "a look took $((SECONDS - began)) s"
began=$SECONDS
node 2 timeout 120 sh -c "echo two > $v/apart/two" || { daemon_logs; fail "node 2 does not get the folder"; }
echo "a change took $((SECONDS - began)) s"
[ "$(node 1 timeout 120 cat "$v/apart/two")" = two ] || { daemon_logs; fail "node 1 does not see what node 2 has closed"; }
[ "$(node 3 cat "$v/apart/one" "$v/apart/two")" = "one
two" ] || fail "node 3, which reaches both, sees something else"
said "gets no answer from this node" 1 | grep "10.77.0.2:7420" | tail -n 1 | grep . ||
    { daemon_logs; fail "the log of node 1 does not say who does not reach it"; }
node 1 ip neigh del 10.77.0.2 dev eth0
node 2 ip neigh del 10.77.0.1 dev eth0
node 1 timeout 120 sh -c "echo three > $v/apart/three" || fail "node 1 does not go on"
[ "$(node 2 timeout 120 cat "$v/apart/three")" = three ] || fail "node 2 does not go on"

say "the database away for longer than a lease: programs are told, and all goes on afterwards"
node 1 sh -c "mkdir $v/db && echo before > $v/db/before"
node 3 cat "$v/db/before" > /dev/null
"$FOREBAY" book stop --force "$WORK/data/book" || fail "book stop"
sleep 12
node 1 timeout 120 sh -c "echo no > $v/db/no" 2> no && fail "a change without the book"
grep -q "timed out" no || { cat no; fail "it says something else"; }
said "waited in vain" 1 | tail -n 1 | grep . || { daemon_logs; fail "the log does not say for whom it waited"; }
"$FOREBAY" book start "$WORK/data/book" > /dev/null || fail "book start"
works() { node 1 sh -c "echo yes > $v/db/yes"; }
wait_for 20 works || { daemon_logs; fail "node 1 does not go on"; }
[ "$(node 3 cat "$v/db/yes")" = yes ] || fail "node 3 does not see it"

say "the bucket away: long files are read from the node that wrote them, and sent when it is back"
kill -STOP "$s3"
node 1 sh -c "seq 50000 > $v/long"
[ "$(node 3 sha256sum "$v/long")" = "$(node 1 sha256sum "$v/long")" ] || fail "node 3 reads other bytes"
kill -CONT "$s3"
node 1 "$FOREBAY" unmount "$v" || fail "unmount of node 1"
[ "$(node 3 sha256sum "$v/long" | cut -d' ' -f1)" = "$(seq 50000 | sha256sum | cut -d' ' -f1)" ] ||
    fail "the long file is not in the bucket"

say "a book that is lost comes back from its backup"
for k in 2 3; do node $k "$FOREBAY" unmount "$v" || fail "unmount of node $k"; done
pg=$(echo /usr/lib/postgresql/*/bin)
export PGPASSFILE=$WORK/data/book/passfile
database=(-h $HEAD -p 5432 -U forebay)
"$pg/pg_dump" "${database[@]}" -n forebay forebay > "$WORK/dump.sql" || fail "pg_dump"
"$FOREBAY" book stop --force "$WORK/data/book" || fail "book stop"
rm -rf "$WORK/data/book"
url=$("$FOREBAY" book start --listen $HEAD:5432 "$WORK/data/book") || fail "a new book"
"$pg/psql" "${database[@]}" -q -v ON_ERROR_STOP=1 -d forebay -c 'DROP SCHEMA IF EXISTS forebay CASCADE' \
    -f "$WORK/dump.sql" > /dev/null || fail "the backup is refused"
for k in 1 2 3; do install -m 600 "$WORK/data/book/passfile" "$WORK/home$k/passfile"; done
mount_on 3
[ "$(node 3 cat "$v/cut/kept" "$v/db/yes")" = "kept
yes" ] || fail "files are missing"
[ "$(node 3 sha256sum "$v/long" | cut -d' ' -f1)" = "$(seq 50000 | sha256sum | cut -d' ' -f1)" ] ||
    fail "the long file is missing"
node 3 "$FOREBAY" unmount "$v" || fail "unmount of node 3"
end_nodes
