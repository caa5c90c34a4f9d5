#!/bin/bash
# Every study under studies/, simulated again beside what was published, and what columns of reads
# take. Needs the release binary, and for the reads a network once (226 MB of packages of Debian,
# which are not installed); without them that study is left out.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${FOREBAY:=target/release/forebay}"
"$FOREBAY" study $(dirname studies/*/study.toml)
if [ -e target/bench/reads/sets/nanopore.fq.gz ] || bench/reads-data.sh >&2; then
    studies/reads-footprint/measure.py --forebay "$FOREBAY"
else
    echo "LEFT OUT: studies/reads-footprint, for which bench/reads-data.sh could not fetch reads"
fi
