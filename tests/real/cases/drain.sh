#!/bin/bash
# If this failed, files that come home while a run goes on would be lost, or be other files to the
# programs that use them, or fill their tier as if they stayed.
# ring: short
# as: root
# as-long: user,traced
# bare: no
# limit: 240
set -u
. "$REAL/lib.sh"

if [ "$WHO" = root ]; then
    mount -t tmpfs -o size=256m none "$WORK/far" || fail "no tmpfs"
    trap 'umount "$WORK/d/small" 2> /dev/null; umount "$WORK/far"' EXIT
fi
site() {  # KEYS of the tier
    printf '[tier.far]\npath = "%s"\nreach = "node"\n%s\n[tier.near]\npath = "%s"\nreach = "node"\n' \
        "$WORK/far" "$1" "$WORK/near" > "$WORK/site.toml"
}
mkdir -p "$WORK/near"
cat > "$WORK/rules.toml" <<'TOML'
[[rule]]
match = ["*.bam", "bulk/**"]
home = "far"
write_back = "on-close"
[[rule]]
match = "*.sam"
home = "far"
[[rule]]
match = "*.near"
home = "near"
TOML
case $VARIANT in
    traced) FOREBAY_OPTIONS="$FOREBAY_OPTIONS -q" ;;
    *) FOREBAY_OPTIONS="-q" ;;
esac
FOREBAY_OPTIONS="$FOREBAY_OPTIONS --site $WORK/site.toml --rules $WORK/rules.toml"
bodies() { find "$WORK/far" "$WORK/near" -type f | wc -l; }
nothing_left() {
    [ "$(bodies)" = 0 ] || { find "$WORK/far" "$WORK/near" -type f; fail "bodies are left: $1"; }
    [ ! -e .forebay ] || { find .forebay; fail "a folder of ours is left: $1"; }
    [ -z "$(find . -type l)" ] || fail "a link is left: $1"
}

say "a tier of 8 MiB takes 40 MiB, one after another, and none stays in place against its rule"
site 'capacity = "8 MiB"'
# shellcheck disable=SC2016
covered bash -c '
    mkdir bulk
    for number in $(seq 40); do
        head -c 1M /dev/urandom > bulk/$number
        md5sum bulk/$number >> ../sums
        for turn in $(seq 3000); do
            [ $(find ../far -type f | wc -l) -gt 5 ] || break
            sleep 0.1
        done
        [ $(du -sm ../far | cut -f1) -le 8 ] || echo "more than 8 MiB on the tier"
    done' > "$WORK/said" 2>&1 || { cat "$WORK/said"; fail "the run"; }
cat "$WORK/said"
grep -q "more than" "$WORK/said" && fail "the bound does not hold"
grep -q "stayed in place" "$WORK/said" && fail "files were not placed"
grep -q "40 files (40.0 MiB) written back" "$WORK/said" || fail "it does not say what was written back"
md5sum --quiet -c "$WORK/sums" || fail "a file is not whole"
nothing_left "bulk"
rm -rf bulk

say "a file is the same to those who use it: number, times, mappings that outlive a close"
site ''
covered python3 - "$WORK" <<'PY' || fail "the file changed under the program"
import mmap, os, sys, time
def wait(what):
    end = time.monotonic() + 300
    while not what():
        assert time.monotonic() < end, "it does not come home"
        time.sleep(0.05)
bodies = lambda: sum(not name.endswith(".volume")
                     for _, _, files in os.walk(sys.argv[1] + "/far") for name in files)
with open("a.bam", "wb") as out:
    out.write(b"a" * 10000)
os.chmod("a.bam", 0o604)
os.utime("a.bam", ns=(5, 7_000_000_009))
os.setxattr("a.bam", "user.kept", b"1")
before = os.stat("a.bam")
held = os.open("a.bam", os.O_PATH)
wait(lambda: bodies() == 0)
for after in os.stat("a.bam"), os.fstat(held):
    for field in "st_ino st_dev st_mode st_uid st_gid st_size st_mtime_ns st_nlink".split():
        assert getattr(after, field) == getattr(before, field), field
assert {e.name: e.inode() for e in os.scandir(".")}["a.bam"] == before.st_ino
assert os.getxattr("a.bam", "user.kept") == b"1" and open("a.bam", "rb").read() == b"a" * 10000
# Who maps a file uses it, though it is closed.
file = os.open("b.bam", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 8192)
pages = mmap.mmap(file, 8192)
os.close(file)
pages[0:3] = b"one"
time.sleep(4)
pages[4096:4099] = b"two"
assert open("b.bam", "rb").read(4099)[4096:] == b"two"
pages.close()
wait(lambda: bodies() == 0)
text = open("b.bam", "rb").read()
assert text[:3] == b"one" and text[4096:4099] == b"two", "what was written into a mapping is lost"
# Who opens a file on its way, and writes, has written.
for turn in range(30):
    with open("c.bam", "wb") as out:
        out.write(os.urandom(3 << 20))
    time.sleep(2 + turn % 10 / 100)
    with open("c.bam", "r+b") as out:
        out.write(b"%03d" % turn)
    with open("c.bam", "rb") as there:
        assert there.read(3) == b"%03d" % turn
    os.unlink("c.bam")
    if turn > 8:
        break
PY
python3 -c '
text = open("b.bam", "rb").read()
assert len(text) == 8192 and text[:3] == b"one" and text[4096:4099] == b"two"' || fail "b.bam at home"
nothing_left "one file"
rm -f ./*.bam

say "a new name sends a file where its rule says, while the run goes on"
# shellcheck disable=SC2016
covered bash -c '
    set -e
    echo 1 > a.tmp; mv a.tmp a.sam          # in place -> tier
    echo 2 > b.sam; mv b.sam b.txt          # tier -> in place
    echo 3 > c.sam; mv c.sam c.near         # tier -> tier
    echo 4 > d.tmp; mv d.tmp d.bam          # would only come home again
    echo 5 > e.sam; ln e.sam e2.sam; mv e.sam e.txt
    ls -i [abcd].* > ../before
    exec 3>&1 > ../where
    for turn in $(seq 100); do
        [ $(find ../near -type f | wc -l) = 1 ] && [ $(find ../far -type f | wc -l) = 2 ] && break
        sleep 0.1
    done
    ls -i [abcd].* | cmp - ../before
    [ "$(cat a.sam b.txt c.near d.bam e.txt | tr -d "\n")" = 12345 ]
    echo > ../ready
    while [ ! -e ../go ]; do sleep 0.05; done' & run=$!
wait_for 20 test -e "$WORK/ready" || fail "they are not moved"
[ -L a.sam ] && [ ! -L b.txt ] && [ ! -L d.bam ] && [ -L e.txt ] || fail "they are elsewhere"
case $(readlink c.near) in "$WORK/near"/*) ;; *) fail "c.near is in $(readlink c.near)" ;; esac
touch "$WORK/go"
wait $run || fail "the run"
[ "$(cat a.sam b.txt c.near d.bam e.txt | tr -d '\n')" = 12345 ] || fail "a file has other bytes"
nothing_left "names"
rm -f ./*.sam ./*.txt ./*.near ./*.bam

say "random work on many files while they move, under a tier that lets none wait"
site 'capacity = "16 MiB"'
covered python3 "$REAL/programs/moving.py" "$SEED" || fail "random work"
nothing_left "random work"
rm -rf ./*

say "kill -9 while files come home: each is whole, and nothing is left after the next homecoming"
site 'capacity = "64 KiB"'
forebays() {
    local p
    for p in /proc/[0-9]*; do
        [ "$(cat "$p/comm" 2>/dev/null)" != forebay ] || echo "${p#/proc/}"
    done
}
RANDOM=$((SEED % 32768))
links=0
for round in $(seq 8); do
    rm -rf ./* "$WORK/sums"; touch "$WORK/sums"
    # A line in `sums` is what a program was told is written.
    start /usr/bin/python3 -c '
import hashlib, os, sys
for number in range(100000):
    name = "%d.%s" % (number, ["bam", "sam", "near"][number % 3])
    content = os.urandom([0, 10, 5000, 60000][number % 4])
    with open("x.tmp" if number % 7 == 0 else name, "wb") as out:
        out.write(content)
    if number % 7 == 0:
        os.rename("x.tmp", name)
    with open(sys.argv[1], "a") as sums:
        sums.write(hashlib.md5(content).hexdigest() + "  " + name + "\n")
' "$WORK/sums" 2> /dev/null
    sleep "$(printf '%d.%03d' $((RANDOM % 3)) $((RANDOM % 1000)))"
    # shellcheck disable=SC2046
    kill -9 $(forebays) 2> /dev/null
    wait $front 2> /dev/null
    head -n -1 "$WORK/sums" > "$WORK/told"
    links=$((links + $(find . -type l | wc -l)))
    [ ! -s "$WORK/told" ] || md5sum --quiet -c "$WORK/told" || fail "round $round: lost by the kill"
    # A moment, so that the lock of those that were killed is free.
    wait_for 30 "$FOREBAY" restore . || { "$FOREBAY" restore .; fail "no restore"; }
    [ ! -s "$WORK/told" ] || md5sum --quiet -c "$WORK/told" || fail "round $round: lost at home"
    # A file that was being made has a body and no name yet: nobody was told of it.
    if [ -n "$(find "$WORK/far" "$WORK/near" -type f -empty -print -delete)" ]; then
        "$FOREBAY" restore . > "$WORK/restored" 2>&1 || fail "no restore"
    fi
    nothing_left "round $round"
    say "round $round: $(wc -l < "$WORK/told") files"
done
[ $links -gt 0 ] || fail "no round was killed with files on a tier"
rm -rf ./*

say "a lasting mount brings files home while it is there"
site ''
if command -v fusermount3 > /dev/null; then
    mkdir vol at
    "$FOREBAY" mount --site "$WORK/site.toml" --rules "$WORK/rules.toml" vol at || fail "mount"
    echo long > at/a.bam && echo short > at/b.tmp && mv at/b.tmp at/b.bam
    ls -i at > "$WORK/before"
    [ -L vol/a.bam ] || fail "it is not on its tier"
    wait_for 20 test ! -L vol/a.bam || fail "it does not come home"
    [ "$(cat at/a.bam vol/a.bam at/b.bam | tr -d '\n')" = longlongshort ] || fail "other bytes"
    ls -i at | cmp - "$WORK/before" || fail "other numbers"
    no_bodies() { [ "$(bodies)" = 0 ]; }
    wait_for 5 no_bodies || fail "what came home is still on the tier"
    echo killed > at/k.bam
    # shellcheck disable=SC2046
    kill -9 $(forebays)
    wait_for 10 sh -c '! ls at > /dev/null 2>&1' || fail "the daemon lives"
    expect_status 121 "$FOREBAY" unmount at
    [ -L vol/k.bam ] && [ "$(cat vol/k.bam)" = killed ] || fail "lost by the kill"
    "$FOREBAY" mount --site "$WORK/site.toml" --rules "$WORK/rules.toml" vol at || fail "mount again"
    wait_for 20 test ! -L vol/k.bam || fail "what a kill left does not come home"
    [ "$(cat vol/k.bam)" = killed ] || fail "other bytes after the kill"
    "$FOREBAY" unmount at || fail "unmount"
    cd vol && nothing_left "mount" && cd ..
    rm -rf vol at
fi
[ "$WHO" = root ] || exit 0

say "home is full: files stay whole on their tier, that is told, and they come when there is room"
mkdir small && mount -t tmpfs -o size=4m none small || fail "no tmpfs"
cd small || exit
status=0
covered bash -c 'for n in 1 2 3 4 5 6; do head -c 1M /dev/zero | tr "\0" $n > $n.bam; done; sleep 4' \
    2> "$WORK/said" || status=$?
cat "$WORK/said"
[ $status = 121 ] || fail "status $status"
grep -q "could not be written back" "$WORK/said" || fail "it is not told"
for n in 1 2 3 4 5 6; do head -c 1M /dev/zero | tr '\0' $n | cmp - $n.bam || fail "$n.bam"; done
mount -o remount,size=16m . || fail "remount"
"$FOREBAY" restore . || fail "restore"
for n in 1 2 3 4 5 6; do
    [ ! -L $n.bam ] || fail "$n.bam is not home"
    head -c 1M /dev/zero | tr '\0' $n | cmp - $n.bam || fail "$n.bam"
done
nothing_left "a full home"
cd .. || exit
