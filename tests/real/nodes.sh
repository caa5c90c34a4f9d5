# Nodes of a cluster on this machine, each with a network, mounts and a home of its own; sourced by
# cases, after which all happens in a network of the case's own, which is gone with it.
# nodes N               starts N of them behind a bridge; their addresses are 10.77.0.1 and so on
# node K COMMAND...     on node K, in its home
# kill_on_node K        kills all that runs on node K; what keeps the node stays, so that it can be used again
# lose_node K           kills node K and all that runs on it
# replace_node K        another node in the place of one that is lost, with an empty home
# bucket                an S3 server at $HEAD, and in the environment how it is reached
# book                  a private database at $HEAD, whose URL is $url; nodes have its passfile
# url_on K              the URL for node K
# volume_everywhere NAME   mounts s3://lab/NAME, or a directory if NAME is a path, at $WORK/volume, on the head
#                       and on all nodes; volume_on K does it on node K
# volume_nowhere        unmounts it from all that are there
# daemon_logs           prints what the daemons of all nodes have to say
# end_nodes             ends nodes, bucket and book
# No case logic here.

HEAD=10.77.0.254

# A case is run again where it may make networks.
if [ "${INSIDE:-}" != yes ]; then
    INSIDE=yes exec unshare --net bash "$0" "$@"
fi

declare -A keeper=()
# More words for `forebay mount`.
MOUNT_OPTIONS=

nodes() {
    local k
    ip link set lo up
    ip link add bridge0 type bridge
    ip addr add $HEAD/24 dev bridge0
    ip link set bridge0 up
    for k in $(seq "$1"); do start_node "$k"; done
}

start_node() {
    mkdir -p "$WORK/home$1"
    unshare --net --mount --propagation private sleep infinity &
    keeper[$1]=$!
    wait_for 5 other_network "$!" || fail "node $1 has no network of its own"
    ip link add "port$1" type veth peer name eth0 netns "$!"
    ip link set "port$1" master bridge0 up
    node "$1" ip addr add "10.77.0.$1/24" dev eth0
    node "$1" ip link set eth0 up
    node "$1" ip link set lo up
}

# K [PID...]: all processes in the network of node K but these.
kill_in_network_of() {
    local process ours
    ours=$(readlink "/proc/${keeper[$1]}/ns/net")
    shift
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/ns/net")" = "$ours" ] || continue
        [[ " $* " = *" ${process#/proc/} "* ]] || kill -9 "${process#/proc/}"
    done
}

kill_on_node() { kill_in_network_of "$1" "${keeper[$1]}"; }

lose_node() {
    kill_in_network_of "$1"
    unset "keeper[$1]"
}

replace_node() {
    # The network of the lost one goes when the last of its processes does.
    wait_for 20 no_link "port$1" || fail "the network of node $1 is still there"
    rm -rf "${WORK:?}/home$1"
    start_node "$1"
    # Where the head's mount is, it has none yet.
    ! node "$1" mountpoint -q "$WORK/volume" || node "$1" umount -l "$WORK/volume"
    [ ! -e "$WORK/data/book/passfile" ] || pass_on "$1"
}

no_link() { [ ! -e "/sys/class/net/$1" ] && ! ip link show "$1"; }

other_network() {
    [ "$(readlink /proc/self/ns/net)" != "$(readlink "/proc/$1/ns/net")" ] &&
        [ "$(readlink /proc/self/ns/mnt)" != "$(readlink "/proc/$1/ns/mnt")" ]
}

node() {
    local home=$WORK/home$1 pid=${keeper[$1]}
    shift
    nsenter --net="/proc/$pid/ns/net" --mount="/proc/$pid/ns/mnt" \
        env -C "$home" HOME="$home" XDG_STATE_HOME= "$@"
}

bucket() {
    mkdir -p "$WORK/objects/lab"
    mkfifo "$WORK/s3.in"
    "$S3_SERVER" "$WORK/objects" --listen $HEAD < "$WORK/s3.in" > "$WORK/s3.out" &
    s3=$!
    exec 7> "$WORK/s3.in"
    wait_for 5 test -s "$WORK/s3.out" || fail "no S3 server"
    eval "$(python3 -c '
import json, shlex, sys
for name, value in json.loads(sys.stdin.readline()).items():
    print(f"export {name}={shlex.quote(value)}")' < "$WORK/s3.out")"
}

book() {
    local k
    mkdir -p "$WORK/data"
    chmod 755 "$WORK"
    url=$("$FOREBAY" book start --listen $HEAD:5432 "$WORK/data/book") || fail "book start"
    for k in "${!keeper[@]}"; do pass_on "$k"; done
}

# K: node K may ask the book.
pass_on() { install -m 600 "$WORK/data/book/passfile" "$WORK/home$1/passfile"; }

url_on() { echo "${url%%\?*}?passfile=$WORK/home$1/passfile"; }

volume_everywhere() {
    local k
    mkdir "$WORK/volume"
    case $1 in /*) at=$1 ;; *) at=s3://lab/$1 ;; esac
    for k in "${!keeper[@]}"; do volume_on "$k"; done
    # shellcheck disable=SC2086
    "$FOREBAY" mount --book "$url" --listen $HEAD $MOUNT_OPTIONS "$at" "$WORK/volume" || fail "mount on the head"
}

volume_on() {
    # shellcheck disable=SC2086
    node "$1" "$FOREBAY" mount --book "$(url_on "$1")" --listen "10.77.0.$1" $MOUNT_OPTIONS "$at" \
        "$WORK/volume" || fail "mount on node $1"
}

volume_nowhere() {
    local k
    "$FOREBAY" unmount "$WORK/volume" || fail "unmount on the head"
    for k in "${!keeper[@]}"; do
        node "$k" "$FOREBAY" unmount "$WORK/volume" || fail "unmount on node $k"
    done
}

daemon_logs() { find "$WORK"/home* -name daemon.log -exec tail -n 20 {} +; }

end_nodes() {
    "$FOREBAY" book stop "$WORK/data/book" || fail "book stop"
    if [ -n "${s3:-}" ]; then
        exec 7>&-
        wait "$s3"
    fi
    [ ${#keeper[@]} = 0 ] || kill "${keeper[@]}"
}
