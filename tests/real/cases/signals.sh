#!/bin/bash
# If this failed, Slurm, timeout and supervisors could not stop, warn or pause a covered job: they
# know only the process they started.
# ring: short
# as: root,user
set -u
. "$REAL/lib.sh"

echo precious > data
# Python and not bash: bash may drop an INT that arrives while it waits for a child.
cat > "$WORK/caught.py" <<'PY'
import signal, sys, time
def caught(*_):
    open("caught." + sys.argv[1], "w").write(open("data").read())
    sys.exit(int(sys.argv[2]))
signal.signal(getattr(signal, "SIG" + sys.argv[1]), caught)
open("ready." + sys.argv[1], "w").write("ready")
while True:
    time.sleep(0.1)
PY
status=40
for signal in TERM HUP INT USR1 USR2 QUIT; do
    start /usr/bin/python3 "$WORK/caught.py" $signal $status
    wait_for 5 test -s ready.$signal || fail "$signal: no start"
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
