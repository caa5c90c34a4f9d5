#!/bin/bash
# If this failed, an ordinary user could not mount a shared volume, as on most clusters, or would see in
# it what is others'.
# ring: short
# as: root
# bare: no
# needs: fusermount3 /usr/lib/postgresql ip unshare
# limit: 120
set -u
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
nodes 0
bucket
book
open_fuse_device

say "root's mount"
mkdir "$WORK/root"
"$FOREBAY" mount --allow-other --book "$url" --listen "$HEAD:7421" --state "$WORK/root.state" s3://lab/users "$WORK/root" ||
    fail "root's mount"
mkdir -m 777 "$WORK/root/all"
echo secret > "$WORK/root/all/roots"
chmod 600 "$WORK/root/all/roots"

say "an ordinary user's mount"
home=$WORK/users-home
mkdir -p "$home/work"
install -m 600 "$WORK/data/book/passfile" "$home/passfile"
chown -R "$TEST_USER" "$home"
reveal "$home"
reveal "$(dirname "$FOREBAY")"
user() { as_user env -C "$home" HOME="$home" XDG_STATE_HOME= "$@"; }
user "$FOREBAY" mount --book "${url%%\?*}?passfile=$home/passfile" --listen "$HEAD:7422" s3://lab/users \
    "$home/work" || fail "the user's mount"
user cat work/all/roots 2> /dev/null && fail "a file of root's, which is not for others, was read"
user sh -ec '
    mkdir work/all/mine
    cd work/all/mine
    echo result > f
    chmod 640 f
    ln f g
    seq 20000 > long
    flock f true' || fail "the user can't work in it"
[ "$(stat -c '%U %a %h' "$WORK/root/all/mine/f")" = "$TEST_USER 640 2" ] || fail "it is not the user's file"
same "$WORK/root/all/mine/long" <(seq 20000)
exec 5<> "$WORK/root/all/mine/f"
flock 5
user flock -n work/all/mine/f true && fail "root's lock does not keep the user out"
exec 5>&-
user flock work/all/mine/f true || fail "the lock is not free"

user "$FOREBAY" unmount "$home/work" || fail "the user's unmount"
[ -z "$(ls -A "$home/work")" ] || fail "something is left below the mount"
"$FOREBAY" unmount "$WORK/root" || fail "root's unmount"
end_nodes
if mountpoint -q /dev/fuse; then umount /dev/fuse "$WORK/dev"; fi
