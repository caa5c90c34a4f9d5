#!/bin/bash
# If this failed, lines of a log that several jobs append to would be lost or torn.
# ring: short
# as: root,user
# as-long: traced
set -eu
. "$REAL/lib.sh"

writer='
import os, sys
fd = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
for i in range(2000):
    os.write(fd, b"%s %d %s\n" % (sys.argv[1].encode(), i, b"." * (i % 150)))
'
covered sh -c 'for n in a b c; do /usr/bin/python3 -c "$0" $n & done; wait' "$writer" & one=$!
covered sh -c 'for n in d e; do /usr/bin/python3 -c "$0" $n & done; wait' "$writer" & two=$!
/usr/bin/python3 -c "$writer" f &
/usr/bin/python3 -c "$writer" g &
# The shell's own >> and a descriptor shared by children, as in `.command.log`.
covered sh -c 'exec >> log; for i in $(seq 100); do /bin/echo "h $i ."; done' & three=$!
wait $one $two $three
wait
cat > "$WORK/check.py" <<'PY'
import collections, sys
lines = open("log").read().splitlines()
count = collections.Counter(line.split(" ")[0] for line in lines)
wanted = {n: 2000 for n in "abcdefg"} | {"h": 100}
assert count == wanted, f"lines lost or torn: {dict(count)}"
for line in lines:
    who, number, dots = line.split(" ")
    assert who == "h" or dots == "." * (int(number) % 150), f"torn: {line}"
for who in "abcdefg":
    order = [int(x.split()[1]) for x in lines if x[0] == who]
    assert order == sorted(order), f"{who}: out of order"
PY
/usr/bin/python3 "$WORK/check.py" || fail "seen outside"
covered /usr/bin/python3 "$WORK/check.py" || fail "seen inside"
