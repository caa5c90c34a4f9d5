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

say "what another user writes loses its set-id bits, packed too, also by the first write; root's own keep them"
mkdir -m 1777 vol/packed vol/apart vol/plain
for layout in packed apart; do
    printf '[[rule]]\nmatch = "%s/**"\nhome = "far"\nlayout = "%s"\n' $layout $layout
done > "$WORK/rules.toml"
"$FOREBAY" mount --allow-other --suid --site "$WORK/site.toml" --rules "$WORK/rules.toml" vol at
as_user /usr/bin/python3 - <<'PY'
import os
os.umask(0)
ways = [("written", lambda f: os.write(f, b"x")), ("placed", lambda f: os.pwrite(f, b"x", 5)),
                    ("cut", lambda f: os.truncate(f, 3)), ("grown", lambda f: os.posix_fallocate(f, 0, 9))]
for layout in "packed", "apart", "plain":
    for name, write in ways:
        f = os.open(f"at/{layout}/{name}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o6755)
        # The kernel knows them, and must not believe them a moment longer.
        assert os.stat(f"at/{layout}/{name}").st_mode & 0o6000 == 0o6000, (layout, name)
        write(f)
        assert os.stat(f"at/{layout}/{name}").st_mode & 0o6000 == 0, (layout, name)
        os.close(f)
PY
for layout in packed apart plain; do
    : > at/$layout/root; chmod 6755 at/$layout/root; echo more >> at/$layout/root
done
"$FOREBAY" unmount at
for layout in packed apart plain; do
    for name in written placed cut grown; do
        f=vol/$layout/$name
        [ ! -u $f ] && [ ! -g $f ] || fail "$f keeps $(stat -c %A $f)"
    done
    [ -u vol/$layout/root ] && [ -g vol/$layout/root ] || fail "root's: $(stat -c %A vol/$layout/root)"
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
exec 8>&-
wait $squatter

say "what another user writes while root has it open is written with that user's rights"
(umask 0; : > vol/log; install -m 4777 /usr/bin/id vol/sid)
"$FOREBAY" mount --allow-other vol at
exec 7< at/sid
as_user sh -c 'echo >> at/sid' 7<&-
exec 7<&-
[ ! -u vol/sid ] || fail "it is set-user-id still: $(stat -c %A vol/sid)"
"$FOREBAY" unmount at

say "root's state is in no directory that somebody else made, or can exchange"
mkdir -m 1777 temporary
as_user mkdir -m 777 temporary/forebay-0
env -u HOME -u XDG_STATE_HOME TMPDIR="$PWD/temporary" "$FOREBAY" mount vol at 2> "$WORK/said"
env -u HOME -u XDG_STATE_HOME TMPDIR="$PWD/temporary" "$FOREBAY" unmount at
[ -z "$(ls -A temporary/forebay-0)" ] || fail "in it is $(ls -AR temporary/forebay-0)"
mkdir "$WORK/theirs"
chown forebay-test "$WORK/theirs"
XDG_STATE_HOME="$WORK/theirs" "$FOREBAY" run -q -o "$WORK/x.run" -- true 2> "$WORK/said"
[ -z "$(ls -A "$WORK/theirs")" ] || fail "in it is $(ls -A "$WORK/theirs")"
grep -q "theirs/forebay is not safe: .*theirs is user" "$WORK/said" || fail "it says $(cat "$WORK/said")"

say "links that a user put into their directory lead root nowhere"
mkdir -m 755 project elsewhere elsewhere/runs
chown forebay-test project
as_user mkdir project/.forebay
as_user ln -s "$PWD/elsewhere/ignored" project/.forebay/.gitignore
as_user ln -s "$PWD/elsewhere/runs" project/.forebay/runs
(cd project && "$FOREBAY" run -q -- true) 2> "$WORK/said" || fail "it is not run: $(cat "$WORK/said")"
grep -q "the directory .forebay there is user .* the run is at " "$WORK/said" || fail "it says $(cat "$WORK/said")"
[ "$(cd elsewhere && find . | sort | tr '\n' ' ')" = ". ./runs " ] || fail "there is $(find elsewhere)"
as_user ln -s "$PWD/elsewhere" project/link
"$FOREBAY" mount project/link at 2> "$WORK/said" && fail "root mounts what a user's link leads to"
grep -q "project/link is a link that user .* made" "$WORK/said" || fail "it says $(cat "$WORK/said")"

say "a mount lies where the directory was that was asked for, whatever comes in its place"
mkdir -m 777 theirs
cat > "$WORK/exchange.py" <<'PY'
import ctypes, os
exchange, here = 2, -100
names = ctypes.CDLL(None, use_errno=True)
print("begun", flush=True)
while not os.path.exists("over"):
    names.renameat2(here, b"theirs/project", here, b"theirs/link", exchange)
PY
as_user mkdir theirs/project
as_user ln -s "$PWD/elsewhere" theirs/link
as_user /usr/bin/python3 "$WORK/exchange.py" > "$WORK/begun" 8>&- &
exchanger=$!
wait_for 5 grep -q begun "$WORK/begun" || fail "nobody exchanges"
for _ in $(seq 15); do
    "$FOREBAY" mount --allow-other theirs/project theirs/project 2> /dev/null || true
    # Not findmnt, which follows what is a link at that moment.
    [ "$(stat -c %d elsewhere)" = "$(stat -c %d .)" ] || fail "it lies over another directory"
    for mounted in $(findmnt -rno TARGET -t fuse.forebay | grep "^$PWD/theirs/"); do
        umount -l "$mounted"
    done
done
touch over
wait $exchanger
