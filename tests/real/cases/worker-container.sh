#!/bin/bash
# If this failed, a worker's container (a pod, a job of AWS Batch) would run its task beside the volume,
# end before its results are in the bucket, or lose what it wrote when it is evicted.
# ring: short
# as: root
# bare: no
# s3: yes
# needs: podman crun /bin/busybox
# limit: 120
set -u
. "$REAL/lib.sh"

say "an image for workers, of one with busybox"
# This binary has libraries, which the one that is shipped has not.
base=$WORK/base certificates=/etc/ssl/certs/ca-certificates.crt
mkdir -p "$base"/{bin,lib64,root,tmp,var/tmp,etc/ssl/certs} "$WORK/dist/bin"
cp /bin/busybox "$base/bin/"
for applet in sh cat seq sleep mkdir env rm; do ln -s busybox "$base/bin/$applet"; done
cp -L "$(dirname "$FOREBAY")/forebay" "$WORK/dist/bin/forebay-x86_64"
cp "$ROOT/packaging/container/forebay-worker" "$WORK/dist/bin/"
ldd "$WORK/dist/bin/forebay-x86_64" | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$base/$(dirname "$library")" && cp -L "$library" "$base/$library"
done
cp -L $certificates "$base/$certificates"
umount /sys/fs/cgroup/unified 2> /dev/null     # crun wants one version of cgroups

url=s3://ours/worker-${WORK##*/}
ours=(podman --storage-driver vfs --root "$WORK/box" --runroot "$WORK/box.run" --tmpdir "$WORK/box.tmp"
    --runtime crun --cgroup-manager cgroupfs)
printf 'FROM scratch\nCOPY . /\n' > base.container
"${ours[@]}" build -q --isolation chroot -t localhost/base -f base.container "$base" || fail "the base"
"${ours[@]}" build -q --isolation chroot -t localhost/worker --build-arg BASE=localhost/base \
    -f "$ROOT/packaging/container/Containerfile.worker" "$WORK/dist" || fail "the worker's image"
box() {  # NAME COMMAND...
    local name=$1
    shift
    "${ours[@]}" run --name "$name" --network host --cgroups=disabled --device /dev/fuse --cap-add SYS_ADMIN \
        --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 -e HOME=/root -e FOREBAY_VOLUME="$url" -e 'AWS_*' \
        localhost/worker "$@"
}
ends_with() {  # STATUS of what ran last, which said what is in `said`
    local got=$?
    cat said
    [ $got = "$1" ] || fail "the worker ends with $got, not with $1"
}

say "what it wrote is in the bucket when it has ended, with its status"
box one sh -c 'mkdir results && seq 100000 > results/list && exit 7' > said 2>&1
ends_with 7
mkdir at
"$FOREBAY" mount --state "$WORK/elsewhere" "$url" at || fail "mount"
seq 100000 | cmp - at/results/list || fail "the results are not in the bucket"
"$FOREBAY" unmount at || fail "unmount"

say "another worker goes on with them, and is evicted"
box two sh -c 'cat results/list > again; mkdir ready; sleep 600' > said 2>&1 &
worker=$!
ready() { first=$("${ours[@]}" inspect -f '{{.State.Pid}}' two) && [ -d "/proc/$first/root/work/ready" ]; }
wait_for 10 ready || { cat said; fail "the worker does not begin"; }
kill -TERM "$first"
wait $worker
ends_with 143
"$FOREBAY" mount --state "$WORK/elsewhere" "$url" at || fail "mount"
seq 100000 | cmp - at/again || fail "what the evicted worker wrote is lost"
"$FOREBAY" unmount at || fail "unmount"

say "without certificates, or a volume, nothing is run"
printf 'FROM localhost/worker\nRUN ["/bin/rm", "%s"]\n' $certificates > bare.container
"${ours[@]}" build -q --isolation chroot -t localhost/worker -f bare.container "$WORK/dist" || fail "an image"
box three cat > said 2>&1 < /dev/null
ends_with 125
grep -q "install the package ca-certificates" said || fail "it does not say what helps"
url='' box four cat > said 2>&1 < /dev/null
ends_with 125
grep -q "FOREBAY_VOLUME names no volume" said || fail "it does not say what is missing"
