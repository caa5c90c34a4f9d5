#!/bin/bash
# If this failed, a read-only reference directory could not be covered, or would fail with another
# error.
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
fa = "genome.fa"
for call, *a in ((open, "new", "w"), (open, fa, "a"), (os.mkdir, "d"), (os.unlink, fa),
                 (os.rmdir, "index"), (os.rename, fa, "g"), (os.chmod, fa, 0o600),
                 (os.utime, fa), (os.truncate, fa, 5), (os.symlink, "a", "b"),
                 (os.link, fa, "h"), (os.mkfifo, "p"), (os.setxattr, fa, "user.a", b"x"),
                 (os.chown, fa, 1, 1), (open, "missing"), (open, fa), (os.listdir, "index")):
    print(call.__name__, name(call, *a))
print(os.access(fa, os.W_OK), os.access(fa, os.R_OK), len(open(fa).read()))
PY
(cd ref && /usr/bin/python3 "$WORK/try.py") > "$WORK/wanted"
grep -q 'mkdir EROFS' "$WORK/wanted" || fail "the bare directory is not read-only"
covered_at "$PWD/ref" /usr/bin/python3 "$WORK/try.py" > "$WORK/seen"
diff "$WORK/wanted" "$WORK/seen" || fail "other errors"
