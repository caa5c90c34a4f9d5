#!/bin/bash
# If this failed, packages and archives made under forebay would be wrong, or not what make needs.
# ring: short
# as: root,packed
# as-long: user,ruled,drained,mounted,bucket
# needs: dpkg-deb zip unzip 7z gzip xz
set -eu
. "$REAL/lib.sh"

mkdir -p pkg/DEBIAN pkg/usr/share/thing
printf 'Package: thing\nVersion: 1\nArchitecture: all\nMaintainer: t <t@t>\nDescription: t\n' \
    > pkg/DEBIAN/control
for i in $(seq 200); do seq "$i" $((i * 20)) > "pkg/usr/share/thing/f$i"; done
(cd pkg/usr && find . -type f -exec sha256sum {} + | sort) > "$WORK/wanted"
check() {
    (cd "$1" && find . -type f -exec sha256sum {} + | sort) > "$WORK/seen"
    same "$WORK/wanted" "$WORK/seen"
}

covered dpkg-deb --root-owner-group -b pkg thing.deb
covered dpkg-deb -x thing.deb unpacked
check unpacked/usr
dpkg-deb -x thing.deb "$WORK/deb" && check "$WORK/deb/usr"

covered sh -c 'cd pkg/usr && zip -qr ../../a.zip .'
covered unzip -q a.zip -d zip && check zip
unzip -qt a.zip

covered 7z a -bd -y a.7z ./pkg/usr > "$WORK/7z.out"
covered 7z x -bd -y -o7z a.7z > "$WORK/7z.out" && check 7z/usr
7z t a.7z > "$WORK/7z.out"

say "in-place tools"
covered sh -ec 'cd pkg/usr/share/thing; gzip -k f9; zcat f9.gz | cmp - f9
    xz -T2 -k f9; xz -t f9.xz'
covered sed -i 's/^5$/five/' pkg/usr/share/thing/f1
grep -qx five pkg/usr/share/thing/f1
covered perl -pi -e 's/^7$/seven/' pkg/usr/share/thing/f1
grep -qx seven pkg/usr/share/thing/f1
covered sh -ec 'seq 200000 | tac > shuffled
    sort -n -S 1M -T . shuffled > sorted; split -l 5000 sorted part.; cat part.* | cmp - sorted
    dd if=sorted of=dd.out bs=7777 conv=fsync status=none; cmp sorted dd.out
    install -D -m 640 sorted deep/er/installed; truncate -s 100 dd.out
    cp sorted p1; echo a >> p1; diff -u sorted p1 > d.patch || true
    patch -s sorted d.patch; cmp sorted p1
    tee t1 t2 < p1 > t3; cmp t1 t3
    cp --reflink=auto --sparse=always t1 t4; cmp t1 t4
    find . -name "part.*" -newer pkg/DEBIAN/control -delete; ! ls part.* 2>/dev/null'
[ "$(stat -c '%a %s' dd.out)" = "$(printf '%o' $((0666 & ~$(umask)))) 100" ] || fail "truncate"
[ "$(stat -c %a deep/er/installed)" = 640 ] || fail "install -m"
