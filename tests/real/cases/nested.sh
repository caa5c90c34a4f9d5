#!/bin/bash
# If this failed, a covered make or pipeline that itself calls forebay would stop.
# ring: short
# as: user
# as-long: root
# bare: no
set -eu
. "$REAL/lib.sh"

inner="$FOREBAY run -o $WORK/runs/inner.run --"
mkdir sub
covered sh -ec "echo one > f
    $inner sh -ec 'cat f; echo two >> f; exit 6' > out || [ \$? = 6 ]; cat f"
[ "$(cat f out)" = "$(printf 'one\ntwo\none')" ] || fail "content: $(cat f out)"
covered sh -ec "cd sub; $FOREBAY run -o $WORK/runs/inner2.run -- sh -ec 'echo deep > g; cat ../f > h
    mv g i; ln i j; /usr/bin/python3 -c \"
import mmap
f = open(\\\"i\\\", \\\"r+b\\\"); m = mmap.mmap(f.fileno(), 0); m[0:1] = b\\\"D\\\"\"'"
[ "$(cat sub/i)" = Deep ] && [ "$(cat sub/h)" = "$(cat f)" ] || fail "nested below: $(cat sub/*)"
[ "$(stat -c %h sub/j)" = 2 ] || fail "hard link two covers down"
say "three deep"
third="$FOREBAY run -o $WORK/runs/c.run --"
expect_status 9 covered "$FOREBAY" run -o "$WORK/runs/b.run" -- $third \
    sh -c 'echo 3 > three; exit 9'
[ "$(cat three)" = 3 ] || fail "three"
