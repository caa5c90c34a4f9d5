#!/bin/bash
# If this failed, a backup or a copy made under forebay would lose modes, owners, times, links,
# extended attributes, ACLs or holes.
# ring: short
# as: root,user
# as-long: traced
# needs: rsync tar setfacl
set -eu
. "$REAL/lib.sh"

tree() { /usr/bin/python3 "$REAL/programs/tree.py" "$@"; }
check() {  # TREE WHAT [--no-dir-times]: the same as the original, seen from outside and inside
    tree list "$1" "${@:3}" > "$WORK/seen"
    tree list "$WORK/origin" "${@:3}" > "$WORK/wanted"
    diff "$WORK/wanted" "$WORK/seen" | head -20
    cmp -s "$WORK/wanted" "$WORK/seen" || fail "$2 (outside)"
    covered /usr/bin/python3 "$REAL/programs/tree.py" list "$1" "${@:3}" > "$WORK/seen"
    diff "$WORK/wanted" "$WORK/seen" | head -20
    cmp -s "$WORK/wanted" "$WORK/seen" || fail "$2 (inside)"
}

tree make "$WORK/origin"
cp -a "$WORK/origin" outside
check outside "the tree itself"

say "rsync"
covered rsync -aHAXS --numeric-ids "$WORK/origin/" rsynced/
check rsynced "rsync into the covered directory"
[ -z "$(covered rsync -aHAXS --numeric-ids -i "$WORK/origin/" rsynced/)" ] || fail "rsync not done"
[ -z "$(rsync -aHAXS --numeric-ids -i rsynced/ "$WORK/origin/")" ] || fail "rsync outside differs"
covered rsync -aHAXS --numeric-ids rsynced/ "$WORK/back/"
check "$WORK/back" "rsync out of it"
covered rsync -aHAX --sparse --inplace --checksum rsynced/ again/
check again "rsync within it, in place"

say "tar"
covered tar --xattrs --acls --sparse --numeric-owner --format=posix -cf tree.tar rsynced
mkdir "$WORK/untar"
tar --xattrs --xattrs-include='*' --acls --numeric-owner -xpf tree.tar -C "$WORK/untar"
check "$WORK/untar/rsynced" "tar made inside"
mkdir untar
covered tar --xattrs --xattrs-include='*' --acls --numeric-owner -xpf tree.tar -C untar
check untar/rsynced "tar unpacked inside"
covered tar --compare --numeric-owner -f tree.tar || fail "tar --compare"

say "cp -a, mv, cpio-like pipes, du, find"
covered cp -a rsynced copied
check copied "cp -a inside"
covered mv copied moved
check moved "mv inside"
covered mv moved "$WORK/out-of-it"                  # another mount: mv copies
check "$WORK/out-of-it" "mv out of the covered directory"
covered mv "$WORK/out-of-it" into
check into "mv into the covered directory"
covered sh -c 'mkdir piped && tar --xattrs --acls -C rsynced -cf - . | tar -C piped -xpf -'
[ "$(covered find rsynced -printf '%p %i %m %s %n %T@ %u\n' | sort)" = \
  "$(find rsynced -printf '%p %i %m %s %n %T@ %u\n' | sort)" ] || fail "find sees another tree"
[ "$(covered du -sk --apparent-size rsynced)" = "$(du -sk --apparent-size rsynced)" ] || fail du
[ "$(covered du -sk rsynced)" = "$(du -sk rsynced)" ] || fail "du: blocks differ"
covered rm -rf rsynced into piped untar
[ ! -e rsynced ] && [ ! -e into ] || fail "rm -rf"
