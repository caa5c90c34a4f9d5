#!/bin/bash
# If this failed, a scratch disk mounted below the project would vanish under forebay, or hide
# data.
# ring: short
# as: root
set -eu
. "$REAL/lib.sh"

mkdir -p scratch/deep other
echo hidden > scratch/under
mount -t tmpfs -o size=8m none scratch
mkdir scratch/nested
mount -t tmpfs -o size=4m,ro none scratch/nested
trap 'umount scratch/nested scratch' EXIT
echo old > scratch/old

covered sh -ec '
    [ "$(cat scratch/old)" = old ]
    [ ! -e scratch/under ]
    echo new > scratch/new
    mkdir -p scratch/d && mv scratch/new scratch/d/moved
    echo x > plain && mv plain scratch/across && cp -a scratch/across back
    ln scratch/old scratch/hard
    ln -s "$PWD/scratch/old" link && [ "$(cat link)" = old ]
    ! ln scratch/old hard-across 2> /dev/null
    ! touch scratch/nested/x 2> /dev/null
    cd scratch/d && [ "$(cat ../../back)" = x ]
    find .. > /dev/null
' || fail "inside"
[ "$(cat scratch/d/moved)" = new ] && [ "$(cat scratch/across)" = x ] || fail "not there outside"
[ "$(stat -c %h scratch/old)" = 2 ] || fail "hard link in the submount"

say "a file mounted over a file, and mounts made inside that stay inside"
echo a > a; echo b > b
mount --bind a b
covered sh -ec '[ "$(cat b)" = a ]; echo more >> b' || { umount b; fail "bind-mounted file"; }
umount b
[ "$(cat a)" = "$(printf 'a\nmore')" ] && [ "$(cat b)" = b ] || fail "wrong file was written"
[ "$MODE" = bare ] && exit 0
covered sh -ec 'mount -t tmpfs none other; echo private > other/x; [ "$(cat other/x)" = private ]'
[ ! -e other/x ] || fail "a mount made inside is seen outside"
