#!/bin/bash
# Runs one case as the first process of its own pid and mount namespaces (made by `run`), as root
# or as the ordinary user, and then asks of every case: did it leave a process or a mount behind?
# It is not a sandbox: files are the machine's own. Usage: contain.sh root|user CASE
set -u
who=$1 case=$2
contained=no
[ $$ = 1 ] && contained=yes

. "$REAL/lib.sh"

if [ $contained = yes ]; then
    mount --make-rshared /            # as on a machine with systemd: leaks would show outside
    if [ "$who" = user ]; then
        for path in "$ROOT" "$(dirname "$FOREBAY")" "$(real_python "$ROOT/.venv/bin/python3")"; do
            [ -z "$path" ] || reveal "$path"
        done
        open_fuse_device
        chown -R forebay-test: "$WORK"
        cd "$WORK/d" || exit 1        # through what `reveal` may have mounted
    fi
    mounts=$(sort /proc/self/mountinfo)
fi

if [ "$who" = user ]; then
    as_user setsid bash "$case"
else
    USER=root setsid bash "$case"
fi
status=$?

if [ $contained = yes ]; then
    # A daemon may need a moment to close the run file, on a disk that is busy with other cases'
    # files a long one; who stays for good is there after that too.
    for _ in $(seq 300); do
        left=(/proc/[0-9]*)
        [ ${#left[@]} -le 1 ] && break
        sleep 0.1
    done
    if [ ${#left[@]} -gt 1 ]; then
        names=
        for p in "${left[@]}"; do      # only `stat`: ps would hang on a process stuck in exec
            read -r line < "$p/stat" || continue
            echo "${line:0:60} $(cat "$p/wchan")"
            line=${line#*(}
            [ "${p##*/}" = 1 ] || names+=" ${line%%)*}"
        done
        echo "left ${#left[@]} processes behind, the container's own and$names"
        [ $status = 0 ] && status=90
    fi
    # One that is gone counts below the case's own directory only: elsewhere somebody else has removed
    # its place.
    changed=$(comm -13 <(echo "$mounts") <(sort /proc/self/mountinfo)
        comm -23 <(echo "$mounts") <(sort /proc/self/mountinfo) | grep -F " $WORK/")
    if [ -n "$changed" ]; then
        echo "$changed"
        echo "left a mount behind (or took one away)"
        [ $status = 0 ] && status=91
    fi
fi
exit $status
