#!/usr/bin/env bash
# Reads in `forebay reads`, three profiles, beside gzip, bzip2, zstd, CRAM 3.1, BINSEQ CBQ and SRA:
# size, CPU and wall time of packing and reading, with one and two threads, and 4 KiB at random;
# aligners that are fed by an archive, by plain files and by .gz (bench/reads_align.py);
# then an archive in a bucket that is far away beside the same one near (bench/reads_far.py).
# Prints tables (Markdown) and what was aimed at on standard output; it is a part of `make bench`.
#
#   bench/reads.sh           pairs of many levels of quality and singles of few, 85 MB of text
#   bench/reads.sh --all     seven sets, 250 MB of text
#   FOREBAY=path             the binary under test (default target/release/forebay, built first)
#   BUILT=yes                builds nothing and installs nothing: uses what is there
#   SETS=folder              measures the *.fq.gz of a folder of yours, and fetches none
#
# Other options are those of bench/reads.py, such as --repeats 5 or --only nanopore.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case ${1:-} in -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

sets=${SETS:-target/bench/reads/sets}
only=(--only hiseq2000,nextseq550)
[ "${1:-}" != --all ] || { only=(); shift; }
if [ -z "${BUILT:-}" ]; then
    scripts/setup-reads-peers.sh >&2
    [ -n "${FOREBAY:-}" ] || cargo build --release --locked -p forebay >&2
    cargo build --release --locked -p forebay-reads --example reads_pread >&2
    cargo build --release --locked -p forebay-objstore --example s3_memory >&2
fi
[ -n "${SETS:-}" ] || [ -e "$sets/nanopore.fq.gz" ] || bench/reads-data.sh >&2
export PATH=$PWD/target/tools/bin:$PATH
bench/reads.py "$sets" ${only[@]+"${only[@]}"} "$@"
if [ -e "$sets/hiseq2000_R2.fq.gz" ]; then bench/reads_align.py "$sets"; fi
exec bench/reads_far.py "$sets" --repeats 3
