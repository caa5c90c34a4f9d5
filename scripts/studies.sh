#!/bin/bash
# Every study under studies/, simulated again beside what was published, and those of stored reads,
# measured. Needs the release binary, and for the reads a network once (226 MB of packages of Debian,
# which are not installed, and the tools of SRA and samtools, which are); without them those studies
# are left out. Results are left in target/studies, also as run files.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${FOREBAY:=target/release/forebay}"
"$FOREBAY" study $(dirname studies/*/study.toml)

if ! { [ -e target/bench/reads/sets/nanopore.fq.gz ] || bench/reads-data.sh >&2; }; then
    echo "LEFT OUT: studies/reads-*, for which bench/reads-data.sh could not fetch reads"
    exit
fi
studies/reads-footprint/measure.py --forebay "$FOREBAY"

scripts/setup-reads-peers.sh --packages
cargo build --release --locked --workspace --example s3_memory >&2
mkdir -p target/studies
FOREBAY=$(realpath "$FOREBAY")
study=$PWD/studies/reads-access/measure.py reads=$PWD/target/bench/reads
cd target/studies
"$FOREBAY" run -q -o reads-access.run -- \
    "$study" "$reads" --forebay "$FOREBAY" --json "$PWD/reads-access.json"
