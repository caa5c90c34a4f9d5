#!/usr/bin/env bash
# Makes this machine able to run studies/neighbours-live: s3fs, rclone and fuse3 by apt, an S3 server
# (moto) in a venv of its own. Idempotent; when all is there it touches no network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

requirements=studies/neighbours-live/requirements.txt
venv=target/studies/neighbours-venv
stamp=$venv/.requirements   # copy of the requirements the venv was made from

fail() {  # cause, where, next step
    printf 'setup-neighbours: %s\n  where: %s\n  next:  %s\n' "$1" "$2" "$3" >&2
    exit 1
}

missing=()
for tool in s3fs:s3fs rclone:rclone fusermount3:fuse3; do
    command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}")
done
/usr/bin/python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
if [ "${#missing[@]}" -gt 0 ]; then
    command -v apt-get >/dev/null || fail "no apt-get here (this script knows Debian and Ubuntu)" \
        "packages: ${missing[*]}" "install these by other means and run this script again"
    as_root=(env DEBIAN_FRONTEND=noninteractive)
    [ "$(id -u)" -eq 0 ] || as_root=(sudo "${as_root[@]}")
    echo "setup-neighbours: installing ${missing[*]} (apt)"
    install=("${as_root[@]}" apt-get -qq -y -o DPkg::Lock::Timeout=600 install --no-install-recommends
             "${missing[@]}")
    if ! "${install[@]}" >/dev/null 2>&1; then
        "${as_root[@]}" apt-get -qq -o DPkg::Lock::Timeout=600 update
        "${install[@]}" >/dev/null || fail "apt-get install failed" "${missing[*]}" "see the lines above"
    fi
fi

if ! cmp -s "$requirements" "$stamp" || ! "$venv/bin/python" -c '' 2>/dev/null; then
    echo "setup-neighbours: making $venv from $requirements"
    rm -rf "$venv"
    mkdir -p "$(dirname "$venv")"
    /usr/bin/python3 -m venv "$venv"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check -r "$requirements" \
        || fail "pip install failed" "$requirements" "check the package index pip is set to, then run $0 again"
    cp "$requirements" "$stamp"   # last, so that a broken install is never taken for a good one
fi
