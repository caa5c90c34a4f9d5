#!/usr/bin/env bash
# Feeds what reads archives with bytes of nobody, so many seconds for each target (600), as many
# targets at a time as there are cores: scripts/fuzz.sh [SECONDS [TARGET...]]. What grows stays in
# target/fuzz/corpus for the next time. A flaw ends it with 1 and the file that shows it.
#
# It is libFuzzer's way, but no cargo-fuzz is needed: the flags that count branches are stable ones.
# With a nightly tool chain, bytes beyond an allocation are found, too (AddressSanitizer).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-600}
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || targets=(manifest index group codecs whole bam existing)
host=$(rustc -vV | sed -n 's/^host: //p')
cargo=(cargo)
flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
flags+=" -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
flags+=" -Ccodegen-units=1"
if cargo +nightly --version >/dev/null 2>&1; then
    cargo=(cargo +nightly)
    flags+=" -Zsanitizer=address"
fi
# --target, so that build scripts do without these flags.
RUSTFLAGS=$flags CARGO_TARGET_DIR=target/fuzz "${cargo[@]}" build --quiet --release --locked \
    --manifest-path crates/reads/fuzz/Cargo.toml --target "$host"
bin=target/fuzz/$host/release
corpus=target/fuzz/corpus
mkdir -p target/fuzz/found
"$bin/seeds" "$corpus"

feed() {
    local log=target/fuzz/$1.log
    # Whatever an archive holds, reading takes at most 512 MiB and ends.
    if "$bin/$1" "$corpus/$1" -max_total_time="$seconds" -max_len=65536 -timeout=20 \
        -rss_limit_mb=1536 -malloc_limit_mb=512 -artifact_prefix="target/fuzz/found/$1-" \
        -print_final_stats=1 >"$log" 2>&1
    then
        printf 'fuzz: %-9s %s runs, no flaw\n' "$1" \
            "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
    else
        tail -n 40 "$log" >&2
        printf 'fuzz: %s has a flaw; target/fuzz/found/%s-* shows it\n' "$1" "$1" >&2
        return 1
    fi
}
export -f feed
export bin corpus seconds
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'feed {}'
