#!/usr/bin/env bash
# Makes this machine able to run `make test`: Rust's components, the tools of the real-things suite,
# the demo's aligners and venv. Idempotent: when all is there it ends within a second.
# It builds nothing of the project and runs no test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {  # cause, where, next step
    printf 'setup-test: %s\n  where: %s\n  next:  %s\n' "$1" "$2" "$3" >&2
    exit 1
}

command -v cargo >/dev/null || fail "no Rust tool chain" "PATH" "install Rust 1.92 or newer (rustup)"
command -v cc >/dev/null || command -v gcc >/dev/null || fail "no C compiler (SQLite is compiled in)" \
    "PATH" "apt-get install build-essential"
for component in fmt clippy; do
    cargo $component --version >/dev/null 2>&1 && continue
    command -v rustup >/dev/null || fail "cargo $component is missing" "cargo" \
        "install the package of your distribution that brings it, or use rustup"
    rustup component add "${component/#fmt/rustfmt}"
done

scripts/setup-demo.sh
# For scripts/unpack-reads.py, with which tests compare read archives.
.venv/bin/python -c 'import zstandard' 2>/dev/null \
    || .venv/bin/python -m pip install -q --disable-pip-version-check zstandard==0.25.0 \
    || fail "pip install zstandard failed" ".venv" "check the package index pip is set to"
tests/real/setup.sh
tests/simgrid/setup.sh
scripts/setup-s3.sh
scripts/setup-postgres.sh
scripts/setup-browser.sh
scripts/setup-azurite.sh
scripts/setup-multiqc.sh

scripts/setup-docs.sh

if [ ! -x target/tools/bin/cargo-deny ]; then
    echo "setup-test: cargo install cargo-deny 0.20.2 (some minutes on two cores, once)"
    CARGO_TARGET_DIR=$PWD/target/tools/build cargo install --quiet --locked --debug \
        --root target/tools cargo-deny --version 0.20.2
    rm -rf target/tools/build
fi
