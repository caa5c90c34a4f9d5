#!/bin/bash
# If this failed, two people (or a make -j of covered commands) could not work in one directory.
# ring: short
# as: user
# as-long: root
set -eu
. "$REAL/lib.sh"

pids=()
for i in 1 2 3 4 5 6; do
    covered sh -ec 'for j in $(seq 40); do echo $1.$j > new.$1; mv new.$1 file.$1.$j; done
        for t in $(seq 50); do n=$(ls file.* | wc -l); [ $n = 240 ] && break; sleep 0.1; done
        [ $n = 240 ]; cat file.* | sort > all.$1' sh $i & pids+=($!)
done
for pid in "${pids[@]}"; do wait $pid || fail "one of six runs"; done
for i in 2 3 4 5 6; do same all.1 all.$i; done
[ "$(wc -l < all.1)" = 240 ] || fail "lines"

say "one covers a directory, another its parent, a third its child"
mkdir -p a/b/c
wait='for i in $(seq 50); do [ -s $1 ] && break; sleep 0.1; done; cat $1 > $2'
covered_at "$PWD/a" sh -ec "$wait" sh b/go b/c/seen.a & p1=$!
covered_at "$PWD/a/b/c" sh -ec "$wait" sh ../go seen.c & p2=$!
sleep 0.3
covered sh -c 'echo gone > a/b/go'
wait $p1 && wait $p2 || fail "runs on nested directories"
[ "$(cat a/b/c/seen.a a/b/c/seen.c)" = "$(printf 'gone\ngone')" ] || fail "they saw other data"
