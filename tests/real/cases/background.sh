#!/bin/bash
# If this failed, a daemon or nohup job started by the command would lose its files when it
# returns.
# ring: short
# as: user
# as-long: root
# limit: 40
set -eu
. "$REAL/lib.sh"

# The child goes on once the front has returned: a front that waits for it never does.
# Two places for two words: whoever opens one again may find the writer of the first word there still.
mkfifo "$WORK/go" "$WORK/on"
covered sh -c '(read -r _ < "$WORK/go"; echo late > late; cat early >> late
                read -r _ < "$WORK/on"; echo later >> late) > out 2>&1 &
               echo early > early; exit 5' && fail "status" || [ $? = 5 ] || fail "status $?"
[ -e early ] || fail "early is not there"
echo > "$WORK/go"
wait_for 6 grep -q early late || fail "the background child could not write: $(cat out late 2>&1)"
echo > "$WORK/on"
wait_for 6 grep -q later late || fail "the background child could not write: $(cat out late 2>&1)"
[ "$(cat late)" = "$(printf 'late\nearly\nlater')" ] || fail "wrong content: $(cat late)"
[ ! -s out ] || fail "the child complained: $(cat out)"

say "nohup, setsid, and a working directory inside that outlives the command"
mkdir -p in/side
covered sh -c 'cd in/side
    setsid nohup sh -c "sleep 1; pwd > where; cd ..; ls > list" > /dev/null 2>&1 &'
wait_for 5 grep -q side in/list || fail "a child with its own session was cut off"
[ "$(cat in/side/where)" = "$PWD/in/side" ] || fail "its directory was renamed"

say "meanwhile another run works, and the end is clean"
covered sh -c '(sleep 1.5; echo a > after-a) & exit 0'
covered sh -c 'echo b > after-b'
wait_for 5 test -s after-a || fail "the first run's child was disturbed by the second"
