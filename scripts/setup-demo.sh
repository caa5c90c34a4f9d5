#!/usr/bin/env bash
# Makes this machine able to run the demo workflow: aligner and BAM tools by apt, Python packages
# in .venv/. Idempotent; when all is there it touches no network and ends well under a second.
# It does not build forebay and does not run the workflow (scripts/demo.sh does).
#
# PYTHON=python3.12 scripts/setup-demo.sh   chooses the interpreter the venv is made from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

requirements=workflows/wgs/requirements.txt
venv=.venv
stamp=$venv/.demo-requirements   # copy of the requirements the venv was made from

# command on the PATH : Debian package that brings it
tools=(bwa:bwa samtools:samtools bcftools:bcftools bamsort:biobambam2
       bammarkduplicates:biobambam2 bgzip:tabix tabix:tabix)

fail() {  # cause, where, next step
    printf 'setup-demo: %s\n  where: %s\n  next:  %s\n' "$1" "$2" "$3" >&2
    exit 1
}

as_root() {  # env keeps the setting through sudo, which drops exported variables
    if [ "$(id -u)" -eq 0 ]; then env DEBIAN_FRONTEND=noninteractive "$@"
    else sudo env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

apt_install() {  # package... ; the lists are refreshed only when the first try fails
    local wanted=("$@")
    command -v apt-get >/dev/null || fail "no apt-get here (this script knows Debian and Ubuntu)" \
        "packages: ${wanted[*]}" "install these tools by other means and run this script again"
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null || fail \
        "packages are missing and this user may not install them (no sudo)" \
        "packages: ${wanted[*]}" "as root: apt-get install ${wanted[*]}"
    echo "setup-demo: installing ${wanted[*]} (apt)"
    local log; log=$(mktemp)
    local install=(apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends
                   "${wanted[@]}")
    if ! as_root "${install[@]}" >"$log" 2>&1; then
        as_root apt-get -o DPkg::Lock::Timeout=300 update -qq >>"$log" 2>&1 || true
        if ! as_root "${install[@]}" >>"$log" 2>&1; then
            tail -n 15 "$log" >&2
            fail "apt-get install failed" "full log: $log" \
                 "see the lines above; on Ubuntu the tools are in 'universe'"
        fi
    fi
    rm -f "$log"
}

missing_packages() {
    local entry
    for entry in "${tools[@]}"; do
        command -v "${entry%%:*}" >/dev/null || echo "${entry##*:}"
    done | sort -u
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if command -v "$candidate" >/dev/null && new_enough "$candidate"; then
            command -v "$candidate"; return
        fi
    done
    return 1
}

make_venv() {
    local python log
    python=$(find_python) || fail "no Python 3.11 or newer (the pinned snakemake needs it)" \
        "PYTHON=${PYTHON:-unset}, PATH" "install one and name it: PYTHON=python3.12 $0"
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        apt_install python3-venv
        "$python" -c 'import venv, ensurepip' 2>/dev/null || fail "no venv module" "$python" \
            "install the -venv package of that interpreter, or PYTHON=/usr/bin/python3 $0"
    fi
    echo "setup-demo: making $venv from $requirements"
    rm -rf "$venv"
    "$python" -m venv "$venv" || fail "python -m venv failed" "$PWD/$venv" "see the lines above"
    log=$(mktemp)
    if ! "$venv/bin/python" -m pip install -q --disable-pip-version-check \
            -r "$requirements" >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        fail "pip install failed" "$requirements; full log: $log" \
             "check the package index pip is set to, then run $0 again"
    fi
    rm -f "$log"
    "$venv/bin/python" -c 'import pysam, scipy, snakemake' \
        || fail "the new venv does not import" "$PWD/$venv" "rm -rf $venv and run $0 again"
    cp "$requirements" "$stamp"   # last, so that a broken install is never taken for a good one
}

# A venv that was copied or whose interpreter went away fails the second test and is made anew.
venv_is_good() { cmp -s "$requirements" "$stamp" && "$venv/bin/python" -c '' 2>/dev/null; }

mapfile -t packages < <(missing_packages)
if [ "${#packages[@]}" -eq 0 ] && venv_is_good; then exit 0; fi

# Two set-ups at once (two terminals, two CI steps) would tear each other's venv down, so from here
# on one waits for the other. The lock is on a file that is there anyway: no lock file is left.
exec 9<"$requirements"
flock 9
mapfile -t packages < <(missing_packages)
if [ "${#packages[@]}" -gt 0 ]; then
    apt_install "${packages[@]}"
    mapfile -t packages < <(missing_packages)
    [ "${#packages[@]}" -eq 0 ] || fail "still not on the PATH after apt-get" "${packages[*]}" \
        "look where these packages put their commands and add it to PATH"
fi
venv_is_good || make_venv
