#!/usr/bin/env bash
# Installs MultiQC from PyPI into target/tools, for the test of what `forebay export` writes for it
# (tests/real/cases/multiqc.sh). Idempotent: with all there it ends at once. `make setup` calls it;
# without it, the case is skipped loudly.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

multiqc=1.35
at=target/tools/multiqc
if [ "$(cat $at/version 2>/dev/null)" != "$multiqc" ]; then
    echo "setup-multiqc: MultiQC $multiqc (1 GB, some minutes, once)"
    rm -rf $at
    /usr/bin/env python3 -m venv $at
    $at/bin/pip install --quiet --disable-pip-version-check --no-compile "multiqc==$multiqc"
    echo "$multiqc" >$at/version
fi
