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
