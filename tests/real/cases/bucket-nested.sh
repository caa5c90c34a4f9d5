#!/bin/bash
# If this failed, a run inside a volume of a bucket would see other files, times or locks than those
# outside of it, or what it wrote would not come into the bucket.
# ring: short
# as: root
# as-long: user
# bare: no
# s3: yes
# needs: fusermount3
# limit: 240
set -eu
. "$REAL/lib.sh"

url=s3://ours/$VARIANT-${WORK##*/}/nested
mkdir bare at elsewhere
"$FOREBAY" mount "$url" at
compare() {  # PROGRAM BARE COVERED
    /usr/bin/python3 "$REAL/programs/compare.py" "$2" "$3" "$REAL/$1.allowed" strict
}

say "calls that programs make"
(cd bare && /usr/bin/python3 "$REAL/programs/posix.py") > "$WORK/bare.list"
(cd at && covered /usr/bin/python3 "$REAL/programs/posix.py") > "$WORK/nested.list"
compare posix "$WORK/bare.list" "$WORK/nested.list"

# One side in the run, the other one in the volume beside it.
cover=("$FOREBAY" run -q -o "$WORK/runs/sides.run" --)
for program in locks coherence; do
    say "$program"
    mkdir bare/$program at/$program
    (cd bare/$program && /usr/bin/python3 "$REAL/programs/$program.py") > "$WORK/bare.list"
    (cd at/$program && /usr/bin/python3 "$REAL/programs/$program.py" "${cover[@]}") > "$WORK/nested.list"
    compare $program "$WORK/bare.list" "$WORK/nested.list"
done

say "what rules send to a tier and bring home, on another machine"
# shellcheck disable=SC2016
(cd at && "$FOREBAY" run -q -o "$WORK/runs/ruled.run" --site "$WORK/site.toml" --rules "$WORK/rules.toml" -- \
    sh -ec 'mkdir made; for n in $(seq 50); do echo $n > made/$n; done
        head -c 3000000 /dev/urandom > made/large.tmp; mv made/large.tmp made/large; ln made/large made/hard
        chmod 640 made/1; touch -d 2020-01-02T03:04:05 made/2')
rm -rf at/t-deep_paths          # whose names are too long for `find`
list() { (cd "$1" && find . -type f -printf '%p %m %s %T@ %n\n' && find . -type f -exec md5sum {} +) | sort; }
list at > before
[ -z "$(find "$WORK/far" -type f)" ] || fail "files are left on the tier"
"$FOREBAY" unmount at
"$FOREBAY" check "$url"
"$FOREBAY" mount --state "$WORK/another" "$url" elsewhere
list elsewhere | diff before - || fail "another machine sees other files"
"$FOREBAY" unmount elsewhere
