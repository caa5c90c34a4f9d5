#!/bin/bash
# If this failed, files of a shared lab directory would get the wrong owner, group, mode or ACL,
# or people would read what they may not. As root: the daemon acts for callers of other users
# inside.
# ring: short
# as: root,user
# needs: setfacl getfacl
set -eu
. "$REAL/lib.sh"
umask 022
me=(setpriv --reuid $TEST_USER --regid $TEST_USER --init-groups --inh-caps=-all)
chmod 711 "$WORK"; chmod 755 .
lab=forebay-lab
show() { stat -c '%n %a %U %G' "$@"; }

cat > "$WORK/inside.sh" <<'INSIDE'
set -u
no() { "$@" 2> /dev/null && { echo "ALLOWED: $*"; exit 1; }; return 0; }
set -e
(umask 027; echo x > u027; mkdir d027; mkfifo p027)
(umask 002; echo x > lab/f; mkdir lab/d; echo y > lab/d/g; ln -s f lab/l)
(umask 077; echo x > acl/f; mkdir acl/d; echo y > acl/d/g)
echo edited >> lab/by-root
cat group-read > /dev/null
if [ "$(id -u)" != 0 ]; then
    no cat secret; no ls closed; no cat closed/x; no touch others/x; no rm -f sticky/root
    no mv sticky/root sticky/z; no chmod 777 lab/by-root; no chown root u027
    no sh -c 'echo > group-read'
fi
echo mine > sticky/mine; rm sticky/mine
[ -r acl-read ]; cat acl-read > /dev/null
touch lab/by-root
INSIDE

prepare() {
    mkdir lab acl sticky closed others
    chmod 700 closed; echo x > closed/x
    chmod 755 others; chmod 1777 sticky; echo r > sticky/root
    echo s > secret; chmod 600 secret
    echo g > group-read; chmod 640 group-read; chgrp $lab group-read
    echo a > acl-read; chmod 600 acl-read; setfacl -m u:$TEST_USER:r acl-read
    chgrp $lab lab; chmod 2775 lab
    echo first > lab/by-root; chgrp $lab lab/by-root; chmod 664 lab/by-root
    setfacl -m u:$TEST_USER:rwx acl
    setfacl -d -m g:$lab:rwX,u:nobody:r acl
}
result() {
    show u027 d027 p027 lab lab/f lab/d lab/d/g lab/l acl/f acl/d acl/d/g lab/by-root
    getfacl -cE acl/f acl/d acl/d/g
}
# In root's pass the tree is root's and the callers are the test user's; in the user's all is his.
run=(bash "$WORK/inside.sh")
if [ "$WHO" = root ]; then
    run=("${me[@]}" "${run[@]}")
fi
chmod 644 "$WORK/inside.sh"
for place in bare covered; do
    mkdir $place
    (cd $place && prepare)
    chmod 777 $place; [ "$WHO" = user ] || chmod 1777 $place
done
if [ "$WHO" = user ]; then      # what a user cannot be refused by himself is left to root's pass
    sed -i '/^if/,/^fi/d' "$WORK/inside.sh"
fi
(cd bare && "${run[@]}") || fail "bare"
covered_at "$PWD/covered" "${run[@]}" || fail "covered"
(cd bare && result) > "$WORK/wanted"
(cd covered && result) > "$WORK/seen"
diff "$WORK/wanted" "$WORK/seen" || fail "owners, modes or ACLs differ"
(covered_at "$PWD/covered" stat -c '%n %a %u %g' u027 lab/f) > "$WORK/seen"
(cd covered && stat -c '%n %a %u %g' u027 lab/f) > "$WORK/wanted"
[ "$WHO" = user ] || same "$WORK/wanted" "$WORK/seen"
[ "$WHO" = root ] || exit 0

say "root only: setuid programs, device nodes, capabilities, chown, groups of the caller"
cp /usr/bin/id covered/id; chmod 4755 covered/id
[ "$(covered_at "$PWD/covered" "${me[@]}" ./id -u)" = "$("${me[@]}" covered/id -u)" ] ||
    fail "setuid"
mknod covered/null c 1 3
covered_at "$PWD/covered" sh -ec 'echo x > null; [ -c null ]; mknod zero c 1 5
    head -c 3 zero | wc -c' > "$WORK/out" || fail "device node"
[ "$(cat "$WORK/out")" = 3 ] || fail "device node made inside"
covered_at "$PWD/covered" sh -ec 'echo x > o; chown 4321:1234 o; chown -h 1:2 lab/l; chmod 6755 o'
[ "$(stat -c '%u %g %a' covered/o)" = "4321 1234 6755" ] || fail "chown: $(stat covered/o)"
covered_at "$PWD/covered" sh -ec "echo x > grp; chown $TEST_USER grp"
covered_at "$PWD/covered" "${me[@]}" sh -ec "chgrp $lab grp; chmod 2755 grp
    ! chgrp root grp 2> /dev/null; ! chown nobody grp 2> /dev/null"
[ "$(stat -c '%U %G %a' covered/grp)" = "$TEST_USER $lab 2755" ] || fail "chgrp to an own group"
# Without the supplementary group the very same access is refused.
covered_at "$PWD/covered" \
    setpriv --reuid $TEST_USER --regid $TEST_USER --clear-groups --inh-caps=-all \
    sh -c 'cat group-read || echo x > lab/h' 2> /dev/null && fail "access without the group"
covered_at "$PWD/covered" setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
    sh -c 'cat secret || ls closed || touch lab/x' 2> /dev/null && fail "access by nobody"
true
