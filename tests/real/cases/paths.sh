#!/bin/bash
# If this failed, forebay would break for people whose directory has an awkward name or is a link.
# ring: short
# as: user
# as-long: root
set -eu
. "$REAL/lib.sh"

for name in "with space" "ünïcode…" "new
line" "-dash" "*" 'quo"te'"'" "$(printf 'b\377d')" "a,b:c=d\\e"; do
    mkdir "./$name"
    covered_at "$PWD/$name" sh -c 'pwd > where; mkdir -p a/b
        echo x > "a/b/$(basename "$PWD")"; cat < where' > "$WORK/out"
    [ "$(cat "./$name/where")" = "$PWD/$name" ] || fail "pwd in $name: $(cat "./$name/where")"
    [ "$(cat "./$name/a/b/$name")" = x ] || fail "a file in $name"
done

say "through a symbolic link"
mkdir real && ln -s real link && ln -s "$PWD/real" absolute
for way in link absolute; do
    (cd "$way" && covered sh -ec 'pwd -L > L; pwd -P > P; echo x >> "$PWD/y"; cat ../real/y > z')
    [ "$(cat real/L real/P)" = "$(printf '%s\n%s' "$PWD/$way" "$PWD/real")" ] ||
        fail "pwd: $(cat real/L real/P)"
done
[ "$(cat real/z)" = "$(printf 'x\nx')" ] || fail "content through a link"

say "deep, long, and parents"
deep=$PWD/$(printf 'd%.0s' $(seq 200))/$(printf 'e%.0s' $(seq 200))/$(printf 'f/%.0s' $(seq 100))
mkdir -p "$deep"
covered_at "$deep" sh -ec 'echo deep > leaf; cat leaf ../f/leaf; ls ../../.. > /dev/null'
[ "$(cat "$deep/leaf")" = deep ] || fail deep
mkdir sub
covered_at "$PWD/sub" sh -ec 'echo up > ../up; cp ../up down; mv down ../moved; cd ..
    cat moved sub/../up; ls sub'
[ "$(cat moved)" = up ] || fail "what is beside the covered directory"
[ "$MODE" = covered ] || exit 0

say "--at: another directory, two of them, relative"
mkdir one two
(cd sub && "$FOREBAY" run --at ../one --at "$OLDPWD/two" -o "$WORK/runs/at.run" -- \
    sh -ec 'pwd; echo 1 > ../one/f; ln ../one/f ../one/g; cp ../one/f ../two/f
            echo s > s') > "$WORK/out"
[ "$(cat "$WORK/out")" = "$PWD/sub" ] || fail "--at: pwd $(cat "$WORK/out")"
[ "$(cat one/g two/f sub/s)" = "$(printf '1\n1\ns')" ] || fail "--at: content"
