#!/bin/bash
# If this failed, a program would find another file system on one node than a program on another node has
# left: each call of pjdfstest and each open of fsx goes to the other one of two mounts.
# ring: short
# as: root
# bare: no
# needs: fsx pjdfstest gcc /usr/lib/postgresql ip unshare
# limit: 240
set -u
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
nodes 0
bucket
book
gcc -shared -fPIC -O1 -o "$WORK/alternate.so" "$REAL/programs/alternate.c" || fail "gcc"

export ONE=$WORK/one OTHER=$WORK/other
mount_at() {  # POINT PORT
    mkdir "$1"
    "$FOREBAY" mount --allow-other --book "$url" --listen "$HEAD:$2" --state "$1.state" s3://lab/turns "$1" ||
        fail "mount at $1"
}
mount_at "$ONE" 7421
mount_at "$OTHER" 7422
in_turn() { LD_PRELOAD="$WORK/alternate.so" "$@"; }

say "each call goes to the other mount"
mkdir "$ONE/t"
in_turn python3 - "$ONE/t" <<'PY' || fail "calls do not alternate"
import os, sys
folders = [os.open(sys.argv[1], os.O_RDONLY) for _ in range(4)]
names = [os.readlink(f'/proc/self/fd/{folder}') for folder in folders]
assert len(set(names)) == 2, names
PY

# Without mappings: they keep a file open to be written after its close.
cat > "$WORK/fsx.toml" <<'TOML'
flen = 1048576
nomsyncafterwrite = true
[opsize]
max = 131072
min = 1
[weights]
close_open = 6
read = 10
write = 10
mapread = 0
mapwrite = 0
invalidate = 1
truncate = 4
fsync = 0.2
fdatasync = 0.2
posix_fallocate = 0
punch_hole = 0
sendfile = 3
posix_fadvise = 1
copy_file_range = 3
TOML
operations=3000
[ "${LONG:-}" = yes ] && operations=40000
for seed in 1 "$SEED"; do
    say "fsx: $operations operations, seed $seed, each open on the other mount"
    in_turn fsx -q -f "$WORK/fsx.toml" -P "$WORK" -N $operations -S "$seed" "$ONE/t/file.$seed" ||
        fail "fsx -N $operations -S $seed"
done

if [ "${LONG:-}" = yes ]; then
    say "pjdfstest, each call on the other mount"
    cat > "$WORK/pjdfstest.toml" <<'TOML'
[features]
rename_ctime = {}
utime_now = {}
utimensat = {}
[settings]
naptime = 0.02
allow_remount = false
[dummy_auth]
entries = [["nobody", "nogroup"], ["forebay-test", "forebay-test"]]
TOML
    results() {  # pads and statuses to the lines of compare.py
        sed -nE 's/^([a-z_0-9:]+) +ok$/ok \1/p; s/^([a-z_0-9:]+) +skipped$/skipped \1/p;
                 s/^([a-z_0-9:]+) +(FAILED|failed|panicked).*/FAIL \1: failed/p' "$1" | sort
    }
    mkdir "$WORK/bare" "$ONE/pjd"
    chmod 755 "$WORK" "$WORK/bare" "$ONE" "$ONE/pjd"
    pjdfstest -c "$WORK/pjdfstest.toml" -p "$WORK/bare" > "$WORK/bare.out" 2>&1
    in_turn pjdfstest -c "$WORK/pjdfstest.toml" -p "$ONE/pjd" > "$WORK/turns.out" 2>&1
    results "$WORK/bare.out" > "$WORK/bare.list"
    results "$WORK/turns.out" > "$WORK/turns.list"
    grep '^Summary' "$WORK/bare.out"
    /usr/bin/python3 "$REAL/programs/compare.py" "$WORK/bare.list" "$WORK/turns.list" \
        "$REAL/pjdfstest-in-turn.allowed" strict || {
        grep -vE ' (ok|skipped)$' "$WORK/turns.out" | head -100
        fail "$(grep '^Summary' "$WORK/turns.out" || echo "pjdfstest did not end")"
    }
fi

for point in "$ONE" "$OTHER"; do
    "$FOREBAY" unmount "$point" || fail "unmount of $point"
done
end_nodes
