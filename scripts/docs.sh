#!/usr/bin/env bash
# The documents as a book: builds docs/ into target/book, and checks every link of its pages.
#
#   scripts/docs.sh            build and check
#   scripts/docs.sh serve      the same, then http://localhost:8000 until Ctrl-C
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mdbook=target/tools/bin/mdbook
[ -x "$mdbook" ] || scripts/setup-docs.sh
rm -rf target/book
"$mdbook" build docs
python3 scripts/check-book.py target/book
if [ "${1:-}" = serve ]; then
    exec python3 -m http.server --bind localhost --directory target/book 8000
fi
