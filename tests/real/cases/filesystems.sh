#!/bin/bash
# If this failed, forebay would work on the disk of its makers only: tmpfs and overlay
# (containers, /dev/shm) have other stacking depths, whiteouts and inode numbers.
# ring: short
# as: root
# bare: self
set -u
. "$REAL/lib.sh"

bad=
try() {  # NAME DIRECTORY
    say "posix.py on $1"
    mkdir "$2/bare" "$2/covered"
    (cd "$2/bare" && /usr/bin/python3 "$REAL/programs/posix.py") > "$WORK/bare.list"
    covered_at "$2/covered" /usr/bin/python3 "$REAL/programs/posix.py" > "$WORK/covered.list"
    /usr/bin/python3 "$REAL/programs/compare.py" "$WORK/bare.list" "$WORK/covered.list" \
        "$REAL/posix.allowed" || bad="$bad $1"
}
mkdir t
mount -t tmpfs -o size=300m none t
mkdir t/lower t/upper t/work t/merged t/plain
seq 1000 > t/lower/below
try tmpfs "$PWD/t/plain"
below=lowerdir=$PWD/t/lower,upperdir=$PWD/t/upper,workdir=$PWD/t/work
if mount -t overlay -o "$below" none t/merged; then
    try overlay "$PWD/t/merged"
    covered_at "$PWD/t/merged" sh -ec 'wc -l < below > /dev/null; echo more >> below
        tail -1 below | grep -qx more
        mv below moved; rm moved; [ ! -e moved ]' || bad="$bad overlay-copy-up"
    umount t/merged
fi
umount t
[ -z "$bad" ] || fail "on$bad"
