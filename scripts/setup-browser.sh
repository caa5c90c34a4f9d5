#!/usr/bin/env bash
# Makes this machine able to build the page of `forebay report` again and to drive it: Node and npm,
# Debian's Chromium, and what the two locks of npm name. Idempotent: with all there it ends at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo

missing=()
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
command -v chromium >/dev/null || missing+=(chromium)
# Text on a canvas is drawn with what the machine has; bare machines have none.
[ -e /usr/share/fonts/truetype/dejavu ] || missing+=(fonts-dejavu-core)
if [ ${#missing[@]} -gt 0 ]; then
    echo "setup-browser: apt: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    $sudo apt-get -qq -o DPkg::Lock::Timeout=600 update
    $sudo apt-get -qq -y -o DPkg::Lock::Timeout=600 install --no-install-recommends \
        "${missing[@]}" >/dev/null
fi

for folder in web tests/browser; do
    lock=$folder/package-lock.json
    cmp -s $lock $folder/node_modules/.from-lock && continue
    echo "setup-browser: npm ci in $folder"
    (cd $folder && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
    cp $lock $folder/node_modules/.from-lock
done
