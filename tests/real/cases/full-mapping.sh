#!/bin/bash
# If this failed, a database on a full disk would lose bytes of its mapped files without a word.
# ring: short
# as: root,traced
set -eu
. "$REAL/lib.sh"

mkdir disk
mount -t tmpfs -o size=4m none disk
trap 'umount disk' EXIT
covered_at "$PWD/disk" /usr/bin/python3 "$REAL/programs/full_mapping.py" || fail "bytes are lost"
