#!/usr/bin/env bash
# Installs SimGrid for the system's Python, and nothing else; run it as often as you like.
# Lost if it failed: the step `simgrid` of scripts/test.sh fails, since it compares with nothing.
set -euo pipefail
python=/usr/bin/python3

"$python" -c 'import simgrid' 2>/dev/null && exit 0
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
echo "setup: apt: python3-simgrid" >&2
export DEBIAN_FRONTEND=noninteractive
install=(apt-get -qq -y -o DPkg::Lock::Timeout=600 install --no-install-recommends python3-simgrid)
$sudo "${install[@]}" >/dev/null 2>&1 || {
    $sudo apt-get -qq -o DPkg::Lock::Timeout=600 update
    $sudo "${install[@]}" >/dev/null
}
"$python" -c 'import simgrid' 2>/dev/null || {
    printf 'setup: SimGrid is installed, but %s does not find it\n  next:  %s\n' "$python" \
        "install the package python3-simgrid of your distribution" >&2
    exit 1
}
