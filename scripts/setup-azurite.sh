#!/usr/bin/env bash
# Installs Azurite, Microsoft's emulator of Azure's Blob storage, from npm into target/tools, for the
# tests of objects (crates/objstore/tests/common/others.rs). Idempotent: with all there it ends at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

azurite=3.35.0
at=target/tools/azurite
[ "$(cat $at/version 2>/dev/null)" != "$azurite" ] || exit 0
if ! command -v npm >/dev/null; then
    as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo -n)
    echo "setup-azurite: apt-get install nodejs npm (once)"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive sh -c \
        'apt-get -qq update && apt-get -qq install -y --no-install-recommends nodejs npm >/dev/null'
fi
echo "setup-azurite: Azurite $azurite, an Azure Blob server (190 MB, half a minute, once)"
rm -rf $at
mkdir -p $at
npm install --silent --no-audit --no-fund --prefix $at "azurite@$azurite"
echo "$azurite" >$at/version
