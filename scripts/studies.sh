#!/bin/bash
# Every study under studies/, simulated again beside what was published. Needs the release binary.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${FOREBAY:=target/release/forebay}"
"$FOREBAY" study $(dirname studies/*/study.toml)
