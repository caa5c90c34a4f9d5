#!/usr/bin/env bash
# Installs Azurite, Microsoft's emulator of Azure's Blob storage, from npm into target/tools, for the
# tests of objects (crates/objstore/tests/common/others.rs). Idempotent: with all there it ends at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

azurite=3.35.0
at=target/tools/azurite
if [ "$(cat $at/version 2>/dev/null)" != "$azurite" ]; then
    scripts/apt.sh nodejs npm
    echo "setup-azurite: Azurite $azurite, an Azure Blob server (190 MB, half a minute, once)"
    rm -rf $at
    mkdir -p $at
    npm install --silent --no-audit --no-fund --prefix $at "azurite@$azurite"
    echo "$azurite" >$at/version
fi
