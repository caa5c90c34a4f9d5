#!/bin/bash
# If this failed, tasks that come in containers of podman, root's or an ordinary user's, would not see the volume of a cluster on their
# node, or others would not see what they wrote.
# ring: long
# as: root
# alone: yes
# bare: no
# needs: podman crun slurmctld slurmd sbatch munged /usr/lib/postgresql ip nsenter /bin/busybox
# limit: 180
set -u
. "$REAL/lib.sh"
. "$REAL/nodes.sh"
. "$REAL/cluster.sh"

image=$WORK/image
mkdir -p "$image"/{bin,dev,etc,proc,run,sys,tmp}
cp /bin/busybox "$image/bin/"
for applet in sh cat seq sort mv ln mkdir; do ln -s busybox "$image/bin/$applet"; done
# Where both versions of cgroups are mounted, crun wants one.
umount /sys/fs/cgroup/unified 2> /dev/null

say "a volume on two nodes and the head"
nodes 2
bucket
book
MOUNT_OPTIONS=--allow-other
volume_everywhere boxes
cluster 2
mkdir "$WORK/volume/project"
seq 50000 > "$WORK/volume/project/input"

say "a task of node 1 in a container, then one of node 2 that reads what it wrote"
# The volume is at the same path inside; no network, and the limits that a job may give.
podman_at() { echo "podman --root $1 --runroot $1.run --tmpdir $1.tmp --runtime crun --cgroup-manager cgroupfs"; }
box="$(podman_at "$WORK/box") run --rm --network none --cgroups=disabled --ulimit nofile=1024:1024 --ulimit nproc=1024:1024
    -v $WORK/volume:$WORK/volume -w $WORK/volume/project --rootfs $image /bin/sh -ec"
cat > first.sh <<JOB
#!/bin/bash
echo \$SLURMD_NODENAME
$(echo $box) 'mkdir made; sort -n input > made/part; mv made/part made/sorted; ln made/sorted made/hard; ln -s sorted made/soft'
JOB
cat > second.sh <<JOB
#!/bin/bash
echo \$SLURMD_NODENAME
$(echo $box) 'cat made/soft made/hard > both'
JOB
check() { cat said log.* "$etc"/slurmd.*.log; daemon_logs; stop; fail "$1"; } # cause
"$FOREBAY" run --recorder auto --jobs "$WORK/volume/jobs" --at "$WORK/volume" -o "$WORK/all.run" -- \
    sh -c "sbatch -Q -W -w n1 -o $PWD/log.1 first.sh && sbatch -Q -W -w n2 -o $PWD/log.2 second.sh" > said 2>&1 ||
    check "the jobs"
cat said
[ "$(head -qn 1 log.1 log.2 | paste -sd' ')" = "n1 n2" ] || check "other nodes"
cat "$WORK/volume/project/input" "$WORK/volume/project/input" | cmp - "$WORK/volume/project/both" ||
    check "other bytes"
grep -q "^forebay: 3 run files of [23] nodes joined" said || check "the jobs are not in the run"

say "an ordinary user's container on node 1, without root"
mkdir -m 700 "$WORK/home1/user" "$WORK/volume/user"
chmod 755 "$WORK/home1"
chown $TEST_USER: "$WORK/home1/user" "$WORK/volume/user"
cp "$WORK/volume/project/input" "$WORK/volume/user"
cat > user.sh <<JOB
# What a machine with one version of cgroups has, in a mount namespace of its own.
mount --make-rshared / && mount -t cgroup2 none /sys/fs/cgroup || exit
cd $WORK/volume/user
$(declare -f as_user)
TEST_USER=$TEST_USER HOME=$WORK/home1/user XDG_RUNTIME_DIR=$WORK/home1/user as_user \
    $(podman_at "$WORK/home1/user/box") run --rm --network none --cgroups=disabled \
    -v $WORK/volume:$WORK/volume -w $WORK/volume/user --rootfs $image /bin/sh -ec 'sort -n input > part; mv part sorted'
status=\$?
# What podman leaves to wait for the next container.
kill "\$(cat $WORK/home1/user/box.tmp/pause.pid)"
exit \$status
JOB
chmod -R a+rX "$image"
node 1 unshare --mount bash "$PWD/user.sh" > said 2>&1 || check "an ordinary user's container"
cmp "$WORK/volume/user/sorted" "$WORK/volume/user/input" || check "other bytes of an ordinary user's"
[ "$(stat -c %U "$WORK/volume/user/sorted")" = $TEST_USER ] || check "another owner"

stop
volume_nowhere
end_nodes
