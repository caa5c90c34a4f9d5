#!/usr/bin/env bash
# Installs what makes a book of the documents. Without its server and its watcher it builds in half
# the time; the pages are served by Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=0.5.4
if [ ! -x target/tools/bin/mdbook ]; then
    echo "setup-docs: cargo install mdbook $version (some minutes on two cores, once)"
    CARGO_TARGET_DIR=$PWD/target/tools/build cargo install --quiet --locked --debug \
        --no-default-features --features search --root target/tools mdbook --version "$version"
    rm -rf target/tools/build
fi
