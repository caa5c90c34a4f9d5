#!/bin/bash
# If this failed, an emulated storage would not be the one that was asked for, or not the one that
# is simulated: who chooses by it chooses wrong.
# ring: timing
# as: root
# alone: yes
# bare: no
# limit: 480
set -u
. "$REAL/lib.sh"

# Of memory, so that what lies below is faster than what is asked for.
mkdir below && mount -t tmpfs -o size=3g none below && cd below || fail "no tmpfs"
trap 'cd /; umount -l "$OLDPWD"' EXIT
mkdir at

emulate() { "$FOREBAY" mount --emulate "$1" at at || fail "mount $1"; }
over() { "$FOREBAY" unmount at || fail "unmount"; rm -rf at && mkdir at; }

say "times of operations and rates of streams are within 5 % of what was asked for"
for asked in 1ms 2ms 10ms; do
    emulate $asked
    /usr/bin/python3 -B "$REAL/programs/emulated.py" at latency $asked || fail "$asked"
    over
done
stream() {  # write|read MIB_S
    fill() { [ "$1" = write ] || head -c "$2M" /dev/zero > at/big; }
    for round in 1 2 3; do
        fill "$1" "$2"
        emulate "0ms,$2MiB/s"
        /usr/bin/python3 -B "$REAL/programs/emulated.py" at "$1" "$2"
        status=$?
        over
        [ $status != 0 ] || return 0
        [ $status != 3 ] || fail "$1 at $2, too early"
        # Nobody can emulate what the machine is not able to: it should do half as much again.
        fill "$1" "$2"
        emulate 0ms
        /usr/bin/python3 -B "$REAL/programs/emulated.py" at "$1" $(($2 * 3 / 2)) "$2"
        status=$?
        over
        if [ $status != 0 ]; then
            echo "NOT JUDGED: $1 at $2 MiB/s, this machine is too slow for it by itself"
            return 0
        fi
        echo "it was late and the machine is able to: round $round of 3, for it may have been busy"
    done
    fail "$1 at $2"
}
for asked in 60 500 1200; do
    stream write $asked
    stream read $asked
done

say "one workload takes as long in a simulation as on the emulated storage, within 10 %"
cat > limits.toml <<'TOML'
about = "limits that bind"
reach = "shared"
[profile]
source = "a test"
latency = { names = "2 ms", flush = "1 ms", fsync = "4 ms", read_random = "3 ms" }
read = { stream = "60 MiB/s" }
write = { node = "50 MiB/s", burst = "150 MiB/s", credits = "40 MiB" }
names_per_second = 150
keeps_written = false
TOML
/usr/bin/python3 -B "$REAL/programs/emulated.py" at parity "$FOREBAY" \
    efs-elastic limits.toml || fail "the simulator and the emulator disagree"
