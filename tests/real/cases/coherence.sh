#!/bin/bash
# If this failed, a file changed by a job elsewhere (an editor, sbatch, a second shell) would be
# read stale, or its bytes overwritten.
# ring: short
# as: root,user,cached
# as-long: traced,cached-user
# bare: self
set -u
. "$REAL/lib.sh"

# The covering prefix; the bare list is made by the same program with nothing covered.
cover=("$FOREBAY" run $FOREBAY_OPTIONS -o "$WORK/runs/sides.run" --)
mkdir "$WORK/bare"
(cd "$WORK/bare" && /usr/bin/python3 "$REAL/programs/coherence.py") > "$WORK/bare.list"
/usr/bin/python3 "$REAL/programs/coherence.py" "${cover[@]}" > "$WORK/covered.list"
/usr/bin/python3 "$REAL/programs/compare.py" "$WORK/bare.list" "$WORK/covered.list" \
    "$REAL/coherence.allowed" strict
