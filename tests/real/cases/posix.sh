#!/bin/bash
# If this failed, some call that a tool makes would behave differently under forebay.
# ring: short
# as: root,traced,user,ruled,ruled-user,drained,drained-user,packed,packed-user,packed-drained,packed-drained-user,cached,cached-user,mounted,mounted-user,bucket,bucket-user
# bare: self
set -u
. "$REAL/lib.sh"

mkdir "$WORK/bare"
(cd "$WORK/bare" && /usr/bin/python3 "$REAL/programs/posix.py") > "$WORK/bare.list"
covered /usr/bin/python3 "$REAL/programs/posix.py" > "$WORK/covered.list"
/usr/bin/python3 "$REAL/programs/compare.py" "$WORK/bare.list" "$WORK/covered.list" \
    "$REAL/posix.allowed" strict
