#!/usr/bin/env bash
# What a clock judges: how exact an emulated storage is, how soon changes are seen, how long pages,
# summaries and probes take. It lands nothing and refuses nothing: a line of each, and status 0. It
# means something on a machine that has nothing else to do.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/landing.sh

build_landing || exit 1
rust() { landing_cargo test --profile landing --locked --workspace --lib --bins --tests --no-fail-fast -- \
    --ignored timing_ --test-threads 1; }
real() { tests/real/run --timing --jobs 1; }

log=target/timing.log
{ rust; real; } 2>&1 | tee "$log" | grep --line-buffered -E '^(test timing|test .*::timing_|ok |FAIL|SKIP)'
held=$(grep -cE '^(test .* ok$|ok )' "$log")
late=$(grep -cE '^(test .* FAILED$|FAIL)' "$log")
echo "timing: $held within their bounds, $late not; what was measured is in $log"
