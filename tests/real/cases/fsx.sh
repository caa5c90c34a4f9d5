#!/bin/bash
# If this failed, bytes read back would not be the bytes written: data loss without a message.
# ring: short
# as: root,user,ruled,packed,packed-drained,cached,bucket
# as-long: traced,drained,packed-user,mounted,mounted-user
# bare: no
# needs: fsx
# limit: 240
set -eu
. "$REAL/lib.sh"

# msync after each mapped write costs a disk flush: only some seeds of the long ring.
settings() {  # NOMSYNCAFTERWRITE
    cat <<TOML
flen = 1048576
nomsyncafterwrite = $1
[opsize]
max = 131072
min = 1
[weights]
close_open = 2
read = 10
write = 10
mapread = 10
mapwrite = 10
invalidate = 1
truncate = 4
fsync = 0.2
fdatasync = 0.2
posix_fallocate = 2
punch_hole = 3
sendfile = 3
posix_fadvise = 1
copy_file_range = 3
TOML
}
settings true > "$WORK/fsx.toml"

run_fsx() {  # OPERATIONS SEED
    say "fsx: $1 operations, seed $2"
    covered fsx -q -f "$WORK/fsx.toml" -P "$WORK" -N "$1" -S "$2" "file.$2" ||
        fail "fsx -N $1 -S $2"
    rm -f "file.$2"
}

if [ "${LONG:-}" = yes ]; then
    # A million in twenty processes: fsx keeps a mapping of each operation with a thread, and the
    # kernel allows one process 65,530.
    for number in {1..19}; do run_fsx 50000 $((SEED % 1000000 * 100 + number)); done
    settings false > "$WORK/fsx.toml"
    run_fsx 50000 1
else
    for seed in 1 "$SEED"; do run_fsx 20000 "$seed"; done
fi
