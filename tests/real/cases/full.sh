#!/bin/bash
# If this failed, a full disk or quota would lose data without a word, or wedge the run.
# ring: short
# as: root
set -eu
. "$REAL/lib.sh"

mkdir disk
mount -t tmpfs -o size=4m,nr_inodes=60 none disk
trap 'umount disk' EXIT
head -c 3000000 /dev/urandom > "$WORK/data"

cat > "$WORK/fill.py" <<'PY'
import errno, os
def refused(call, *a):
    try:
        call(*a)
    except OSError as e:
        assert e.errno == errno.ENOSPC, e
        return True
    raise SystemExit(f"allowed on a full disk: {a}")
fd = os.open("fill", os.O_CREAT | os.O_WRONLY)
done = 0
try:
    while True:
        done += os.write(fd, b"F" * 65536)
except OSError as e:
    assert e.errno == errno.ENOSPC, e
assert os.fstat(fd).st_size == done, (os.fstat(fd).st_size, done)
refused(os.posix_fallocate, fd, done, 1 << 20)
refused(os.pwrite, fd, b"x" * 8192, 8 << 20)
os.close(fd)
assert open("fill", "rb").read() == b"F" * done
os.statvfs(".").f_bavail == 0 or exit("df says there is room")
open("small", "wb").close()                     # a name needs an inode only
def flushed():
    f = os.open("small", os.O_WRONLY)
    try:
        os.write(f, b"x" * 5000)
        os.fsync(f)
    finally:
        os.close(f)
refused(flushed)
os.unlink("fill")
open("small", "wb").write(b"y" * 100000)
assert open("small", "rb").read() == b"y" * 100000
def many():
    for i in range(100):
        open(f"inode{i}", "w").close()
refused(many)
PY
covered_at "$PWD/disk" sh -ec 'cp "$1" data; cmp "$1" data' sh "$WORK/data"
covered_at "$PWD/disk" /usr/bin/python3 "$WORK/fill.py" || fail "the full disk"
same "$WORK/data" disk/data
[ "$(stat -c %s disk/small)" = 100000 ] || fail "small"
rm -f disk/inode*

say "space that a removed or replaced file gives back is there at once"
cat > "$WORK/again.py" <<'PY'
import errno, os
os.unlink("small")
def fill(name):
    fd = os.open(name, os.O_CREAT | os.O_WRONLY)
    try:
        while True:
            os.write(fd, b"F" * 65536)
    except OSError as e:
        assert e.errno == errno.ENOSPC, e
    os.close(fd)
for turn in range(30):
    open("next", "wb").close()
    fill("fill")
    if turn % 3 == 1:
        open("fill", "rb").read()
    if turn % 3 == 2:
        os.rename("next", "fill")
    else:
        os.unlink("fill")
    open("next", "wb").write(b"y" * 500000)
    os.path.exists("fill") and os.unlink("fill")
    os.unlink("next")
open("small", "wb").write(b"y" * 100000)
PY
covered_at "$PWD/disk" /usr/bin/python3 "$WORK/again.py" || fail "space is not given back"

expect_status 1 covered_at "$PWD/disk" dd if=/dev/zero of=big bs=64k
same "$WORK/data" disk/data
covered_at "$PWD/disk" rm big
[ "$(covered_at "$PWD/disk" df --output=size . | tail -1)" = \
  "$(df --output=size disk | tail -1)" ] || fail df

say "a limit on file size"
status=0
covered bash -c 'ulimit -f 10; exec head -c 100000 /dev/zero > limited' || status=$?
[ $status = 153 ] && [ "$(stat -c %s limited)" = 10240 ] ||
    fail "SIGXFSZ: $status, $(stat -c %s limited)"
