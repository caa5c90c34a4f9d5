#!/usr/bin/env bash
# The tests that Linux file systems are judged by (xfstests), on a directory shown by `forebay mount`.
# As root. Its source is fetched, not kept here; tests/xfstests.excluded has what is left out, and why.
# What `check` said, with all that was not run, stays in target/xfstests-TRANSPORT.log.
# Users of its own (fsgqa and others, as its README asks) and apt packages stay on the machine.
#
#   scripts/xfstests.sh [WORDS]   words for its `check`; without: -g quick
#   XFSTESTS=URL                  where its repository is, if not at kernel.org
#   TRANSPORT=device|uring        how operations come to forebay; uring turns the kernel's switch on meanwhile
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD version=v2026.01.27 source=${XFSTESTS:-https://git.kernel.org/pub/scm/fs/xfs/xfstests-dev.git}
forebay=$(realpath "${FOREBAY:-target/landing/forebay}")
tree=$root/target/tools/xfstests-$version
transport=${TRANSPORT:-device} switch=/sys/module/fuse/parameters/enable_uring

fail() {  # cause, where, next step
    printf 'xfstests: %s\n  where: %s\n  next:  %s\n' "$1" "$2" "$3" >&2
    exit 1
}
[ "$(id -u)" = 0 ] || fail "these tests need root" "user $(id -un)" "run them with sudo"

case $transport in
    device) ;;
    uring)
        was=$(cat "$switch" 2> /dev/null) ||
            fail "this kernel's FUSE has no io_uring" "$switch" "Linux 6.14 or later has it"
        ;;
    *) fail "there is no transport $transport" "TRANSPORT" "device or uring" ;;
esac

packages=(acl attr autoconf automake bc e2fsprogs file fio gawk libacl1-dev libaio-dev libattr1-dev
    libcap-dev libgdbm-dev libssl-dev libtool-bin liburing-dev perl pkg-config psmisc quota uuid-dev
    uuid-runtime xfslibs-dev xfsprogs)
if ! dpkg -s "${packages[@]}" > /dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq -o DPkg::Lock::Timeout=600 update
    apt-get -qq -y -o DPkg::Lock::Timeout=600 install --no-install-recommends "${packages[@]}" > /dev/null
fi
for user in fsgqa 123456-fsgqa fsgqa2; do
    id "$user" > /dev/null 2>&1 || useradd --system --user-group --home-dir / "$user"
done
if [ ! -e "$tree/built" ]; then
    rm -rf "$tree"
    git clone --quiet --depth 1 --branch "$version" "$source" "$tree" ||
        fail "xfstests can't be fetched" "$source" "XFSTESTS=URL of a repository that has $version"
    # A directory is mounted, which umount(8) takes for where something is mounted; and the type that
    # df(1) shows is fuse.forebay.
    sed -i 's/_unmount \$SCRATCH_DEV$/_unmount $SCRATCH_MNT/; s/_unmount \$TEST_DEV$/_unmount $TEST_DIR/
        s|-e .s/fuse.ceph-fuse/ceph-fuse/.|& -e "s/fuse.forebay/fuse/"|' "$tree/common/rc"
    make -C "$tree" -j "$(nproc)" > "$tree/build.log" 2>&1 ||
        fail "xfstests can't be built" "$tree/build.log" "look at its end"
    touch "$tree/built"
fi

work=$(mktemp -d /var/tmp/forebay-xfstests.XXXXXX)
chmod 755 "$work"
mkdir "$work"/{disk,at.test,at.scratch,sbin,state}
trap 'umount "$work"/at.* 2> /dev/null || true; umount --lazy "$work/disk" 2> /dev/null || true; rm -rf "$work"
    [ -z "${was:-}" ] || echo "$was" > "$switch"' EXIT
# Some tests fill the file system: this one, and not the one of the machine.
truncate -s 12G "$work/image"
mkfs.ext4 -q "$work/image"
mount -o loop "$work/image" "$work/disk"
mkdir "$work"/disk/{test,scratch}
[ "$transport" = device ] || echo Y > "$switch"
cat > "$work/sbin/mount.fuse.forebay" <<HELPER
#!/bin/bash
# mount -t fuse.forebay DIRECTORY POINT -o OPTIONS
suid=--suid from=\$1 at=\$2
shift 2
while [ \$# -gt 0 ]; do
    if [ "\$1" = -o ]; then
        shift
        for option in \${1//,/ }; do
            case \$option in
                nosuid) suid= ;;
                rw | allow_other) ;;
                *) echo "mount.fuse.forebay: no option \$option" >&2; exit 32 ;;
            esac
        done
    fi
    shift
done
export XDG_STATE_HOME=$work/state
"$forebay" mount --transport $transport --allow-other --nonempty --dev \$suid "\$from" "\$at" > /dev/null 2> $work/said || {
    cat $work/said >&2
    exit 32
}
HELPER
chmod +x "$work/sbin/mount.fuse.forebay"
cat > "$tree/local.config" <<CONFIG
export FSTYP=fuse FUSE_SUBTYP=.forebay MOUNT_OPTIONS=-oallow_other TEST_FS_MOUNT_OPTS=-oallow_other
export TEST_DEV=$work/disk/test TEST_DIR=$work/at.test SCRATCH_DEV=$work/disk/scratch SCRATCH_MNT=$work/at.scratch
CONFIG
sed 's/[[:space:]].*//; /^#/d; /^$/d' tests/xfstests.excluded > "$work/excluded"
[ $# -gt 0 ] || set -- -g quick
export FOREBAY_WORK=$work TREE=$tree
# mount(8) looks for its helper in /usr/sbin alone: there it is for these tests, and for nobody else.
unshare -m bash -euc '
    mount -t overlay forebay -o "lowerdir=$FOREBAY_WORK/sbin:/usr/sbin" /usr/sbin
    cd "$TREE"
    ./check -E "$FOREBAY_WORK/excluded" "$@"' check "$@" > "$work/told" 2>&1 && status=0 || status=$?
cp "$work/told" "target/xfstests-$transport.log"
grep -vE '\[(not run|expunged)\]|^\./check: line' "$work/told" | tail -n 60
exit "$status"
