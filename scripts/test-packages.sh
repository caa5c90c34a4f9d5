#!/usr/bin/env bash
# Installs what scripts/dist.sh made, as users would, in places that are thrown away, and runs the
# main commands through each: a venv (pip), a system whose changes go nowhere (dpkg, as root), a
# root directory with nothing in it but the program, an image, and a system with an old C library.
# What it needs comes from apt (buildah debootstrap qemu-user-static).
#
#   scripts/test-packages.sh      after scripts/dist.sh
#   OLD=forebay                   a program of another version: its mount outlives an upgrade
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dist=$PWD/target/packages arch=$(uname -m)
trace=$PWD/tests/packages/trace.txt
work=$(mktemp -d /var/tmp/forebay-packages.XXXXXX)
# What can't be unmounted stays: nothing below it is ours to remove.
clean_up() {
    umount -R "$work/root" "$work/bionic" 2> /dev/null || true
    umount "$work/over" 2> /dev/null || true
    if grep -q " $work/" /proc/mounts; then
        echo "packages: something is still mounted below $work; it stays" >&2
    else
        rm -rf --one-file-system "$work"
    fi
}
trap clean_up EXIT
# The devices that programs need, and none of this system's own directory.
devices() {  # ROOT
    local spec
    mount -t tmpfs -o mode=755 tmpfs "$1/dev"
    for spec in "null 1 3" "zero 1 5" "full 1 7" "random 1 8" "urandom 1 9" "tty 5 0" "fuse 10 229"; do
        # shellcheck disable=SC2086
        mknod -m 666 "$1/dev/${spec%% *}" c ${spec#* }
    done
    mkdir -m 1777 "$1/dev/shm"
    ln -s /proc/self/fd "$1/dev/fd"
}
say() { printf '== %s\n' "$*"; }
fail() { printf 'packages: %s\n' "$*" >&2; exit 1; }

# What a person does first: look, import, report; and run, where the kernel lets this user.
try() {  # COMMAND...: how `forebay` is called; its sites lie beside it
    local folder=$work/try site=aws
    rm -rf "$folder" && mkdir "$folder" && cp "$trace" "$folder"
    (
        cd "$folder"
        "$@" --version
        "$@" import nextflow trace.txt -o old.run
        "$@" report old.run -o old.html && [ -s old.html ]
        "$@" simulate old.run --site "$site" --project efs
        if [ -e /dev/fuse ]; then
            "$@" run -q -o a.run -- sh -c 'echo hi > a'
            [ "$(cat a)" = hi ] && "$@" report a.run -o a.html
        fi
    ) || fail "$* does not work"
}

size=$(stat -c %s "$dist/bin/forebay-$arch")
say "the static binary: $((size / 1000000)) MB"
[ "$size" -le 25000000 ] || fail "larger than 25 MB"
! ldd "$dist/bin/forebay-$arch" 2> /dev/null || fail "it needs libraries"
(cd "$dist" && sha256sum --quiet -c SHA256SUMS)

say "pip, into a venv"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check --no-index "$dist"/forebay-*"$arch"*.whl
try "$work/venv/bin/forebay"
"$work/venv/bin/pip" install -q --disable-pip-version-check --no-index --force-reinstall "$dist"/forebay-*"$arch"*.whl
"$work/venv/bin/pip" uninstall -q -y forebay
[ ! -e "$work/venv/bin/forebay" ] || fail "pip left it behind"

say "tar file"
mkdir "$work/tar" && tar -C "$work/tar" --strip-components=1 -xf "$dist"/forebay-*-linux-"$arch".tar.gz
try "$work/tar/bin/forebay"
man -l "$work/tar/share/man/man1/forebay-run.1.gz" > "$work/man.txt" 2> /dev/null \
    || gzip -dc "$work/tar/share/man/man1/forebay-run.1.gz" > "$work/man.txt"
grep -q 'forebay' "$work/man.txt" || fail "an empty man page"
bash -c ". '$work/tar/share/bash-completion/completions/forebay' && complete -p forebay" > /dev/null

if [ "$(id -u)" != 0 ] || ! command -v dpkg > /dev/null; then
    say "SKIPPED: dpkg and the empty root need root, and Debian or its like"
    exit 0
fi

say "dpkg, on a copy of this system that nobody keeps"
deb=$(ls "$dist"/forebay_*_"$(dpkg --print-architecture)".deb)
mkdir "$work/over" "$work/root"
mount -t tmpfs tmpfs "$work/over"
mkdir "$work/over/upper" "$work/over/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/over/upper,workdir=$work/over/work" "$work/root"
cp "$deb" "$trace" "$work/root/tmp/"
devices "$work/root"
mount -t proc proc "$work/root/proc"
chroot "$work/root" sh -ec '
    dpkg -i /tmp/forebay_*.deb && dpkg -i /tmp/forebay_*.deb > /dev/null
    cd "$(mktemp -d)" && mkdir -p volume shown
    forebay --version && forebay import nextflow /tmp/trace.txt -o old.run && forebay report old.run
    forebay run -q -- sh -c "echo hi > a" && [ "$(cat a)" = hi ]
    forebay mount volume shown && echo more > shown/b
    dpkg -r forebay 2> said.txt; grep "volumes are mounted" said.txt
    [ ! -e /usr/bin/forebay ] && [ "$(cat shown/b)" = more ]
    dpkg -i /tmp/forebay_*.deb > /dev/null && forebay unmount shown && [ "$(cat volume/b)" = more ]
    dpkg -P forebay > /dev/null'
if [ -n "${OLD:-}" ]; then
    say "an upgrade beside a mount of $("$OLD" --version | head -n 1)"
    cp "$OLD" "$work/root/tmp/old"
    chroot "$work/root" sh -ec '
        cd "$(mktemp -d)" && mkdir -p volume shown /usr/local/bin
        mv /tmp/old /usr/local/bin/forebay
        /usr/local/bin/forebay mount volume shown && echo one > shown/a
        dpkg -i /tmp/forebay_*.deb > /dev/null
        rm /usr/local/bin/forebay && hash -r
        echo two >> shown/a && [ "$(cat shown/a | wc -l)" = 2 ]
        forebay status "$PWD/shown"
        forebay unmount shown && [ "$(cat volume/a | wc -l)" = 2 ]
        dpkg -P forebay > /dev/null'
fi
umount -R "$work/root"
umount "$work/over"

say "a root directory with nothing but the program"
mkdir -p "$work/empty/tmp"
cp "$dist/bin/forebay-$arch" "$work/empty/forebay"
cp "$trace" "$work/empty/tmp"
for words in "--version" "import nextflow /tmp/trace.txt -o /tmp/old.run" "report /tmp/old.run -o /tmp/old.html"; do
    # shellcheck disable=SC2086
    chroot "$work/empty" /forebay $words
done

for program in buildah debootstrap qemu-aarch64-static; do
    command -v "$program" > /dev/null && continue
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        buildah debootstrap qemu-user-static > "$work/apt.log" 2>&1 || fail "no $program: $work/apt.log"
done

say "an image with nothing but the program"
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
image=(buildah --root "$work/images" --runroot "$work/images-run")
"${image[@]}" bud -q --build-arg "ARCH=$arch" -t forebay -f packaging/container/Containerfile "$dist"
container=$("${image[@]}" from forebay)
mkdir "$work/data" && cp "$trace" "$work/data"
for words in "--version" "import nextflow trace.txt -o old.run" "report old.run -o old.html"; do
    # shellcheck disable=SC2086
    "${image[@]}" run -v "$work/data:/data" "$container" -- /usr/bin/forebay $words
done
[ -s "$work/data/old.html" ] || fail "no report from the image"
"${image[@]}" rm "$container" > /dev/null

say "a system with glibc 2.27 (RHEL 8 has 2.28)"
debootstrap --variant=minbase --no-check-gpg bionic "$work/bionic" http://archive.ubuntu.com/ubuntu \
    > "$work/bionic.log" 2>&1 || { tail -n 5 "$work/bionic.log"; fail "debootstrap"; }
# A run makes its mounts private, for which the root has to be a mount.
mount --bind "$work/bionic" "$work/bionic"
cp "$dist/bin/forebay-$arch" "$work/bionic/usr/bin/forebay"
cp "$trace" "$work/bionic/tmp"
devices "$work/bionic"
mount -t proc proc "$work/bionic/proc"
chroot "$work/bionic" sh -ec '
    ldd --version | head -n 1
    cd "$(mktemp -d)" && forebay --version
    forebay import nextflow /tmp/trace.txt -o old.run && forebay report old.run
    forebay run -q -o a.run -- sh -c "echo hi > a" && [ "$(cat a)" = hi ] && forebay report a.run'
umount -R "$work/bionic"

say "the program for ARM64, by QEMU"
mkdir "$work/arm"
for words in "--version" "import nextflow $trace -o $work/arm/old.run" \
    "report $work/arm/old.run -o $work/arm/old.html" "completions bash"; do
    # shellcheck disable=SC2086
    qemu-aarch64-static "$dist/bin/forebay-aarch64" $words > "$work/arm/said"
    head -n 2 "$work/arm/said"
done
[ -s "$work/arm/old.html" ] || fail "no report from ARM64"
echo "packages: all installed, used and removed"
