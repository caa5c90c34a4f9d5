#!/bin/bash
# If this failed, programs of a run that have many files open together would fail where they work
# bare, or nobody would know why.
# ring: short
# as: root,user
# bare: self
set -u
. "$REAL/lib.sh"

# The hard limit, of each process.
ulimit -n 300
/usr/bin/python3 "$REAL/programs/many_files.py" 200 || fail "bare"
rm -f ?.*
status=0
covered /usr/bin/python3 "$REAL/programs/many_files.py" 200 2> "$WORK/said" || status=$?
cat "$WORK/said"
# Who may raise it (CAP_SYS_RESOURCE, which not every root has) never meets it.
if (ulimit -Hn 301) 2>/dev/null; then
    [ $status = 0 ] || fail "there are as many as the kernel gives"
elif [ $status != 0 ]; then
    grep -q "about 300 open here, the hard limit of open files" "$WORK/said" || fail "the limit is not named"
fi
