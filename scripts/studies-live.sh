#!/usr/bin/env bash
# The closed loop for real: the demo workflow is traced once, its wall time on other storage and
# with other numbers of slots is predicted from that one run, then it is run there, and both are
# printed side by side, whatever comes out. Storage is slowed down by `forebay mount --emulate`.
#
#   scripts/studies-live.sh     some twenty minutes; CASES="2:5ms:125 1:-:-" chooses the cases
#   FOREBAY=path                the binary (default target/release/forebay)
#
# It measures this machine as it is: whatever else runs on it meanwhile is in the numbers, so the
# load is printed beside them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
place=$root/target/studies-live
forebay=$(realpath "${FOREBAY:-target/release/forebay}")
# slots : latency of each operation on names and fsync : MiB/s of all reads and writes
read -ra cases <<< "${CASES:-2:-:- 2:1ms:250 2:5ms:125 1:-:- 1:5ms:125}"

say() { printf 'studies-live: %s\n' "$*"; }
fail() {  # cause, where, next step
    printf 'studies-live: %s\n  where: %s\n  next:  %s\n' "$1" "$2" "$3" >&2
    exit 1
}
[ -x "$forebay" ] || fail "the forebay binary is missing" "$forebay" "make build"
scripts/setup-demo.sh
PATH=$root/.venv/bin:$PATH
export XDG_CACHE_HOME=$place/cache PYTHONDONTWRITEBYTECODE=1

volume=$place/volume
# A run that was stopped must leave no mount behind.
trap '"$forebay" unmount "$volume" > /dev/null 2>&1 || true' EXIT

workflow() {  # slots, arguments; prefix: what starts it
    local slots=$1; shift
    ${prefix[@]+"${prefix[@]}"} snakemake --cores "$slots" --quiet all \
        --snakefile "$root/workflows/wgs/Snakefile" "$@" > "$place/log" 2>&1 ||
        fail "the workflow failed" "$PWD; $place/log" "see its lines there"
}
fresh() {
    mountpoint -q "$1" 2> /dev/null && fail "still mounted" "$1" "$forebay unmount $1"
    rm -rf "$1" && mkdir -p "$1"
}

mkdir -p "$place/inputs"
prefix=()
say "inputs"
(cd "$place/inputs" && workflow 2 inputs)

say "the run that is learnt from, with --trace every-read and 2 slots"
fresh "$place/traced" && rm -f "$place/traced.run"
prefix=("$forebay" run -q --trace every-read -o "$place/traced.run" --)
(cd "$place/traced" && workflow 2 --config "inputs=$place/inputs/data")
prefix=()

site() {  # slots, latency, MiB/s: what --emulate does, as a profile
    printf '[nodes]\ncores = 2\nslots = %s\n\n[tier.other]\nreach = "node"\n\n' "$1"
    printf '[tier.other.profile]\nsource = "asked for with --emulate"\n'
    [ "$2" = - ] || printf 'latency = { names = "%s", fsync = "%s", fsyncdir = "%s", %s }\n' \
        "$2" "$2" "$2" 'flush = "0 s", close = "0 s", statfs = "0 s"'
    [ "$3" = - ] || printf 'read = { total = "%s MiB/s" }\nwrite = { total = "%s MiB/s" }\n' \
        "$3" "$3"
}

table=$place/table.txt
printf 'slots latency MiB/s predicted_s measured_s error load\n' > "$table"
for one in "${cases[@]}"; do
    IFS=: read -r slots latency mib <<< "$one"
    # Before it is run: a prediction that knew the outcome would be none.
    site "$slots" "$latency" "$mib" > "$place/site.toml"
    predicted=$("$forebay" plan "$place/traced.run" --site "$place/site.toml" --project other \
        --budget 1s --json | python -c 'import json, sys
print(json.load(sys.stdin)["as_it_is"]["makespan_s"])')
    fresh "$volume"
    emulate=()
    [ "$latency" = - ] || emulate=(--emulate "$latency,${mib}MiB/s")
    "$forebay" mount ${emulate[@]+"${emulate[@]}"} "$volume" "$volume" 2> /dev/null ||
        fail "the mount failed" "$volume" "$forebay mount ${emulate[*]} $volume $volume"
    start=$(date +%s.%N)
    (cd "$volume" && workflow "$slots" --config "inputs=$place/inputs/data")
    end=$(date +%s.%N)
    "$forebay" unmount "$volume" 2> /dev/null
    awk -v slots="$slots" -v latency="$latency" -v mib="$mib" -v predicted="$predicted" \
        -v start="$start" -v end="$end" -v load="$(cut -d ' ' -f 1 /proc/loadavg)" 'BEGIN {
            measured = end - start
            printf "%s %s %s %.1f %.1f %+.1f%% %s\n", slots, latency, mib, predicted, measured,
                (predicted / measured - 1) * 100, load }' >> "$table"
    tail -n 1 "$table"
done
echo
column -t "$table"
awk 'NR > 1 { e = $6; gsub(/[+%-]/, "", e); print e }' "$table" | sort -n |
    awk '{ e[NR] = $1 } END { print "median absolute error", e[int((NR + 1) / 2)] " %, largest",
                              e[NR] " %, of", NR, "cases" }'
