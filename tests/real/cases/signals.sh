#!/bin/bash
# If this failed, Slurm, timeout and supervisors could not stop, warn or pause a covered job: they know
# only the process they started.
# ring: short
# as: root,user
set -u
. "$REAL/lib.sh"

echo precious > data
script='trap "cat data > caught.$1; exit $2" $1; echo ready > ready.$1; while :; do sleep 0.1; done'
status=40
for signal in TERM HUP INT USR1 USR2 QUIT; do
    # A shell starts background jobs with INT and QUIT ignored; python resets them.
    start /usr/bin/python3 -c 'import os, signal, sys
for s in (signal.SIGINT, signal.SIGQUIT): signal.signal(s, signal.SIG_DFL)
os.execvp("bash", ["bash", "-c", sys.argv[1], "sh"] + sys.argv[2:])' "$script" $signal $status
    wait_for 5 test -s ready.$signal || fail "no start"
    kill -$signal $front
    wait $front
    got=$?
    [ $got = $status ] || fail "$signal: status $got, not $status"
    [ "$(cat caught.$signal)" = precious ] || fail "$signal: the trap could not read"
    status=$((status + 1))
done

say "a signal that nobody catches"
start sh -c 'echo $$ > p; exec sleep 30'
wait_for 5 test -s p
kill -TERM $front
wait $front
got=$?
[ $got = 143 ] || fail "status $got, not 143"
[ ! -d "/proc/$(cat p)" ] || fail "the command still runs"

say "timeout, and stop and continue"
expect_status 124 timeout 1 "$FOREBAY" run $FOREBAY_OPTIONS -o "$WORK/runs/t.run" -- sleep 30
start sh -c 'i=0; while [ ! -e enough ]; do i=$((i+1)); echo $i >> ticks; sleep 0.05; done'
wait_for 5 test -s ticks
kill -CONT $front
wait_for 5 sh -c '[ $(wc -l < ticks) -gt 5 ]' || fail "CONT stopped it"
touch enough
wait $front || fail "status after CONT"
