#!/bin/bash
# If this failed, a workflow engine would take a failed task for a good one, or the reverse.
# ring: short
# as: root,user
set -u
. "$REAL/lib.sh"

for status in 0 1 7 42 126 127 255; do
    expect_status $status covered sh -c "exit $status"
done
expect_status 127 covered no-such-command-at-all
echo data > plain-file
expect_status 126 covered ./plain-file

# Killed by a signal: a shell reports 128 + n; bare bash of the case does the same.
expect_status 137 covered sh -c 'kill -9 $$'
expect_status 143 covered sh -c 'kill -15 $$'
expect_status 134 covered sh -c 'ulimit -c 0; kill -ABRT $$'
expect_status 3 covered sh -c 'trap "exit 3" TERM; kill -TERM $$; sleep 5'

# The command's own streams are its own, byte for byte.
covered sh -c 'printf "out\n\0\377"; printf "err\n" >&2' > "$WORK/out" 2> "$WORK/err"
printf 'out\n\0\377' > "$WORK/wanted"
same "$WORK/wanted" "$WORK/out"
grep -q '^err$' "$WORK/err" || fail "standard error of the command is missing"
seq 100000 > "$WORK/in"
covered cat < "$WORK/in" > "$WORK/out"
same "$WORK/in" "$WORK/out"
# SIGPIPE: the reader leaves, the writer must end.
covered sh -c 'yes; echo "$?" > yes.status' | head -1 > "$WORK/out"
[ "$(cat "$WORK/out")" = y ] || fail "pipe"

# Arguments and environment pass unchanged.
covered printf '%s|' 'a b' '' '*' -o --help -- "new
line" > "$WORK/out"
[ "$(cat "$WORK/out")" = 'a b||*|-o|--help|--|new
line|' ] || fail "arguments changed: $(cat "$WORK/out")"
[ "$(FOO='x y' covered sh -c 'echo "$FOO"')" = 'x y' ] || fail "environment changed"
[ "$(umask 027; covered sh -c umask)" = 0027 ] || fail "umask changed"
[ "$(ulimit -n 777; covered sh -c 'ulimit -n')" = 777 ] || fail "fd limit changed"
[ "$(covered pwd)" = "$PWD" ] || fail "working directory changed"
# A file descriptor beyond 2 is handed on, as every shell does.
exec 9> "$WORK/nine"
covered sh -c 'echo nine >&9' || fail "descriptor 9 was closed"
exec 9>&-
[ "$(cat "$WORK/nine")" = nine ] || fail "descriptor 9 leads elsewhere"

if [ "$MODE" = covered ]; then
    for run in "$WORK"/runs/*.run; do
        [ "$(/usr/bin/python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute("pragma integrity_check").fetchone()[0])' "$run")" = ok ] ||
            fail "run file $run is not a sound database"
    done
fi
