#!/usr/bin/env bash
# What `make test` runs after the set-up: every step, even after one has failed, then a table and
# one last line. Exit status 0 only if all passed.
#
#   scripts/test.sh             all steps
#   scripts/test.sh STEP...     some: format lint licences page rust workflow simgrid browser real
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${FOREBAY:=${CARGO_TARGET_DIR:-$PWD/target}/release/forebay}"
export FOREBAY
# Optimised, but each crate by itself: a dozen test programs would each be optimised as a whole, which
# takes longer than all tests together. `make build` does that for the one that users get.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16

build() { cargo build --quiet --release --locked -p forebay; }
format() { cargo fmt --all --check; }
lint() { cargo clippy --quiet --workspace --all-targets --locked -- -D warnings; }
licences() { target/tools/bin/cargo-deny --log-level error check licenses bans sources; }
rust() { cargo test --quiet --workspace --release --locked --no-fail-fast; }
workflow() { scripts/test-workflow.sh; }
simgrid() { build && /usr/bin/python3 tests/simgrid/compare.py "$FOREBAY"; }
server() { cargo build --quiet --release --locked --workspace --example s3_server; }
real() { build && server && tests/real/run; }
page() { web/check; }
runs() { cargo build --quiet --release --locked -p forebay --example report_runs; }
browser() { build && runs && tests/browser/run; }

steps=(format lint licences page rust workflow simgrid browser real)
for step in "$@"; do
    [[ " ${steps[*]} " = *" $step "* ]] || {
        echo "test: no step $step; there are ${steps[*]}" >&2
        exit 2
    }
done
what="make test"
[ $# -eq 0 ] || { steps=("$@"); what="scripts/test.sh $*"; }

lines=() failed=()
for step in "${steps[@]}"; do
    printf '\n=== %s\n' "$step"
    began=$SECONDS
    if "$step"; then word=ok; else word=FAILED; failed+=("$step"); fi
    lines+=("$(printf '%-10s %-7s %4d s' "$step" "$word" $((SECONDS - began)))")
done

printf '\n'
printf '%s\n' "${lines[@]}"
if [ ${#failed[@]} -gt 0 ]; then
    echo "$what: FAILED (${failed[*]}) after $SECONDS s; again: scripts/test.sh ${failed[*]}"
    exit 1
fi
echo "$what: all passed in $SECONDS s"
