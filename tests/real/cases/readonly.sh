#!/bin/bash
# If this failed, a read-only reference directory could not be covered, or would fail with another error.
# ring: short
# as: root
set -eu
. "$REAL/lib.sh"

mkdir ref
seq 100000 > ref/genome.fa
mkdir ref/index && echo i > ref/index/i
mount --bind ref ref
mount -o remount,bind,ro ref
trap 'umount ref' EXIT
cat > "$WORK/try.py" <<'PY'
import errno, os, sys
def name(call, *a):
    try: call(*a); return "ok"
    except OSError as e: return errno.errorcode[e.errno]
for call, *a in ((open, "new", "w"), (open, "genome.fa", "a"), (os.mkdir, "d"), (os.unlink, "genome.fa"),
                 (os.rmdir, "index"), (os.rename, "genome.fa", "g"), (os.chmod, "genome.fa", 0o600),
                 (os.utime, "genome.fa"), (os.truncate, "genome.fa", 5), (os.symlink, "a", "b"),
                 (os.link, "genome.fa", "h"), (os.mkfifo, "p"), (os.setxattr, "genome.fa", "user.a", b"x"),
                 (os.chown, "genome.fa", 1, 1), (open, "missing"), (open, "genome.fa"), (os.listdir, "index")):
    print(call.__name__, name(call, *a))
print(os.access("genome.fa", os.W_OK), os.access("genome.fa", os.R_OK), len(open("genome.fa").read()))
PY
(cd ref && /usr/bin/python3 "$WORK/try.py") > "$WORK/wanted"
grep -q 'mkdir EROFS' "$WORK/wanted" || fail "the bare directory is not read-only"
covered_at "$PWD/ref" /usr/bin/python3 "$WORK/try.py" > "$WORK/seen"
diff "$WORK/wanted" "$WORK/seen" || fail "other errors"
