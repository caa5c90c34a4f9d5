#!/bin/bash
# If this failed, a full disk of the database would lose what fsync has promised in a shared volume, let
# programs wait for ever, or say nothing of why.
# ring: long
# as: root
# alone: yes
# bare: no
# needs: /usr/lib/postgresql ip nsenter timeout
# limit: 300
set -u
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
nodes 2
bucket
mkdir "$WORK/data"
mount -t tmpfs -o size=200m,mode=755 none "$WORK/data" || fail "no tmpfs"
book
mkdir "$WORK/volume"
v=$WORK/volume
for k in 1 2; do
    node "$k" "$FOREBAY" mount --book "$(url_on "$k")" --listen "10.77.0.$k" s3://lab/full "$v" ||
        fail "mount on node $k"
done
said() { grep -h "$1" "$WORK/home$2"/.local/state/forebay/daemons/*/daemon.log; }

say "the database's disk is full: programs are told, and the log says what to do"
node 1 sh -c "mkdir $v/d && echo before > $v/d/before && sync $v/d/before $v/d" || fail "it does not work at all"
dd if=/dev/zero of="$WORK/data/filler" bs=64k 2> /dev/null && fail "there is always room"
truncate -s -2M "$WORK/data/filler"
fill() {  # Small files are in the book: at some number it takes no more.
    local number
    for number in $(seq 300); do
        node 1 timeout 120 sh -c "head -c 30000 /dev/urandom > $v/d/$number && sync $v/d/$number" 2> full || return 0
        echo "$number" >> promised
    done
    return 1
}
: > promised
fill || fail "the database takes all of it"
grep -q "timed out" full || { cat full; daemon_logs; fail "it says something else"; }
echo "$(wc -l < promised) files were promised before"
said "No space left on device" 1 | tail -n 1 | cut -c1-300 | grep . || { daemon_logs; fail "the log does not say why"; }
said "give the database's disk room" 1 > /dev/null || { daemon_logs; fail "the log does not say what to do"; }

say "with room again all goes on, and what was promised is there"
rm "$WORK/data/filler"
"$FOREBAY" book start "$WORK/data/book" > /dev/null || fail "book start"
works() { node 1 timeout 120 sh -c "echo after > $v/d/after && sync $v/d/after"; }
wait_for 20 works || { daemon_logs; fail "node 1 does not go on"; }
[ "$(node 2 cat "$v/d/before" "$v/d/after")" = "before
after" ] || fail "node 2 sees something else"
while read -r number; do
    [ "$(node 2 sha256sum "$v/d/$number")" = "$(node 1 sha256sum "$v/d/$number")" ] || fail "file $number differs"
    [ "$(node 2 stat -c %s "$v/d/$number")" = 30000 ] || fail "file $number is not whole"
done < promised
for k in 1 2; do node $k "$FOREBAY" unmount "$v" || fail "unmount of node $k"; done
end_nodes
umount "$WORK/data" || fail "somebody uses the database's disk still"
