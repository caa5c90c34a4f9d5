#!/bin/bash
# If this failed, a mounted volume would be shown to the wrong people, would not end, or would end
# with files lost on a tier.
# ring: short
# as: root,user
# bare: no
# needs: fusermount3 sqlite3
# limit: 120
set -u
. "$REAL/lib.sh"

# Of this case: the machine may have mounts of its own.
mounted() { grep ' - fuse.forebay ' /proc/self/mountinfo | grep -cF " $PWD/"; }
home() { [ -f "$1" ] && [ ! -L "$1" ] || fail "$1 is not a plain file at home"; }

say "attached directories are shown, read-only if so asked, with or without a mount"
mkdir vol at "$WORK/refs" "$WORK/mine"
echo ACGT > "$WORK/refs/genome.fa"
"$FOREBAY" attach vol "$WORK/refs" ref/hg38 --read-only || fail "attach"
"$FOREBAY" attach vol "$WORK/mine" mine || fail "attach again"
expect_status 1 "$FOREBAY" attach vol "$WORK/mine" ref
(cd vol && "$FOREBAY" run -q -- sh -c 'cat ref/hg38/genome.fa && ! touch ref/hg38/x && touch mine/y') ||
    fail "a run does not show what is attached"
[ -e "$WORK/mine/y" ] || fail "it is not the directory that was attached"
if [ "$WHO" = root ]; then
    "$FOREBAY" mount vol at || fail "mount"
    same at/ref/hg38/genome.fa "$WORK/refs/genome.fa"
    touch at/ref/hg38/x 2> /dev/null && fail "read-only is not"
    "$FOREBAY" unmount at || fail "unmount of three"
else
    expect_status 125 "$FOREBAY" mount vol at           # fusermount3 can't reach into it
    [ "$(mounted)" = 0 ] || fail "a mount is left"
fi
"$FOREBAY" detach vol mine && "$FOREBAY" detach vol ref/hg38 || fail "detach"
[ ! -e vol/mine ] && [ ! -e vol/ref/hg38 ] && [ ! -e vol/.forebay/attached.toml ] || fail "left behind"
"$FOREBAY" mount vol at || fail "mount"

say "what is written lands in the volume, as who wrote it, and outsiders' changes are seen"
echo one > at/file
[ "$(cat vol/file)" = one ] || fail "not in place"
[ "$(stat -c %u:%i vol/file)" = "$(stat -c %u:%i at/file)" ] || fail "another owner or inode"
echo two > vol/file
wait_for 2 grep -q two at/file || fail "a change made outside is not seen"

say "a second mount, a mount in itself, and unmounting one that is in use are refused"
expect_status 125 "$FOREBAY" mount vol at
mkdir vol/inside
expect_status 125 "$FOREBAY" mount vol vol/inside
expect_status 125 "$FOREBAY" mount vol nowhere
(cd at && exec sleep 6000) &
user=$!
runs_there() { [ "$(readlink "/proc/$user/cwd") $(cat "/proc/$user/comm")" = "$PWD/at sleep" ]; }
wait_for 5 runs_there || fail "no program in the mount"
"$FOREBAY" unmount at 2> "$WORK/said" && fail "it was unmounted under a program"
grep -q "sleep (pid $user)" "$WORK/said" || { cat "$WORK/said"; fail "it does not say who is in the way"; }
[ "$(cat at/file)" = two ] || fail "the refused unmount broke it"

say "--lazy: nobody new, and the end when the last is done"
"$FOREBAY" unmount --lazy at || fail "lazy"
[ ! -e at/file ] || fail "it is still there"
kill $user
wait $user 2> /dev/null
[ "$(mounted)" = 0 ] || fail "a mount is left"
expect_status 1 "$FOREBAY" unmount at

say "rules: files go to their tier and come home at the end; the record tells of them"
"$FOREBAY" mount --site "$WORK/site.toml" --rules "$WORK/rules.toml" -o "$WORK/m.run" vol vol ||
    fail "mount in place"
cd "$PWD" || exit 1
seq 1000 > vol/big
[ "$(find "$WORK/far" -type f | wc -l)" = 1 ] || fail "it is not on the tier"
home vol/big                                # inside it is shown as one
expect_status 125 "$FOREBAY" run --at vol --site "$WORK/site.toml" --rules "$WORK/rules.toml" -- true
"$FOREBAY" unmount vol || fail "unmount"
home vol/big
seq 1000 | cmp - vol/big || fail "other bytes"
[ "$(sqlite3 "$WORK/m.run" "select count(*) from files where path like '%big%'")" = 1 ] ||
    fail "not in the record"

printf '[[rule]]\nmatch = "**"\ntask = "sort"\nhome = "far"\n' > "$WORK/task.toml"
expect_status 125 "$FOREBAY" mount --site "$WORK/site.toml" --rules "$WORK/task.toml" vol vol

say "kill -9 of the daemon: what was written is there, and the next mount or restore has it"
"$FOREBAY" mount --site "$WORK/site.toml" --rules "$WORK/rules.toml" vol at || fail "mount"
seq 500 > at/half
for process in /proc/[0-9]*; do
    # The front is gone, so this is the daemon.
    tr '\0' ' ' < "$process/cmdline" 2> /dev/null | grep -q "forebay mount" && kill -9 "${process#/proc/}"
done
wait_for 5 sh -c '! cat at/half' > /dev/null || fail "the daemon lives"
seq 500 | cmp - vol/half || fail "bytes were lost"
expect_status 121 "$FOREBAY" unmount at                 # a dead mount, and files are on tiers
[ "$(mounted)" = 0 ] || fail "the dead mount is left"
"$FOREBAY" restore vol || fail "restore"
home vol/half
seq 500 | cmp - vol/half || fail "other bytes"

say "in the foreground: SIGTERM ends it like an unmount"
"$FOREBAY" mount --foreground --site "$WORK/site.toml" --rules "$WORK/rules.toml" vol at &
front=$!
wait_for 5 test -e at/half || fail "not mounted"
seq 300 > at/last
kill -TERM $front
wait $front || fail "status $?"
home vol/last
[ "$(mounted)" = 0 ] || fail "a mount is left"

if [ "$WHO" = root ]; then
    say "only its owner, unless others are asked in; then as permissions allow"
    chown -R forebay-test: vol at
    umask 022
    chmod 755 . "$WORK"
    echo secret > vol/secret && chmod 600 vol/secret
    "$FOREBAY" mount vol at || fail "mount"
    as_user ls at 2> /dev/null && fail "others see a mount of root's"
    "$FOREBAY" unmount at || fail "unmount"
    "$FOREBAY" mount --allow-other vol at || fail "mount for others"
    as_user cat at/file > /dev/null || fail "others are asked in and stay out"
    as_user cat at/secret 2> /dev/null && fail "permissions are not kept"
    as_user touch at/theirs || fail "the directory's owner may not write"
    [ "$(stat -c %U vol/theirs)" = forebay-test ] || fail "another owner"
    "$FOREBAY" unmount at || fail "unmount"

    cp /etc/fuse.conf "$WORK/fuse.conf" 2> /dev/null || touch "$WORK/fuse.conf"
    [ -e /etc/fuse.conf ] || touch /etc/fuse.conf
    echo user_allow_other >> "$WORK/fuse.conf"
    mount --bind "$WORK/fuse.conf" /etc/fuse.conf
    open_fuse_device
    rm vol/secret
    as_user "$FOREBAY" mount vol at || fail "mount by a user"
    ls at > /dev/null 2>&1 && fail "root sees a user's mount without --allow-root"
    as_user "$FOREBAY" unmount at || fail "unmount"
    chmod 755 "$WORK/refs"
    as_user "$FOREBAY" attach vol "$WORK/refs" ref || fail "attach"
    "$FOREBAY" attach vol "$WORK/refs" mine && fail "root wrote into a folder of a user's"
    "$FOREBAY" mount --allow-other vol at || fail "mount"
    [ -z "$(ls at/ref)" ] || fail "root shows what a user attached"
    "$FOREBAY" unmount at || fail "unmount"
    as_user "$FOREBAY" mount --allow-root vol at || fail "mount for root"
    same at/ref/genome.fa "$WORK/refs/genome.fa"
    cat at/file > /dev/null || fail "root is asked in and stays out"
    setpriv --reuid daemon --clear-groups cat at/file 2> /dev/null && fail "--allow-root lets all in"
    as_user "$FOREBAY" unmount at || fail "unmount"
    umount /etc/fuse.conf
    if mountpoint -q /dev/fuse; then
        # A daemon has the device until its process is gone, a moment after its mount.
        wait_for 5 umount /dev/fuse && umount "$WORK/dev" || fail "somebody keeps /dev/fuse"
    fi
fi
