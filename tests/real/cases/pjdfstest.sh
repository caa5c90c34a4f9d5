#!/bin/bash
# If this failed, an errno, a mode or a time of a plain POSIX call would differ under forebay.
# Compares the failing tests of the bare and the covered directory; pjdfstest.allowed has the
# exceptions, one reason each.
# ring: short
# as: root,ruled,packed,bucket
# as-long: traced,user,drained,packed-drained,cached,mounted
# bare: self
# needs: pjdfstest
set -u
. "$REAL/lib.sh"

cat > "$WORK/pjdfstest.toml" <<'TOML'
[features]
posix_fallocate = {}
rename_ctime = {}
stat_st_birthtime = {}
utime_now = {}
utimensat = {}
[settings]
naptime = 0.02
allow_remount = false
[dummy_auth]
entries = [["nobody", "nogroup"], ["forebay-test", "forebay-test"]]
TOML

results() {  # pads and statuses to the lines of compare.py
    sed -nE 's/^([a-z_0-9:]+) +ok$/ok \1/p; s/^([a-z_0-9:]+) +skipped$/skipped \1/p;
             s/^([a-z_0-9:]+) +(FAILED|failed|panicked).*/FAIL \1: failed/p' "$1" | sort
}

mkdir "$WORK/bare"
chmod 755 "$WORK" "$WORK/bare" .
pjdfstest -c "$WORK/pjdfstest.toml" -p "$WORK/bare" > "$WORK/bare.out" 2>&1
covered pjdfstest -c "$WORK/pjdfstest.toml" -p "$PWD" > "$WORK/covered.out" 2>&1
results "$WORK/bare.out" > "$WORK/bare.list"
results "$WORK/covered.out" > "$WORK/covered.list"
grep '^Summary' "$WORK/bare.out"
/usr/bin/python3 "$REAL/programs/compare.py" "$WORK/bare.list" "$WORK/covered.list" \
    "$REAL/pjdfstest.allowed" strict && exit 0
echo "--- covered output"
grep -vE ' (ok|skipped)$' "$WORK/covered.out" | head -100
fail "$(grep '^Summary' "$WORK/covered.out" || echo "pjdfstest did not end")"
