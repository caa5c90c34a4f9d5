#!/usr/bin/env bash
# One volume on several nodes, beside JuiceFS (with Redis, with PostgreSQL) and MooseFS: tasks of a
# workflow on 1, 2 and 4 nodes, how soon a head node sees what they did, whether nodes see each
# other's files at once, how fast all read one long file at the same time, what idle nodes cost the
# book, and memory. Prints tables (Markdown); every measurement is a line of target/bench/cluster.jsonl.
#
#   bench/cluster.sh [--repeats 5] [--seconds 4] [--latency 0] [--tries 10] [--only PARTS] [--without SYSTEMS]
#   --only tasks,fresh,reference,idle,memory   some parts alone; --names 100000: files of the last one
#   --reference 1024 --rate 25   MiB of the long file; what the bucket gives each connection, MB/s (0: all it can)
#   --without moosefs            one of: juicefs-redis, juicefs-postgres, moosefs
#   FOREBAY=path                 the binary under test (default target/release/forebay, built first)
#   BUILT=yes                    builds nothing: the examples of forebay-objstore are beside it
#
# As root. Nodes are network namespaces of this machine, behind one bridge; all shares its processors
# and its disk. However it ends, its processes, mounts and networks are gone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case ${1:-} in -h | --help) sed -n '2,17s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
[ "$(id -u)" -eq 0 ] || { echo "bench/cluster.sh: it makes networks and an ext4: run it as root" >&2; exit 2; }

scripts/setup-cluster-peers.sh >&2
target=${CARGO_TARGET_DIR:-target}
if [ -z "${BUILT:-}" ]; then
    cargo build --release --locked -p forebay-objstore --examples >&2
    [ -n "${FOREBAY:-}" ] || cargo build --release --locked -p forebay >&2
fi
forebay=${FOREBAY:-$target/release/forebay}
work=$PWD/target/bench/cluster
trap 'rm -rf "$work"' EXIT
rm -rf "$work"
mkdir -p "$work"
# Pinned, so that a rebuild meanwhile does no harm.
cp "$forebay" "$work/forebay"
server=$(dirname "$forebay")/examples/s3_memory
[ -x "$server" ] || server=$target/release/examples/s3_memory
cp "$server" "$work/"
unshare --mount --pid --net --fork --kill-child --mount-proc --propagation private \
    python3 -B bench/cluster/measure.py "$work" "$@"
