#!/usr/bin/env bash
# What `make bench` runs: builds, measures, prints the table (Markdown) on standard output.
#
#   bench/run.sh             micro benchmarks, 7 repeats, 3 pairs of each pipeline, the demo's
#                            workflow on slow storage once, a volume in a bucket and on several
#                            nodes, and archives of reads beside other tools: an hour
#   bench/run.sh --full      9 repeats and 15 pairs: the figures that are published
#   bench/run.sh --check     as above; status 3 when a target is missed
#   bench/run.sh --only cluster,reads   some of micro, pipelines, slow, bucket, cluster, peers, reads
#   FOREBAY=path             the binary under test (default target/release/forebay, built first)
#   CARGO_TARGET_DIR         is respected
#
# As root: ext4 with a journal on a loop image, cold reads, passthrough, and the ordinary user
# besides; while it measures, root has the kernel's switch of FUSE over io_uring on. As an ordinary
# user: what that user can measure, and the table says what is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all=micro,pipelines,slow,bucket,cluster,peers,reads
pairs=3 repeats=7 minutes=16 slow=1 check=() only=$all
pipelines=(--every-read --rules --recorders)
bucket=(--repeats 1 --gib 10 --without s3fs,rclone) reads=(--repeats 2) cluster=(--repeats 1) peers=(--mib 512 --repeats 1)
while [ $# -gt 0 ]; do
    word=$1
    shift
    case $word in
        --full) pairs=15 repeats=9 minutes=360 slow=5 bucket=() reads=(--all) cluster=() peers=() ;;
        --check) check=(--check) ;;
        --only) only=${1:?--only PARTS: $all} && shift ;;
        -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) echo "bench/run.sh: unknown argument $word; there are --full, --check, --only" >&2; exit 2 ;;
    esac
done

for part in ${only//,/ }; do
    [[ ,$all, == *,$part,* ]] || { echo "bench/run.sh: no part $part; there are $all" >&2; exit 2; }
done
wants() { [[ ,$only, == *,$1,* ]]; }
# As root, and wanted; else nothing.
may() { wants "$1" && [ "$(id -u)" -eq 0 ]; }

target=${CARGO_TARGET_DIR:-target}
cargo build --release -p forebay-bench >&2
[ -n "${FOREBAY:-}" ] || cargo build --release -p forebay >&2
bench=$target/release/forebay-bench
forebay=${FOREBAY:-$target/release/forebay}

# Half of the rows are of operations over io_uring, which the kernel has switched off.
switch=/sys/module/fuse/parameters/enable_uring
if [ -w $switch ] && [ "$(cat $switch)" = N ]; then
    trap 'echo N > $switch' EXIT
    trap 'exit 130' INT TERM
    echo Y > $switch
fi

# A failed run is in the table with its count; the other half is measured all the same.
status=0
if wants micro; then
    "$bench" micro --forebay "$forebay" --repeats "$repeats" || status=$?
    [ "$status" -lt 2 ] || exit "$status"
fi
if wants pipelines; then
    "$bench" pipelines --forebay "$forebay" --pairs "$pairs" --budget-minutes "$minutes" \
        "${pipelines[@]}" || status=$?
    [ "$status" -lt 2 ] || exit "$status"
fi
slow_table='' peers_table='' reads_table=''
bucket_table="A volume in a bucket was not measured: that takes root."
cluster_table="A volume on several nodes was not measured: that takes root."
wants bucket || bucket_table=''
wants cluster || cluster_table=''
if wants slow; then slow_table=$(FOREBAY=$forebay bench/slow.sh "$slow") || status=1; fi
if may bucket; then bucket_table=$(FOREBAY=$forebay bench/bucket.sh "${bucket[@]}") || status=1; fi
if may cluster; then
    cargo build --release --locked -p forebay-objstore --examples >&2
    cluster_table=$(FOREBAY=$forebay BUILT=yes bench/cluster.sh "${cluster[@]}") || status=1
fi
if wants peers; then peers_table=$(FOREBAY=$forebay bench/peers.py "${peers[@]}") || status=1; fi
if wants reads; then reads_table=$(FOREBAY=$forebay bench/reads.sh "${reads[@]}") || status=1; fi
if wants micro || wants pipelines; then "$bench" table ${check[@]+"${check[@]}"} || exit $?; fi
printf '\n%s\n' "$slow_table" "$bucket_table" "$cluster_table" "$peers_table" "$reads_table"
exit "$status"
