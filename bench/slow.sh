#!/usr/bin/env bash
# A project on slow storage: the demo's workflow with its directory on an emulated one (5 ms for each
# operation on names and attributes, 125 MiB/s, as of a network file system far away), without
# rules and with them, beside all on the local disk. Prints a table (Markdown) on standard output.
#
#   bench/slow.sh [REPEATS]  3 by default; each takes the three runs in turn, about 4 minutes
#   EMULATE=5ms,125MiB/s     another storage
#   FOREBAY=path             the binary under test (default target/release/forebay)
#   CORES=n                  cores given to the workflow (default 2)
#
# The promise: with rules at most 1.10 times the local run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD repeats=${1:-3} emulate=${EMULATE:-5ms,125MiB/s} cores=${CORES:-2}
forebay=$(realpath "${FOREBAY:-target/release/forebay}")
work=$root/target/bench/slow
scripts/setup-demo.sh >&2
export PATH=$root/.venv/bin:$PATH XDG_CACHE_HOME=$work/cache PYTHONDONTWRITEBYTECODE=1

mounted=
tidy_up() {
    [ -z "$mounted" ] || "$forebay" unmount --lazy "$mounted" >&2 || true
    rm -rf "$work"
    [ -z "${fast:-}" ] || rm -rf "$fast"
}
trap tidy_up EXIT
rm -rf "$work"
mkdir -p "$work/inputs"
fast=$(mktemp -d "$work/fast-XXXX")
printf '[tier.fast]\npath = "%s"\nreach = "node"\n' "$fast" > "$work/site.toml"

workflow() {  # DIRECTORY, options of snakemake
    local directory=$1
    shift
    (cd "$directory" && "${prefix[@]}" snakemake --cores "$cores" --quiet all \
        --snakefile "$root/workflows/wgs/Snakefile" "$@") > "$work/log" 2>&1 || {
        cat "$work/log" >&2
        exit 1
    }
}
prefix=(env)
workflow "$work/inputs" inputs --config genome=

run() {  # NAME: fresh directory, one run, its seconds to standard output
    local name=$1 directory=$work/project began ended
    rm -rf "$directory" && mkdir "$directory"
    prefix=("$forebay" run -q -o "$work/$name.run")
    [ "$name" != rules ] ||
        prefix+=(--site "$work/site.toml" --rules "${RULES:-$root/workflows/wgs/tiers.toml}")
    prefix+=(--)
    if [ "$name" != local ]; then
        "$forebay" mount --emulate "$emulate" "$directory" "$directory" 2>> "$work/log"
        mounted=$directory
    fi
    began=$(date +%s.%N)
    workflow "$directory" --config "inputs=$work/inputs/data"
    ended=$(date +%s.%N)
    if [ -n "$mounted" ]; then
        "$forebay" unmount "$mounted" >&2
        mounted=
    fi
    (cd "$directory/results" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) \
        > "$work/$name.md5"
    cmp "$work/local.md5" "$work/$name.md5" >&2
    awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.1f\n", b - a }'
}

for repeat in $(seq "$repeats"); do
    for name in local slow rules; do
        seconds=$(run "$name")
        echo "$seconds" >> "$work/$name.seconds"
        echo "slow: repeat $repeat, $name: $seconds s" >&2
    done
done

median() { sort -n "$work/$1.seconds" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
local_s=$(median local)
row() {  # NAME, words, promise
    local s
    s=$(median "$1")
    awk -v s="$s" -v l="$local_s" -v words="$2" -v promise="$3" -v range="$(sort -n "$work/$1.seconds" |
        sed -n '1p;$p' | paste -sd- | sed 's/-/ to /')" 'BEGIN {
        verdict = promise == "" ? "" : (s / l <= promise ? "pass" : "**miss**")
        printf "| %s | %.1f s | %s s | %.2f | %s | %s |\n", words, s, range, s / l, promise, verdict }'
}
echo "### The demo's workflow on a slow directory (emulated: $emulate), $repeats repeats in turn"
echo
echo "| project directory | median | range | of local | at most | |"
echo "|---|---|---|---|---|---|"
row local "local" ""
row slow "slow, no rules" ""
row rules "slow, with rules (workflows/wgs/tiers.toml)" 1.10
