#!/bin/bash
# If this failed, builds would be wrong, or make would rebuild what is new (times out of order).
# ring: short
# as: root,packed
# as-long: user,ruled,drained,packed-user,mounted-user,bucket
# needs: make gcc
# limit: 300
set -eu
. "$REAL/lib.sh"

/usr/bin/python3 "$REAL/programs/cproject.py" p
nothing() { grep -q "is up to date" || fail "$1"; }

covered make -s -j2 -C p program
[ "$(covered p/program 7)" = "$(p/program 7)" ] || fail "the program answers differently"
covered make -C p program | nothing "a covered rebuild after a covered build has work to do"
make -C p program | nothing "a bare rebuild after a covered build has work to do"

say "one source and one header changed outside, built inside"
echo '/* x */' >> p/lib/part4.c
touch p/include/part140.h
built=$(covered make -C p program | grep -c -- ' -c -o ')
[ "$built" -ge 3 ] && [ "$built" -le 12 ] || fail "rebuilt $built objects"
make -C p program | nothing "a bare rebuild has work to do"

say "changed inside, seen by make outside"
covered sh -c 'echo "/* y */" >> p/lib/part5.c'
[ "$(make -C p program | grep -c -- ' -c -o ')" = 1 ] || fail "make outside missed the change"
covered make -C p program | nothing "a covered rebuild after a bare build has work to do"

say "the same objects bare and covered"
(cd p/obj && sha256sum ./*.o ../libparts.a) > "$WORK/covered.sums"
make -s -C p clean
make -s -j2 -C p program
(cd p/obj && sha256sum ./*.o ../libparts.a) > "$WORK/bare.sums"
same "$WORK/bare.sums" "$WORK/covered.sums"
