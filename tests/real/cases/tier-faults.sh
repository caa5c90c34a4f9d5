#!/bin/bash
# If this failed, a tier that goes away or refuses in the middle of a run would take files with it,
# or nobody would be told.
# ring: short
# as: ruled,packed
# bare: no
# limit: 120
set -u
. "$REAL/lib.sh"

tier() { mount -t tmpfs -o size=64m tier "$WORK/far" && chmod 1777 "$WORK/far"; }
whole() {  # NAME...: there, at home, with the bytes of `seq 2000`
    local name
    for name in "$@"; do
        [ -f "$name" ] && [ ! -L "$name" ] || fail "$name is not at home"
        seq 2000 | cmp - "$name" || fail "$name has other bytes"
    done
}
end_within() {  # STATUS
    local got=0
    wait "$front" || got=$?
    [ "$got" = "$1" ] || { cat "$WORK/said"; fail "exit status $got, not $1"; }
}
begin() {  # COMMANDS of the run; `turn` in them waits for us
    printf 'turn() { touch "$0.$1"; until [ -e "$0.$1.go" ]; do sleep 0.05; done; }\n%s\n' "$1" \
        > "$WORK/script"
    rm -f "$WORK"/script.*
    start bash "$WORK/script" 2> "$WORK/said"
    wait_for 10 test -e "$WORK/script.1" || { cat "$WORK/said"; fail "it does not start"; }
}
go() { touch "$WORK/script.$1.go"; }

say "read-only from some moment on: new files stay in place, old ones come home or are told of"
tier
begin 'seq 2000 > early; turn 1; seq 2000 > late; cat early | cmp - <(seq 2000)'
mount -o remount,ro "$WORK/far"
go 1
wait "$front"
status=$?
cat "$WORK/said"
[ $status = 0 ] || [ $status = 121 ] || fail "exit status $status"
mount -o remount,rw "$WORK/far"
"$FOREBAY" restore . || fail "restore"
whole early
[ ! -s late ] || whole late
rm -f early late

say "renamed away and back: what was written is there"
begin 'seq 2000 > early; turn 1; seq 2000 > late; turn 2'
mv "$WORK/far/forebay-0" "$WORK/far/away"
go 1
wait_for 10 test -e "$WORK/script.2"
mv "$WORK/far/away" "$WORK/far/forebay-0"
go 2
end_within 0
whole early late
rm -f early late

say "full in the middle of a file: the writer is told, what it was told is written is there"
begin 'seq 2000 > early; turn 1; head -c 80M /dev/zero > big; echo "status $?" > "$0.big"; seq 2000 > late; echo "status $?" > "$0.late"; turn 2'
go 1
wait_for 30 test -e "$WORK/script.2"
go 2
end_within 0
grep -q 'status 1' "$WORK/script.big" || fail "a full tier was not told"
whole early
grep -q 'status 1' "$WORK/script.late" || whole late
[ "$(stat -c %s big)" -gt 0 ] && cmp -n "$(stat -c %s big)" big /dev/zero || fail "big"
rm -f early late big

say "the tier's file system is unmounted under the run: errors, and a word of where files are"
begin 'seq 2000 > early; turn 1; cat early > copy || true; turn 2'
umount --lazy "$WORK/far"
go 1
wait_for 10 test -e "$WORK/script.2"
go 2
wait "$front"
status=$?
cat "$WORK/said"
[ $status = 0 ] || [ $status = 121 ] || fail "exit status $status"
[ $status = 121 ] || whole early copy
