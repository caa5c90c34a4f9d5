#!/usr/bin/env bash
# What `make test` runs after the set-up: every step, even after one has failed, then a table and
# one last line. Exit status 0 only if all passed. No step is judged by a clock: `make timing` reports
# times, `make test-long` tries every variant and seed.
#
#   scripts/test.sh             all steps
#   scripts/test.sh STEP...     some: format page docs licences build lint rust schema workflow simgrid browser real
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/landing.sh
over_uring=(--only posix --only pjdfstest --only fsx --only locks --only kill --only signals --only open-files)

format() { cargo fmt --all --check; }
page() { web/check; }
docs() { scripts/docs.sh; }
licences() { target/tools/bin/cargo-deny --log-level error check licenses bans sources; }
build() { build_landing; }
# What is built already only says its warnings again.
lint() { local said; said=$(build_landing 2>&1) && [ -z "$said" ] || { echo "$said"; false; }; }
# Most of them wait for other programs: more at a time than there are processors.
rust() { RUST_TEST_THREADS=4 landing_cargo test --quiet "${landing[@]}" --no-fail-fast; }
workflow() { scripts/test-workflow.sh; }
# In the venv of the demo, where Snakemake has brought jsonschema.
schema() { scripts/setup-demo.sh && .venv/bin/python -B tests/schema/check.py "$FOREBAY"; }
simgrid() { /usr/bin/python3 tests/simgrid/compare.py "$FOREBAY" 8; }
browser() { tests/browser/run; }
# Both ways to the kernel; over io_uring what asks most of it.
real() { tests/real/run && tests/real/run --transport uring --as root "${over_uring[@]}"; }

steps=(format page docs licences build lint rust schema workflow simgrid browser real)
for step in "$@"; do
    [[ " ${steps[*]} " = *" $step "* ]] || {
        echo "test: no step $step; there are ${steps[*]}" >&2
        exit 2
    }
done
what="make test"
[ $# -eq 0 ] || { steps=("$@"); what="scripts/test.sh $*"; }

run_steps "$what" "scripts/test.sh" "${steps[@]}"
