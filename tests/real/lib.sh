# What the cases share; sourced by contain.sh and by every case. Words:
# covered COMMAND...   COMMAND under forebay in the current directory (or bare, in the bare pass)
# outside              everything a case does without `covered`
# No case logic here.

TEST_USER=forebay-test

fail() { echo "FAIL: $*"; exit 1; }
skip() { echo "$*"; exit 77; }
say() { echo "== $*"; }

covered() { covered_at "$PWD" "$@"; }

covered_at() {
    local directory=$1 file
    shift
    file=$(mktemp -u "$WORK/runs/XXXXXXXX.run")
    # Options are words: no quotes around them.
    # shellcheck disable=SC2086
    (cd "$directory" && exec "$FOREBAY" run $FOREBAY_OPTIONS -o "$file" -- "$@")
}

start() {  # COMMAND... covered, in the background; `front` is the process a supervisor would know
    # shellcheck disable=SC2086
    "$FOREBAY" run $FOREBAY_OPTIONS -o "$(mktemp -u "$WORK/runs/XXXXXXXX.run")" -- "$@" &
    front=$!
}

expect_status() {  # STATUS COMMAND...
    local wanted=$1 got=0
    shift
    "$@" || got=$?
    [ "$got" = "$wanted" ] || fail "exit status $got, not $wanted: $*"
}

same() { cmp "$1" "$2" || fail "$1 and $2 differ"; }

# Waits for the event; polls every 50 ms. SECONDS is what a machine with nothing else to do would need
# at most: twenty times as long only ends what hangs.
wait_for() {  # SECONDS COMMAND...
    local end=$((SECONDS + 20 * $1))
    shift
    until "$@" 2>/dev/null; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}

as_user() {  # COMMAND... as the ordinary user, with nothing of root left
    if [ "$(id -u)" != 0 ]; then
        "$@"
    else
        USER=$TEST_USER setpriv --reuid $TEST_USER --regid $TEST_USER --init-groups \
            --inh-caps=-all "$@"
    fi
}

open_fuse_device() {  # in this mount namespace /dev/fuse is open to all, as on most machines
    [ "$(stat -c %a /dev/fuse)" = 666 ] && return
    mkdir -p "$WORK/dev"
    mount -t tmpfs -o mode=755 none "$WORK/dev"
    mknod -m 666 "$WORK/dev/fuse" c 10 229
    mount --bind "$WORK/dev/fuse" /dev/fuse
}

real_python() {  # the installation directory behind a venv's python, if it is there
    [ -e "$1" ] && dirname "$(dirname "$(realpath "$1")")"
}

reveal() {  # DIR: in this mount namespace the ordinary user can reach it, whatever is above it
    local dir part='' hold
    dir=$(realpath "$1")
    as_user test -x "$dir" && return
    hold=$(mktemp -d /tmp/reveal.XXXXXX)
    mount --bind "$dir" "$hold"
    local IFS=/
    for name in ${dir#/}; do
        part=$part/$name
        as_user test -x "$part" || break
    done
    unset IFS
    mount -t tmpfs -o mode=755 none "$part"
    mkdir -p "$dir"
    mount --bind "$hold" "$dir"
    umount "$hold" && rmdir "$hold"
}
