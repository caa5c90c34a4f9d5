#!/bin/bash
# If this failed, kill -9 or the OOM killer would leave a dead mount, a process that hangs for
# ever, or lose bytes a program was told are written.
# ring: short
# as: root,user,packed
# as-long: ruled,packed-user,packed-drained
# bare: no
set -u
. "$REAL/lib.sh"

# Acknowledges each line it has written on its own stdout, which is outside the covered directory.
script='
import os, sys
open(os.environ["WORK"] + "/pid", "w").write(str(os.getpid()))
fd = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
for i in range(10**9):
    try:
        os.write(fd, b"%d\n" % i)
        if i % 50 == 0:
            f = open("other", "w"); f.write("x"); f.close(); os.stat("data")
    except OSError:
        sys.exit(8)
    os.write(1, b"%d\n" % i)
    if i >= 20000: import time; time.sleep(0.01)
'
servants() {  # the processes of forebay other than the front
    local p
    for p in /proc/[0-9]*; do
        [ "${p#/proc/}" != "$front" ] || continue
        [ "$(cat "$p/comm" 2>/dev/null)" != forebay ] || echo "${p#/proc/}"
    done
}
gone() { [ ! -d "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status"; }
mounts=$(cat /proc/self/mountinfo)

try() {  # WHO: kills it, and looks
    local who=$1 command victims status
    say "kill -9 of the $who"
    rm -f "$WORK/pid" log other
    echo precious > data
    start /usr/bin/python3 -c "$script" > "$WORK/told"
    wait_for 10 test -s "$WORK/told" || fail "no start"
    command=$(cat "$WORK/pid")
    victims=$(servants)
    [ -n "$victims" ] || echo "(no process of forebay besides the front: its daemon is the front)"
    case $who in
        front) kill -9 "$front" ;;
        daemon) kill -9 ${victims:-$front} ;;
        command) kill -9 "$command" ;;
        everything) kill -9 "$front" $victims "$command" ;;
    esac
    wait $front
    status=$?
    case $who in
        command) [ $status = 137 ] || fail "status $status, not 137" ;;
        daemon) [ $status != 0 ] || fail "a run whose volume died says it went well" ;;
    esac
    if [ $who = front ] && [ -d "/proc/$command" ]; then
        # It may go on, but then it must work; or end, but then at once.
        sleep 1
        gone "$command" || { before=$(wc -l < log); sleep 0.5; [ "$(wc -l < log)" -gt "$before" ] ||
            gone "$command" || fail "the command neither works nor ends"; kill -9 "$command"; }
    fi
    for p in $command $victims; do
        wait_for 5 gone $p || fail "process $p still here"
    done
    [ "$(cat /proc/self/mountinfo)" = "$mounts" ] || fail "a mount is left"
    timeout 5 ls -l > /dev/null || fail "the directory does not answer"
    [ "$(timeout 5 cat data)" = precious ] || fail "data"
    case $VARIANT in
        packed*) "$FOREBAY" restore . > "$WORK/restored" 2>&1 || fail "restore: $(cat "$WORK/restored")" ;;
    esac
    # All that was told is there; a line in flight may be there as well.
    head -n "$(wc -l < "$WORK/told")" log | cmp - "$WORK/told" || fail "told, but not there"
    expect_status 0 covered sh -c '[ "$(cat data)" = precious ] && echo again > again'
}

for who in command daemon front everything; do try $who; done
for run in "$WORK"/runs/*.run; do
    [ -e "$run" ] || continue
    /usr/bin/python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
assert db.execute("pragma integrity_check").fetchone()[0] == "ok"' "$run" ||
        fail "a run file is not sound: $run"
done

# To forget a name the kernel waits for the lock of its directory, which a program holds while it
# waits for an answer: a killed daemon must leave neither of the two behind.
if [ "$VARIANT" = root ]; then
    say "kill -9 of all while the kernel waits to forget a name"
    mkdir "$WORK/vol" "$WORK/vol/d" at
    echo old > "$WORK/vol/d/known"
    "$FOREBAY" mount --emulate 300ms,1GiB/s "$WORK/vol" at || fail "no mount"
    waits() { grep -qs fuse_reverse_inval_entry /proc/[0-9]*/task/*/wchan; }
    for round in 1 2 3 4 5; do
        ls at/d > /dev/null; cat at/d/known > /dev/null
        (: > "at/d/new$round") 2> /dev/null &
        holder=$!
        sleep 0.1
        echo new > "$WORK/vol/d/next"; mv "$WORK/vol/d/next" "$WORK/vol/d/known"
        for look in 1 2 3 4 5 6 7 8 9 10; do
            ! waits || break 2
            sleep 0.02
        done
        wait $holder
    done
    waits || fail "the kernel never waits: nothing was tried"
    # The daemon, and who would end the connection in its place.
    # shellcheck disable=SC2046
    kill -9 $(pgrep -f -- "$WORK/vol at\$") $holder
    left=
    wait_for 5 gone $holder || left="process $holder can't be killed: $(cat /proc/$holder/stack)"
    umount -f at
    [ -z "$left" ] || fail "$left"
    [ "$(cat "$WORK/vol/d/known")" = new ] || fail "what others wrote"
fi
