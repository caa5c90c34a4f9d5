#!/bin/bash
# If this failed, some call that a tool makes would behave differently under forebay.
# ring: short
# as: root,user,ruled,packed,cached,mounted,bucket
# as-long: traced,ruled-user,drained,drained-user,packed-user,packed-drained,packed-drained-user,cached-user,mounted-user,bucket-user
# bare: self
set -u
. "$REAL/lib.sh"

mkdir "$WORK/bare"
(cd "$WORK/bare" && /usr/bin/python3 "$REAL/programs/posix.py") > "$WORK/bare.list"
covered /usr/bin/python3 "$REAL/programs/posix.py" > "$WORK/covered.list"
/usr/bin/python3 "$REAL/programs/compare.py" "$WORK/bare.list" "$WORK/covered.list" \
    "$REAL/posix.allowed" strict
