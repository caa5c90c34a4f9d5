#!/usr/bin/env bash
# What a million packed files cost: memory of the daemon, and the time until the command starts.
#
#   bench/million.sh              1,000 directories of 1,000 files of 300 bytes: 5 to 10 minutes
#   bench/million.sh --files N    so many files (still 1,000 a directory)
#   bench/million.sh --cold       drops the kernel's caches before the second run (root)
#   bench/million.sh --in DIR     where it works: 2 GB for a million files (default /tmp)
#   FOREBAY=path                  the binary under test (default target/release/forebay)
#
# Two runs on one directory, whose files stay packed in between. Resident memory is VmRSS and VmHWM
# of the daemon, from /proc. "mounted" is the first thing the command sees: its time is from the
# start of `forebay run`. A walk lists all directories and asks for the size of each file.
set -euo pipefail

# Stages that run covered: $PPID is the front, and the daemon is its other child.
daemon() {
    local child
    for child in $(<"/proc/$PPID/task/$PPID/children"); do
        [ "$child" = $$ ] || echo "$child"
    done
}
memory() { # WHAT: a row of the table
    awk -v what="$1" -v since="$began" -v now="$EPOCHREALTIME" '
        /^VmHWM/ { peak = $2 } /^VmRSS/ { rss = $2 }
        END { printf "| %-28s | %9.2f | %8.0f | %8.0f |\n", what, now - since, rss / 1024,
              peak / 1024 }' "/proc/$(daemon)/status" >&3
}
walk() {
    local wrong
    wrong=$(find . -name .forebay -prune -o -type f -printf '%s\n' |
        awk -v files="$files" '{ n++; wrong += $1 != 300 } END { print wrong + 0, n - files }')
    [ "$wrong" = "0 0" ] || { echo "wrong sizes, and names too many: $wrong" >&2; exit 1; }
}
case ${1:-} in
    stage-make)
        began=$2 files=$3
        memory "mounted, empty"
        printf -v text '%300s' ''
        began=$EPOCHREALTIME
        for ((n = 0; n < files; n++)); do
            ((n % 1000)) || { dir=sample-$((n / 1000)); mkdir "$dir"; }
            printf '%s' "$text" >"$dir/part-$n.txt"
        done
        memory "all made"
        began=$EPOCHREALTIME
        walk
        memory "walked"
        ;;
    stage-again)
        began=$2 files=$3
        memory "mounted again"
        began=$EPOCHREALTIME
        walk
        memory "walked"
        began=$EPOCHREALTIME
        [ "$(find . -name '*7.txt' -print0 | xargs -0 cat | wc -c)" -eq $((files / 10 * 300)) ] || exit 1
        memory "every tenth file read"
        ;;
esac
case ${1:-} in stage-*)
    echo "$EPOCHREALTIME $(daemon)" >../ended.new
    mv ../ended.new ../ended
    exit
    ;;
esac

files=1000000 cold='' in=/tmp
while [ $# -gt 0 ]; do
    case $1 in
        --files) files=$2; shift 2 ;;
        --cold) cold=yes; shift ;;
        --in) in=$2; shift 2 ;;
        -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) echo "bench/million.sh: unknown argument $1; see --help" >&2; exit 2 ;;
    esac
done
me=$(realpath "$0")
forebay=$(realpath "${FOREBAY:-${CARGO_TARGET_DIR:-target}/release/forebay}")
all=$(mktemp -d "$in/forebay-million.XXXXXX")
trap 'rm -rf "$all"' EXIT
mkdir "$all/project" "$all/tier" "$all/state"
printf '[tier.near]\npath = "%s/tier"\nreach = "node"\n' "$all" >"$all/site.toml"
cat >"$all/rules.toml" <<'END'
[[rule]]
match = "sample-*/**"
home = "near"
layout = "packed"
after = "keep"
END
cd "$all/project"
end() { # The end of a run: the daemon's peak until it is gone, for nobody is left inside to look.
    local since pid peak='' now
    until [ -s ../ended ]; do sleep 0.1; done
    read -r since pid <../ended
    while now=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$now" ]; do
        peak=$now
        sleep 0.02
    done
    awk -v since="$since" -v now="$EPOCHREALTIME" -v peak="$peak" 'BEGIN {
        printf "| %-28s | %9.2f | %8s | %8.0f |\n", "ended", now - since, "", peak / 1024 }'
}
run() { # STAGE
    rm -f ../ended
    end &
    XDG_STATE_HOME=$all/state "$forebay" run -q --site ../site.toml --rules ../rules.toml -- \
        bash "$me" "$1" "$EPOCHREALTIME" "$files" 3>&1 >&2
    wait
}
printf '| %-28s | %9s | %8s | %8s |\n' "$files packed files" seconds "RSS, MiB" "peak, MiB"
echo "|---|---|---|---|"
run stage-make
log=$(find "$all/tier" -name log -path '*.packed/*' -printf '%s')
[ -z "$cold" ] || { sync; echo 3 >/proc/sys/vm/drop_caches; }
run stage-again
echo
echo "the log: $((log >> 20)) MiB; $(nproc) cores, Linux $(uname -r), $(stat -f -c %T "$all")"
