#!/usr/bin/env bash
# Installs S3 servers that others wrote into target/tools, for the tests of objects
# (crates/objstore/tests/common/others.rs). Idempotent: with all there it ends at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# From PyPI: S3 alone of it, which is a tenth of what its extra `server` brings.
moto=5.2.5 flask=3.1.3 cors=6.0.5
at=target/tools/moto
if [ "$(cat $at/version 2>/dev/null)" != "$moto $flask $cors" ]; then
    echo "setup-s3: moto $moto, an S3 server (140 MB, half a minute, once)"
    rm -rf $at
    /usr/bin/env python3 -m venv $at
    $at/bin/pip install --quiet --disable-pip-version-check \
        "moto[s3]==$moto" "flask==$flask" "flask-cors==$cors"
    echo "$moto $flask $cors" >$at/version
fi
