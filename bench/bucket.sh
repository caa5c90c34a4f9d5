#!/usr/bin/env bash
# What a volume in a bucket costs: small files, fsync, long reads and writes, reads at random, a
# Nextflow workflow, and memory, beside ext4, s3fs, rclone and the bare client, over an S3 server on
# this machine whose answers take 0 and 20 ms. Prints a table (Markdown) on standard output; every
# measurement is a line of target/bench/bucket.jsonl. A short one, without s3fs and rclone, is the
# last part of `make bench`.
#
#   bench/bucket.sh [--repeats 3] [--latencies 0,20] [--only PARTS] [--without s3fs,rclone]
#   --only small,make,fsync,long,flow,queue,stream   some parts alone
#   --gib 100                      how much streams through, once, on 8 GiB of disk
#   FOREBAY=path                   the binary under test (default target/release/forebay, built first)
#   BUILT=yes                      builds nothing: the examples of forebay-volume are there
#
# As root. All of it runs in namespaces of its own: however it ends, its processes and mounts are gone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case ${1:-} in -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
[ "$(id -u)" -eq 0 ] || { echo "bench/bucket.sh: it mounts an ext4 of its own: run it as root" >&2; exit 2; }

# They are installed where they are missing and not left out.
case $* in
    *s3fs,rclone* | *rclone,s3fs*) ;;
    *) { command -v s3fs && command -v rclone; } >/dev/null || scripts/setup-neighbours.sh >&2 ;;
esac
[[ $* = *--only* && $* != *flow* ]] || [ -x target/tools/nextflow/nextflow ] || tests/real/setup.sh >&2
target=${CARGO_TARGET_DIR:-target}
if [ -z "${BUILT:-}" ]; then
    cargo build --release --locked -p forebay-objstore --examples >&2
    [ -n "${FOREBAY:-}" ] || cargo build --release --locked -p forebay >&2
fi
work=$PWD/target/bench/bucket
trap 'rm -rf "$work"' EXIT
rm -rf "$work"
mkdir -p "$work"
# Pinned, so that a rebuild meanwhile does no harm.
cp "${FOREBAY:-$target/release/forebay}" "$work/forebay"
cp "$target"/release/examples/{s3_memory,objects} "$work/"
unshare --mount --pid --fork --kill-child --mount-proc --propagation private \
    python3 -B bench/bucket/measure.py "$work" "$@"
