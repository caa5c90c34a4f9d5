#!/bin/bash
# If this failed, a mount of root's would hand root's rights to others, or others could keep root
# from mounting.
# ring: short
# as: root
# bare: no
# needs: findmnt setpriv /usr/bin/python3
set -eu
. "$REAL/lib.sh"

chmod 755 "$WORK" .
mkdir -m 1777 vol at
has() { findmnt -no OPTIONS at | tr ',' '\n' | grep -qx "$1"; }

say "set-id bits and device nodes of what is mounted mean nothing unless they are asked for"
"$FOREBAY" mount --allow-other vol at
has nosuid || fail "set-id programs count"
has nodev || fail "device nodes count"
"$FOREBAY" unmount at
"$FOREBAY" mount --allow-other --suid --dev vol at
has nosuid && fail "--suid is not heard"
has nodev && fail "--dev is not heard"

say "a program that may be run and not read is run"
install -m 0711 /usr/bin/id vol/program
[ "$(as_user at/program -u)" = "$(id -u forebay-test)" ] || fail "it is not run"
"$FOREBAY" unmount at

say "what another user writes loses its set-id bits, packed too, also by the first write"
mkdir -m 1777 vol/packed
printf '[[rule]]\nmatch = "packed/**"\nhome = "far"\nlayout = "packed"\n' > "$WORK/rules.toml"
"$FOREBAY" mount --allow-other --suid --site "$WORK/site.toml" --rules "$WORK/rules.toml" vol at
as_user /usr/bin/python3 - <<'PY'
import os
os.umask(0)
for name, write in [("written", lambda f: os.write(f, b"x")), ("placed", lambda f: os.pwrite(f, b"x", 5)),
                    ("cut", lambda f: os.truncate(f, 3)), ("grown", lambda f: os.posix_fallocate(f, 0, 9))]:
    f = os.open(f"at/packed/{name}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o6755)
    write(f)
    os.close(f)
PY
"$FOREBAY" unmount at
for name in written placed cut grown; do
    [ ! -u vol/packed/$name ] && [ ! -g vol/packed/$name ] || fail "$name keeps $(stat -c %A vol/packed/$name)"
done

say "who takes the names of doors first keeps nobody from mounting"
cat > "$WORK/taken.py" <<'PY'
import os, socket, sys, zlib
volume = zlib.crc32(sys.argv[1].encode())
kept = []
for minor in range(20, 500):
    for turn in range(8):
        door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            door.bind(b"\0forebay/mount/%08x/0:%d/%d" % (volume, minor, turn))
        except OSError:
            continue
        kept.append(door)
print("taken", flush=True)
sys.stdin.read()
PY
mkfifo "$WORK/hold"
exec 8<> "$WORK/hold"
ulimit -n 8192
as_user /usr/bin/python3 "$WORK/taken.py" "$PWD/vol" < "$WORK/hold" > "$WORK/taken" 8>&- &
squatter=$!
wait_for 5 grep -q taken "$WORK/taken" || fail "no squatter"
"$FOREBAY" mount --allow-other vol at || fail "somebody keeps root from mounting"
"$FOREBAY" unmount at || fail "what was mounted can't be unmounted"
kill $squatter
