#!/usr/bin/env bash
# What takes hours: every variant of every case, all seeds, crashes by the thousand, bytes of nobody.
# Prints a table. The last result of each step is kept, with its date and commit, in tests/long.last,
# which is committed: the whole takes hours, so its steps may run on different days.
#
#   scripts/test-long.sh             all steps
#   scripts/test-long.sh STEP...     some: oldest kills machines daemons power shared crowds protocol fuzz simgrid
#                                    real xfstests reports
#   FUZZ_SECONDS=600                 how long each target of fuzz.sh is fed
#   CHECKS=DIR                       cases of public reports that are kept elsewhere: the step reports,
#                                    which is no part of the others without (scripts/reports.sh)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/landing.sh

# The oldest compiler that the documents promise, apart from what the others build with.
oldest() {
    local version
    version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    rustup toolchain install --no-self-update --profile minimal "$version" > /dev/null \
        && CARGO_TARGET_DIR=target/oldest cargo "+$version" check --quiet --workspace --locked
}
seeded() {  # SEEDS CARGO-WORDS... -- TEST...
    FOREBAY_SEEDS=$1 landing_cargo test --quiet --profile landing --locked "${@:2}"
}
# 840 packs with 12 lives each: 10,080 ends by kills, and as many with power failures.
kills() {
    seeded 840 -p forebay-packlog --lib -- --nocapture \
        a_kill_loses_nothing a_power_failure_leaves_a_past_moment
}
# 100 volumes in buckets on 12 machines each, which are gone after some write.
machines() {
    seeded 100 -p forebay-volume --lib -- --nocapture a_volume_in_a_bucket_survives_its_machines
}
# 100 mounts of such volumes, killed 4 times each while programs change names.
daemons() {
    seeded 100 -p forebay --test cli -- --nocapture a_daemon_killed_at_any_change
}
# 500 power failures below a volume in a bucket, on ext4 and XFS, as root.
power() { seeded 500 -p forebay --test cli -- --nocapture a_power_failure_takes_nothing; }
# What programs on three nodes see of 1,000 files fits one order of what they did.
shared() {
    FOREBAY_ROUNDS=1000 landing_cargo test --quiet --profile landing --locked -p forebay --test cli \
        -- --nocapture what_three_nodes_see
}
# 100,000 open files, 10,000 processes at a time, 2,048 that begin each other, under each recorder.
crowds() {
    FOREBAY_CROWD=10 landing_cargo test --quiet --profile landing --locked -p forebay --test cli \
        -- --nocapture crowds::
}
# Every order of events of the model of shared volumes, within large limits.
protocol() {
    FOREBAY_MODEL=large landing_cargo test --quiet --profile landing --locked -p forebay-sharing \
        --test protocol -- --nocapture
}
fuzz() { scripts/fuzz.sh "${FUZZ_SECONDS:-600}"; }
simgrid() { /usr/bin/python3 tests/simgrid/compare.py "$FOREBAY"; }
real() { tests/real/run --long && tests/real/run --long --transport uring; }
xfstests() { scripts/xfstests.sh && TRANSPORT=uring scripts/xfstests.sh; }
reports() { scripts/reports.sh "${CHECKS:?DIR with cases of public reports}"; }

all=(oldest kills machines daemons power shared crowds protocol fuzz simgrid real xfstests reports)
# Before the step is over the next may take an hour: each is kept as it ends.
step_ended() {  # STEP LINE
    local last=tests/long.last step
    touch "$last"
    for step in "${all[@]}"; do
        if [ "$step" = "$1" ]; then
            printf '%s   %s, commit %s\n' "$2" "$(date -u +%F)" "$(git rev-parse --short HEAD)"
        else
            grep "^$step " "$last"
        fi
    done > "$last.new"
    mv "$last.new" "$last"
}

steps=("${all[@]}")
[ -n "${CHECKS:-}" ] || unset 'steps[-1]'
[ $# -eq 0 ] || steps=("$@")
build_landing || exit 1
run_steps "make test-long" "scripts/test-long.sh" "${steps[@]}"
