#!/usr/bin/env bash
# What it costs that jobs are recorded where they run: 33 tasks of Nextflow's by Slurm, on a volume of
# four nodes and the head, as they are and under `forebay run --jobs`, in turns. Prints both times of
# each pair, and the median of their ratios. As root, after tests/real/setup.sh,
# `cargo build --release -p forebay` and `cargo build --release -p forebay-objstore --examples`.
#
#   bench/cluster/recording.sh [--pairs 5]      about two minutes a pair
#   FOREBAY=path                                the binary (default target/release/forebay)
#
# Nodes are network namespaces of this machine; tasks sleep most of their three seconds, so that what
# is measured is not how eight of them share its processors.
set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export ROOT REAL=$ROOT/tests/real TOOLS=$ROOT/target/tools
if [ "${CONTAINED:-}" != yes ]; then
    FOREBAY=$(realpath "${FOREBAY:-$ROOT/target/release/forebay}")
    S3_SERVER=${S3_SERVER:-$(dirname "$FOREBAY")/examples/s3_server}
    WORK=$(mktemp -d /var/tmp/forebay-recording.XXXXXX)
    export FOREBAY S3_SERVER WORK CONTAINED=yes HOME=$WORK/home PAIRS=5
    trap 'rm -rf "$WORK"' EXIT
    [ "${1:-}" = --pairs ] && PAIRS=$2
    mkdir "$HOME"
    unshare --mount --pid --fork --kill-child --mount-proc --propagation private bash "$0"
    exit
fi
PATH=$PATH:$TOOLS/nextflow
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
. "$REAL/cluster.sh"

# As the case shared-node-lost has it.
cat > "$WORK/nextflow.config" <<'CONF'
process.executor = 'slurm'
executor { queueSize = 8; pollInterval = '1s'; queueStatInterval = '1s'; exitReadTimeout = '60s' }
CONF
# Slurm's own waiting would be more than what is measured.
slurm_more() { short_jobs; }
{
    nodes 4
    bucket
    book
    volume_everywhere lab
    cluster 4
} > "$WORK/log" 2>&1

flow() { # NAME COMMAND..., which stands before Nextflow's; seconds that it took
    local name=$1 folder=$WORK/volume/$1 begin=${EPOCHREALTIME/./}
    shift
    mkdir -p "$folder/started"
    (cd "$folder" && "$@" nextflow -q run "$REAL/pipelines/thirty_three.nf" -c "$WORK/nextflow.config" \
        --started "$folder/started" --out "$folder/results" >> "$WORK/log" 2>&1) ||
        { tail -n 40 "$WORK/log" >&2; fail "$name"; }
    [ "$(cat "$folder/started"/* | wc -l)" = 32 ] || fail "$name: not 32 tasks"
    awk "BEGIN {print ($(date +%s%6N) - $begin) / 1e6}"
}

recorded() { # NAME: all of it is in one run, or it would be no measurement
    flow "$1" "$FOREBAY" run -q --recorder auto --jobs "$WORK/volume/jobs" --at "$WORK/volume" -o "$WORK/$1.run" --
    local tasks
    tasks=$(python3 -c "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute(
        \"SELECT count(*) FROM tasks WHERE engine = 'nextflow' AND kind = 'task'\").fetchone())" "$WORK/$1.run")
    [ "$tasks" = 33 ] || fail "$1: $tasks tasks in the run"
}

flow warm > /dev/null
echo "| pair | as it is, s | recorded, s | ratio |"
echo "|---|---|---|---|"
for pair in $(seq "$PAIRS"); do
    # Who goes first may be the slower one.
    if [ $((pair % 2)) = 1 ]; then
        bare=$(flow "bare$pair") && seen=$(recorded "seen$pair")
    else
        seen=$(recorded "seen$pair") && bare=$(flow "bare$pair")
    fi || exit 1
    awk "BEGIN {printf \"| %d | %.1f | %.1f | %.3f |\n\", $pair, $bare, $seen, $seen / $bare}" | tee -a "$WORK/rows"
done
sort -t'|' -k5 "$WORK/rows" | awk -F'|' '{r[NR] = $5} END {printf "\nmedian of the ratios: %.3f\n", (r[int((NR + 1) / 2)] + r[int(NR / 2) + 1]) / 2}'

stop
volume_nowhere
end_nodes
