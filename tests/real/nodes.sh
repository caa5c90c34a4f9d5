# Nodes of a cluster on this machine, each with a network, mounts and a home of its own; sourced by
# cases, after which all happens in a network of the case's own, which is gone with it.
# nodes N               starts N of them behind a bridge; their addresses are 10.77.0.1 and so on
# node K COMMAND...     on node K, in its home
# bucket                an S3 server at $HEAD, and in the environment how it is reached
# book                  a private database at $HEAD, whose URL is $url; nodes have its passfile
# url_on K              the URL for node K
# volume_everywhere NAME OPTION...   mounts s3://lab/NAME at $WORK/volume, on the head and on all nodes
# volume_nowhere        unmounts it from all that are there
# daemon_logs           prints what the daemons of all nodes have to say
# end_nodes             ends nodes, bucket and book
# No case logic here.

HEAD=10.77.0.254

# A case is run again where it may make networks.
if [ "${INSIDE:-}" != yes ]; then
    INSIDE=yes exec unshare --net bash "$0"
fi

declare -A keeper=()

nodes() {
    local k
    ip link set lo up
    ip link add bridge0 type bridge
    ip addr add $HEAD/24 dev bridge0
    ip link set bridge0 up
    for k in $(seq "$1"); do
        mkdir -p "$WORK/home$k"
        unshare --net --mount --propagation private sleep infinity &
        keeper[$k]=$!
        wait_for 5 other_network "$!" || fail "node $k has no network of its own"
        ip link add "port$k" type veth peer name eth0 netns "$!"
        ip link set "port$k" master bridge0 up
        node "$k" ip addr add "10.77.0.$k/24" dev eth0
        node "$k" ip link set eth0 up
        node "$k" ip link set lo up
    done
}

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
    for k in "${!keeper[@]}"; do
        install -m 600 "$WORK/data/book/passfile" "$WORK/home$k/passfile"
    done
}

url_on() { echo "${url%%\?*}?passfile=$WORK/home$1/passfile"; }

volume_everywhere() {
    local k source=s3://lab/$1
    shift
    mkdir "$WORK/volume"
    for k in "${!keeper[@]}"; do
        node "$k" "$FOREBAY" mount --book "$(url_on "$k")" --listen "10.77.0.$k" "$@" "$source" \
            "$WORK/volume" || fail "mount on node $k"
    done
    "$FOREBAY" mount --book "$url" --listen $HEAD "$@" "$source" "$WORK/volume" || fail "mount on the head"
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
    exec 7>&-
    wait "$s3"
    [ ${#keeper[@]} = 0 ] || kill "${keeper[@]}"
}
