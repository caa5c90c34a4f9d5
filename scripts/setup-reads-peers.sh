#!/usr/bin/env bash
# Makes this machine able to run bench/reads.sh: samtools, sra-toolkit, bzip2, zstd, bwa, minimap2 and curl by apt,
# and bqtools (BINSEQ) from crates.io into target/tools, unless it is called with --packages, as for
# studies/reads-access. Idempotent; when all is there it touches no network. What can't be had is
# told, and its rows are left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "setup-reads-peers: $*" >&2; }

missing=()
for tool in samtools:samtools latf-load:sra-toolkit bzip2:bzip2 zstd:zstd bwa:bwa minimap2:minimap2 curl:curl; do
    command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}")
done
if [ "${#missing[@]}" -gt 0 ]; then
    say "apt: ${missing[*]}"
    as_root=(env DEBIAN_FRONTEND=noninteractive)
    [ "$(id -u)" -eq 0 ] || as_root=(sudo "${as_root[@]}")
    install=("${as_root[@]}" apt-get -qq -y -o DPkg::Lock::Timeout=600 install --no-install-recommends)
    "${install[@]}" "${missing[@]}" >/dev/null 2>&1 || {
        "${as_root[@]}" apt-get -qq -o DPkg::Lock::Timeout=600 update || true
        for package in "${missing[@]}"; do
            "${install[@]}" "$package" >/dev/null || say "$package can't be installed; its rows are left out"
        done
    }
fi

[ "${1:-}" != --packages ] || exit 0

# For the processor of this machine, so that it has the vectors that Forebay looks for when it runs.
# Without htslib, which only its way in from BAM needs.
bqtools=0.6.1
if [ "$(target/tools/bin/bqtools --version 2>/dev/null)" != "bqtools $bqtools" ]; then
    say "cargo install bqtools $bqtools (some minutes on two cores, once)"
    RUSTFLAGS="-C target-cpu=native" CARGO_TARGET_DIR=$PWD/target/tools/build \
        cargo install --quiet --locked --force --no-default-features --root target/tools \
        bqtools --version "$bqtools" >&2 || say "bqtools can't be built; its rows are left out"
    rm -rf target/tools/build
fi
