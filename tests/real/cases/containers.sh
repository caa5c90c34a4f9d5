#!/bin/bash
# If this failed, pipelines whose tools come in containers could not write to the covered
# directory.
# ring: short
# as: user
# as-long: root
# needs: ch-run bwrap /bin/busybox
set -eu
. "$REAL/lib.sh"

export USER=${USER:-root}
image=$WORK/image
mkdir -p "$image"/{bin,dev,etc,home,mnt/data,proc,root,sys,tmp,usr/bin,usr/share,var/tmp}
cp /bin/busybox "$image/bin/"
for applet in sh cat ls mkdir mv ln seq sort rm touch; do ln -s busybox "$image/bin/$applet"; done
touch "$image"/etc/{passwd,group,hosts,resolv.conf}

inside='set -e
    cd /mnt/data; cat input; mkdir -p out
    seq 1000 > out/seq; mv out/seq out/moved; ln out/moved out/hard; ln -s moved out/soft
    touch -d "2020-01-02 03:04:05" out/old; sort -n out/moved > out/sorted; rm out/hard
    exit 7'
echo given > input
container() {  # NAME COMMAND...
    local name=$1 status=0
    shift
    say "$name"
    covered "$@" > "$WORK/out" || status=$?
    [ $status = 7 ] || fail "$name: status $status"
    [ "$(cat "$WORK/out")" = given ] || fail "$name: it did not see the input"
    [ "$(wc -l < out/soft)" = 1000 ] && [ ! -e out/hard ] || fail "$name: files"
    [ "$(stat -c '%U %h' out/moved)" = "$(id -un) 1" ] || fail "$name: $(stat out/moved)"
    [ "$(covered stat -c %Y out/old)" = "$(stat -c %Y out/old)" ] || fail "$name: times"
    rm -r out
}
container ch-run ch-run -b "$PWD:/mnt/data" "$image" -- /bin/sh -c "$inside"
container bwrap bwrap --ro-bind "$image" / --bind "$PWD" /mnt/data --unshare-pid --proc /proc \
    --dev /dev /bin/sh -c "$inside"

say "the image itself in the covered directory"
cp -a "$image" image
[ "$(covered ch-run "$PWD/image" -- /bin/sh -c 'echo from it')" = "from it" ] ||
    fail "image inside"
