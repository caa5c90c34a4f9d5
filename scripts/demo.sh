#!/usr/bin/env bash
# The demo: one workflow run three times, bare, through forebay in place, and through forebay with
# rules that send its intermediate files to a second tier; the proof that all gave the same bytes;
# and a page that compares the two that were recorded. It is no benchmark (one run each, the later
# find warm caches); `make bench` is.
#
#   scripts/demo.sh           the runs and the comparison; exit 1 when a result differs
#   scripts/demo.sh --bare    the bare run alone; needs no forebay
#   FOREBAY=path              the binary (default target/release/forebay)
#   FOREBAY_DATA=folder       cut the reference from folder/ecoli/*.fna.gz, a real genome
#   CORES=n                   cores given to the workflow (default 2)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
demo=$root/target/demo
cores=${CORES:-2}
forebay=${FOREBAY:-target/release/forebay}

say() { printf 'demo: %s\n' "$*"; }
fail() {  # cause, where, next step
    printf 'demo: %s\n  where: %s\n  next:  %s\n' "$1" "$2" "$3" >&2
    exit 1
}

case "${1:-}" in
    "") bare_only=no ;;
    --bare) bare_only=yes ;;
    *) fail "unknown argument $1" "$0" "no argument, or --bare" ;;
esac
if [ "$bare_only" = no ]; then
    command -v "$forebay" >/dev/null || fail "the forebay binary is missing" "$forebay" \
        "cargo build --release (or FOREBAY=path/to/forebay, or scripts/demo.sh --bare)"
    forebay=$(realpath "$(command -v "$forebay")")   # the runs start in other directories
fi

scripts/setup-demo.sh
PATH=$root/.venv/bin:$PATH
# Snakemake keeps a cache in the home folder; a demo leaves nothing outside target/.
export XDG_CACHE_HOME=$demo/cache PYTHONDONTWRITEBYTECODE=1

snakemake_in() {  # directory, snakemake arguments... ; prefix: command that starts it, or nothing
    local directory=$1; shift
    local command=(${prefix[@]+"${prefix[@]}"} snakemake --cores "$cores"
        --snakefile "$root/workflows/wgs/Snakefile" "$@")
    # --quiet also hides the name of a rule that fails, so the way to see it is told.
    (cd "$directory" && "${command[@]}" --quiet all) || fail "the workflow failed (lines above)" \
        "$directory; tools' own messages in its log/" \
        "to see the rule: cd $directory && PATH=$root/.venv/bin:\$PATH ${command[*]}"
}

fresh() {  # directory: empty, and surely not a mount that a killed run left behind
    if mountpoint -q "$1" 2>/dev/null; then
        fail "a file system of an earlier run is still mounted" "$1" "fusermount3 -u $1"
    fi
    rm -rf "$1"
    mkdir -p "$1"
}

roomy() {  # directory: tells it when it takes 2 GiB
    local free_kib
    free_kib=$(df --output=avail -k "$1" 2>/dev/null | tail -n 1) && [ "$free_kib" -gt 2097152 ] \
        && [ -w "$1" ] && echo "$1"
}

checksums() {  # run directory
    (cd "$1/results" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum)
}

reported() { awk -F '\t' -v key="$1" '$1 == key { print $2 }' "$demo/bare/results/report.txt"; }

genome=
if [ -n "${FOREBAY_DATA:-}" ]; then
    genome=$(find "$(realpath "$FOREBAY_DATA")/ecoli" -name '*.fna.gz' 2>/dev/null \
        | head -n 1 || true)
    [ -n "$genome" ] || fail "no genome in the data folder" "FOREBAY_DATA=$FOREBAY_DATA" \
        "point it at a folder with ecoli/*.fna.gz, or unset it for a simulated genome"
fi

# Fewer reads than config.yaml has: a demo of three runs is over in two minutes.
small=(pieces=6 'depth={"tumour": 32, "normal": 26}')
settings=("inputs=$demo/inputs/data" "${small[@]}")

# Made once: Snakemake makes them anew only when their settings or their generator's rule changed.
prefix=()
mkdir -p "$demo/inputs"
say "inputs: reference, reads, control panel (${genome:-simulated genome})"
snakemake_in "$demo/inputs" inputs --config "genome=$genome" "${small[@]}"

say "bare run in target/demo/bare (about a minute)"
fresh "$demo/bare"
start=$SECONDS
snakemake_in "$demo/bare" --config "${settings[@]}"
bare_s=$((SECONDS - start))
say "bare run: $bare_s s"
if [ "$bare_only" = no ]; then
    say "forebay run in target/demo/forebay"
    fresh "$demo/forebay"
    rm -rf "$demo/demo.run"
    prefix=("$forebay" run -o ../demo.run --)
    start=$SECONDS
    snakemake_in "$demo/forebay" --config "${settings[@]}"
    forebay_s=$((SECONDS - start))
    say "forebay run: $forebay_s s"

    # Memory stands for node-local NVMe; where there is little of it, another directory.
    fast=$(mktemp -d "$(roomy /dev/shm || echo "$demo")/forebay-demo-XXXXXX")
    trap 'rm -rf "$fast"' EXIT
    printf '[tier.fast]\npath = "%s"\nreach = "node"\ncapacity = "4 GiB"\n' "$fast" \
        > "$demo/site.toml"
    say "forebay run with rules in target/demo/ruled: intermediate files on tier fast, $fast"
    fresh "$demo/ruled"
    rm -rf "$demo/ruled.run"
    prefix=("$forebay" run -o ../ruled.run --site ../site.toml
        --rules "$root/workflows/wgs/tiers.toml" --)
    start=$SECONDS
    snakemake_in "$demo/ruled" --config "${settings[@]}"
    ruled_s=$((SECONDS - start))
    say "forebay run with rules: $ruled_s s"
    left=$(find "$fast" -type f | wc -l)
    [ "$left" = 0 ] || fail "$left files were not written back" "$fast" \
        "this is a bug in forebay: please report it"
fi

say "somatic mutations: $(reported calls_after_panel) calls;" \
    "recall of planted ones $(reported recall); precision $(reported precision)"
checksums "$demo/bare" > "$demo/bare.md5"
files=$(wc -l < "$demo/bare.md5")
if [ "$bare_only" = yes ]; then
    say "OK: bare run alone, $files result files, checksums in target/demo/bare.md5"
    exit 0
fi
for run in forebay ruled; do
    checksums "$demo/$run" > "$demo/$run.md5"
    if ! diff "$demo/bare.md5" "$demo/$run.md5" >&2; then
        fail "DIFFERENT: the runs did not give the same results (lines above: < bare, > $run)" \
            "target/demo/bare/results, target/demo/$run/results" \
            "run scripts/demo.sh again; when it stays, this is a bug in forebay: please report it"
    fi
done
# Without forebay, Snakemake finds everything done and up to date.
again=$(cd "$demo/ruled" && snakemake --cores "$cores" --snakefile "$root/workflows/wgs/Snakefile" \
    --config "${settings[@]}" --dry-run 2>&1) || true
[[ $again = *"Nothing to be done"* ]] || fail "bare, Snakemake would run steps again" \
    "target/demo/ruled" "this is a bug in forebay: please report it"
say "IDENTICAL: all $files result files have the same md5 (bare $bare_s s, forebay $forebay_s s," \
    "with rules $ruled_s s)"
say "one run of each: the difference may be chance (make bench repeats)"
# The bare run left no record; the one in place did to storage what it did.
"$forebay" report "in place=$demo/demo.run" "with rules=$demo/ruled.run" -o "$demo/report.html"
say "both runs, side by side (open it in a browser): $demo/report.html"
