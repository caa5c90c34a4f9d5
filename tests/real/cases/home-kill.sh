#!/bin/bash
# If this failed, kill -9 while files come home from their tier would lose one, or leave half of it
# under its name.
# ring: short
# as: ruled,packed
# bare: no
# limit: 240
set -u
. "$REAL/lib.sh"

# Another file system, so that files are copied home, not moved.
mount -t tmpfs -o size=1g none "$WORK/far" || fail "no tmpfs"
trap 'umount "$WORK/far"' EXIT

# 150 files of all sizes, 60 MB together, and what they hold told outside.
make='
import hashlib, os, random, sys
dice = random.Random(int(sys.argv[1]))
os.makedirs("a/b", exist_ok=True)
with open(sys.argv[2], "w") as sums:
    for n in range(150):
        name = dice.choice(["", "a/", "a/b/"]) + f"f{n}"
        content = dice.randbytes(dice.choice([0, 1, 300, 5000, 1 << 20]))
        with open(name, "wb") as out:
            out.write(content)
        print(hashlib.md5(content).hexdigest(), "", name, file=sums)
os.link("f0" if os.path.exists("f0") else name, "twin")
'
forebays() {
    local p
    for p in /proc/[0-9]*; do
        [ "$(cat "$p/comm" 2>/dev/null)" != forebay ] || echo "${p#/proc/}"
    done
}
whole() { md5sum --quiet -c "$WORK/sums" || fail "$1"; }

begin() {  # ROUND: runs to the end of the command, when files begin to come home
    rm -rf a f* twin "$WORK/ended"
    start sh -c "/usr/bin/python3 -c '$make' $SEED$1 '$WORK/sums'; echo > '$WORK/ended'"
    until [ -s "$WORK/ended" ]; do sleep 0.002; done
}

begin 0
now=$(date +%s%3N)
wait $front || fail "the run failed"
took=$(($(date +%s%3N) - now + 1))
whole "a file is not whole at home"
say "coming home takes $took ms"

RANDOM=$((SEED % 32768))
killed=0
for round in $(seq 14); do
    begin $round
    sleep "$(printf '0.%03d' $((RANDOM % took % 1000)))"
    # shellcheck disable=SC2046
    kill -9 $(forebays) 2>/dev/null && killed=$((killed + 1))
    wait $front 2>/dev/null
    wait_for 10 test -e a || fail "the directory is not to be had"
    links=$(find . -type l | wc -l)
    say "round $round: $links files were still on their tier, $(find . -type f | wc -l) in place"
    case $VARIANT in
        # Inside the next run all are there; what was not home is not seen outside.
        packed) [ $((round % 2)) = 0 ] || covered md5sum --quiet -c "$WORK/sums" ||
            fail "round $round: a file is not whole in the next run" ;;
        *) whole "round $round: a file is not whole after the kill" ;;
    esac
    "$FOREBAY" restore . > "$WORK/restored" 2>&1 || { cat "$WORK/restored"; fail "no restore"; }
    whole "round $round: a file is not whole at home"
    [ "$(find . -type l | wc -l)" = 0 ] || fail "a link is left"
    # What a kill cut short is gone as well.
    [ -z "$(find . -name '.forebay.*')" ] || fail "a copy on its way is left: $(find . -name '.forebay.*')"
    bodies=$(find "$WORK/far" -type f | wc -l)
    [ "$bodies" = 0 ] || { cat "$WORK/restored"; fail "$bodies bodies are left on the tier"; }
done
[ $killed -gt 0 ] || fail "none of 14 rounds was killed in time"
