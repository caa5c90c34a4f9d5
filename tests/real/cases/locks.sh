#!/bin/bash
# If this failed, two runs (one covered, one not) would both hold the lock of one Nextflow cache
# or one database, and corrupt it.
# ring: short
# as: root,user,cached
# as-long: traced,ruled,drained
# bare: self
set -u
. "$REAL/lib.sh"

# The covering prefix; the bare list is made by the same program with nothing covered.
cover=("$FOREBAY" run $FOREBAY_OPTIONS -o "$WORK/runs/sides.run" --)
mkdir "$WORK/bare"
(cd "$WORK/bare" && /usr/bin/python3 "$REAL/programs/locks.py") > "$WORK/bare.list"
/usr/bin/python3 "$REAL/programs/locks.py" "${cover[@]}" > "$WORK/covered.list"
/usr/bin/python3 "$REAL/programs/compare.py" "$WORK/bare.list" "$WORK/covered.list" \
    "$REAL/locks.allowed" strict
