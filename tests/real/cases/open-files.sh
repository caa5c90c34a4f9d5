#!/bin/bash
# If this failed, jobs would wait for ever for a lock that nobody holds, lock files by inode would not
# exclude, or a reader would miss a file that is there at every moment.
# ring: short
# as: root,traced,user,ruled,ruled-user,packed,drained,drained-user,packed-drained,cached,mounted,bucket
set -u
. "$REAL/lib.sh"

covered /usr/bin/python3 "$REAL/programs/open_files.py" || fail "see above"
