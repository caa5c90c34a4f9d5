#!/bin/bash
# If this failed, an exception would not be the one that docs/semantics tells people: each is shown
# here as it is, so that a kernel or a change that mends (or worsens) it is noticed.
# ring: short
# as: root,user,packed
# bare: no
# limit: 60
set -eu
. "$REAL/lib.sh"

mkdir inside
cat > "$WORK/edges.py" <<'PY'
import errno, fcntl, os, socket, struct, sys, time
outside, me = sys.argv[1], os.getuid()

def refused(wanted, call, *a):
    try:
        call(*a)
    except OSError as e:
        assert e.errno in wanted, (call, a, e)
    else:
        sys.exit(f"allowed now, docs/semantics says no: {call} {a}")

open("f", "w").write("x")
# Links and renames across the edge, both ways; a move by copying works.
refused([errno.EXDEV], os.rename, "f", outside + "/f")
refused([errno.EXDEV], os.link, "f", outside + "/f")
refused([errno.EXDEV], os.rename, outside + "/o", "o")
# No reflink through FUSE.
f, g = open("f"), open("g", "w")
refused([errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL],
        fcntl.ioctl, g, 0x40049409, f.fileno())
# The other end of a FIFO or socket is held outside.
refused([errno.ENXIO], os.open, "fifo", os.O_WRONLY | os.O_NONBLOCK)
s = socket.socket(socket.AF_UNIX)
refused([errno.ECONNREFUSED], s.connect, "socket")
# A cycle of byte-range waits is not told, but a signal ends it.
import signal
signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(InterruptedError(errno.EINTR, "")))
fd = os.open("locks", os.O_RDWR | os.O_CREAT)
os.write(fd, b"ab")
ours, theirs = os.pipe(), os.pipe()
child = os.fork()
fcntl.lockf(fd, fcntl.LOCK_EX, 1, 1 if child == 0 else 0)
os.write((ours if child == 0 else theirs)[1], b"x"), os.read((theirs if child == 0 else ours)[0], 1)
if child == 0:
    fcntl.lockf(fd, fcntl.LOCK_EX, 1, 0)        # waits until the parent has given up
    os._exit(0)
time.sleep(0.2)
signal.alarm(1)
refused([errno.EINTR], fcntl.lockf, fd, fcntl.LOCK_EX, 1, 1)
signal.alarm(0)
fcntl.lockf(fd, fcntl.LOCK_UN)
assert os.waitpid(child, 0)[1] == 0
PY
cat > "$WORK/ends.py" <<'PY'
import os, socket, sys, time
os.mkfifo("fifo")
fd = os.open("fifo", os.O_RDONLY | os.O_NONBLOCK)
s = socket.socket(socket.AF_UNIX)
s.bind("socket")
s.listen()
open(sys.argv[1], "w").write("up")
time.sleep(60)
PY
mkdir "$WORK/out"; echo o > "$WORK/out/o"
(cd inside && exec /usr/bin/python3 "$WORK/ends.py" "$WORK/ready") & ends=$!
trap 'kill $ends 2>/dev/null || true' EXIT
wait_for 5 test -s "$WORK/ready" || fail "no outside ends"
covered_at "$PWD/inside" /usr/bin/python3 "$WORK/edges.py" "$WORK/out" || fail "an exception changed"
covered_at "$PWD/inside" sh -ec "mv f $WORK/out/moved; mv $WORK/out/o back"
[ "$(cat "$WORK/out/moved" inside/back)" = xo ] || fail "mv across the edge copies"

say "a watch inside does not tell of outside changes; a watch outside tells of inside ones"
cat > "$WORK/watch.py" <<'PY'
import ctypes, os, select, sys
libc = ctypes.CDLL(None)
fd = libc.inotify_init1(0)
assert libc.inotify_add_watch(fd, b".", 0x100) >= 0      # IN_CREATE
open(sys.argv[1], "w").write("watching")
told = bool(select.select([fd], [], [], 2)[0])
sys.exit(0 if told == (sys.argv[2] == "told") else f"told: {told}")
PY
covered_at "$PWD/inside" /usr/bin/python3 "$WORK/watch.py" "$WORK/w1" untold & watcher=$!
wait_for 5 test -s "$WORK/w1" || fail "no watcher"
echo new > inside/from-outside
wait $watcher || fail "the inner watch"
(cd inside && exec /usr/bin/python3 "$WORK/watch.py" "$WORK/w2" told) & watcher=$!
wait_for 5 test -s "$WORK/w2" || fail "no watcher"
covered_at "$PWD/inside" sh -c 'echo new > from-inside'
wait $watcher || fail "the outer watch"

say "the root directory can't be managed"
got=0
"$FOREBAY" run --at / -o "$WORK/runs/root.run" -- true 2> "$WORK/said" || got=$?
[ $got = 125 ] || fail "--at / ended with $got"
grep -q "can't be managed" "$WORK/said" || fail "$(cat "$WORK/said")"

if [ "$WHO" = user ]; then
    say "a supplementary group can't be given in a user namespace"
    echo x > inside/grp
    covered_at "$PWD/inside" chgrp forebay-lab grp 2> /dev/null && fail "chgrp works now"
    [ "$(covered_at "$PWD/inside" stat -c %U /etc/passwd)" = nobody ] || fail "root has a name now"
fi
true
