#!/bin/bash
# If this failed, a shared volume would lose what fsync had promised or what another node had seen,
# when its daemons are killed, stopped past their leases, or its database starts anew.
# KILLS says how many losses there are.
# ring: long
# as: root
# alone: yes
# bare: no
# needs: python3 /usr/lib/postgresql ip nsenter
# limit: 1200
set -u
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
kills=${KILLS:-200}
program=$REAL/programs/shared_kills.py
RANDOM=$((SEED % 32768))

nodes 4
bucket
book
mkdir "$WORK/volume" "$WORK/ledgers"
mount_on() {
    node "$1" "$FOREBAY" mount --book "$(url_on "$1")" --listen "10.77.0.$1" s3://lab/kills \
        "$WORK/volume" > /dev/null 2>> "$WORK/mounts"
}
daemon() {  # K: the process that serves node K
    local process
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/ns/net")" = "$(readlink "/proc/${keeper[$1]}/ns/net")" ] || continue
        [ "$(cat "$process/comm")" = forebay ] && { echo "${process#/proc/}"; return; }
    done
}
gone() { ! readlink "/proc/$1/ns/net" > /dev/null; }
for k in 1 2 3 4; do mount_on $k || fail "mount on node $k"; done
workers=()
for k in 1 2 3 4; do
    for act in write read; do
        node $k python3 "$program" $act "$WORK/ledgers/$act$k.ledger" "$WORK/volume" $k "$SEED" \
            2>> "$WORK/torn" &
        workers+=($!)
    done
done

check_on() {
    node "$1" timeout 240 python3 "$program" check "$WORK/ledgers" "$WORK/volume" > "$WORK/told" 2>&1 ||
        { cat "$WORK/told" "$WORK/mounts"; daemon_logs; fail "$2: node $1 does not have what was promised"; }
    [ ! -s "$WORK/torn" ] || { cat "$WORK/torn"; daemon_logs; fail "$2: a program saw a torn file"; }
}

say "$kills losses, seed $SEED"
for loss in $(seq "$kills"); do
    sleep "0.$((RANDOM % 9))"
    k=$((1 + RANDOM % 4))
    if [ $((loss % 40)) = 0 ]; then
        what="loss $loss: node $k stopped past its lease"
        pid=$(daemon $k)
        kill -STOP "$pid"
        sleep 17
        kill -CONT "$pid"
    elif [ $((loss % 25)) = 0 ]; then
        what="loss $loss: the book started anew"
        "$FOREBAY" book stop --force "$WORK/data/book" 2> /dev/null || fail "book stop"
        "$FOREBAY" book start "$WORK/data/book" > /dev/null 2>&1 || fail "book start"
    else
        what="loss $loss: node $k killed"
        pid=$(daemon $k)
        kill -9 "$pid"
        wait_for 5 gone "$pid" || fail "$what: it does not end"
        node $k umount -l "$WORK/volume"
        mount_on $k || { tail -n 3 "$WORK/mounts"; daemon_logs; fail "$what: it does not mount again"; }
    fi
    [ $((loss % 10)) != 0 ] || { check_on $((1 + (k + loss / 10) % 4)) "$what"; echo "$what: $(cat "$WORK/told")"; }
done
touch "$WORK/ledgers/stop"
wait "${workers[@]}"
for k in 1 2 3 4; do
    check_on $k "at the end"
    echo "at the end, node $k: $(cat "$WORK/told")"
done
say "a promise that was not kept is noticed"
mkdir "$WORK/false"
cp "$WORK"/ledgers/*.ledger "$WORK/false"
echo "sure common/file1.0 1000000" >> "$WORK/false/write1.ledger"
expect_status 1 node 1 python3 "$program" check "$WORK/false" "$WORK/volume"
for k in 1 2 3 4; do
    node $k "$FOREBAY" unmount "$WORK/volume" || fail "unmount of node $k"
done
end_nodes
