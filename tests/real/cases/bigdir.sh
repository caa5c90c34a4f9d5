#!/bin/bash
# If this failed, a task directory of 100,000 files would be listed wrong, twice, or for ever.
# ring: short
# as: packed
# as-long: root,user,ruled
# limit: 240
set -eu
. "$REAL/lib.sh"

cat > "$WORK/big.py" <<'PY'
import os, time
n = 100_000
t = time.monotonic()
os.mkdir("big")
os.chdir("big")
for i in range(n):
    os.close(os.open(f"file-{i:06d}-{'x' * (i % 60)}", os.O_CREAT | os.O_WRONLY))
made = time.monotonic()
names = os.listdir()
assert len(names) == len(set(names)) == n, (len(names), len(set(names)))
listed = time.monotonic()
assert sum(e.is_file() for e in os.scandir()) == n
assert sum(e.stat().st_size == 0 for e in list(os.scandir())[:5000]) == 5000
d = os.open(".", os.O_RDONLY)
assert len(os.listdir(d)) == n
looked = time.monotonic()
for i in range(0, n, 2):
    os.unlink(f"file-{i:06d}-{'x' * (i % 60)}")
assert len(os.listdir()) == n // 2
gone = time.monotonic()
print(f"create {made - t:.1f} s, list {listed - made:.1f} s, look {looked - listed:.1f} s, "
      f"delete half {gone - looked:.1f} s")
PY
covered /usr/bin/python3 "$WORK/big.py"
[ "$(find big -type f | wc -l)" = 50000 ] || fail "another number of files outside"
[ "$(covered sh -c 'ls -U big | wc -l')" = 50000 ] || fail "ls inside"
[ "$(covered sh -c 'ls -l big | tail -n +2 | wc -l')" = 50000 ] || fail "ls -l inside"
covered rm -rf big
[ ! -e big ] || fail "rm -rf left something"
