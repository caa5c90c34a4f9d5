#!/usr/bin/env bash
# Runs cases that were made of public reports on other storage and read formats, and that are kept
# beside this repository: scripts that exit 0 when Forebay behaves right, 77 or 2 when they can't be
# tried here. Those that want what Forebay does not promise are in tests/reports.argued, with why.
# As root; the cases for ordinary users run as USER.
#
#   scripts/reports.sh DIR [PATTERN]   DIR has security/, volume/ and reads/; PATTERN: NAME or part of it
#   ORDINARY=USER                      who they run as (default forebay-test)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/landing.sh

checks=${1:?a directory of cases} pattern=${2:-}
work=$(mktemp -d /var/tmp/forebay-reports.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
# Ordinary users reach these wherever the repository lies.
cp "$FOREBAY" "${FOREBAY%/*}/examples/s3_server" "$work/bin"
export FOREBAY=$work/bin/forebay S3_SERVER=$work/bin/s3_server GUARD_TMP=$work
chmod 1777 "$work"
ordinary=${ORDINARY:-forebay-test}
right=0 argued=0 untried=0 wrong=()

try() {  # NAME COMMAND...
    local name=$1 status=0
    shift
    [[ $name = *"$pattern"* ]] || return 0
    timeout 1800 "$@" > "$work/said" 2>&1 || status=$?
    case $status in
        0) right=$((right + 1)) ;;
        2 | 77)
            untried=$((untried + 1))
            echo "not tried  $name: $(tail -n 1 "$work/said")"
            ;;
        *)
            if grep -q "^$name " tests/reports.argued; then
                argued=$((argued + 1))
                echo "argued     $(grep "^$name " tests/reports.argued)"
            else
                wrong+=("$name")
                echo "WRONG      $name ($status)"
                tail -n 25 "$work/said" | sed 's/^/    | /'
            fi
            ;;
    esac
}

for case in "$checks"/security/[0-9]*.sh; do
    try "security/$(basename "$case" .sh)" bash "$case"
done
for case in "$checks"/volume/*.sh; do
    [ "${case##*/}" = lib.sh ] && continue
    try "volume/$(basename "$case" .sh)/root" bash "$case" "$work"
    try "volume/$(basename "$case" .sh)/user" env AS=user "ORDINARY=$ordinary" bash "$case" "$work"
done
for case in "$checks"/reads/[0-9]*.sh; do
    try "reads/$(basename "$case" .sh)" bash "$case"
done
echo "reports: $right right, $argued argued, $untried not tried, ${#wrong[@]} wrong: ${wrong[*]:-none}"
[ ${#wrong[@]} = 0 ]
