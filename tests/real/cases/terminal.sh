#!/bin/bash
# If this failed, Ctrl-C, Ctrl-Z, fg or a closed window would kill the volume before the command,
# hang, or leave it running.
# ring: short
# as: user
# as-long: root
# bare: self
set -u
. "$REAL/lib.sh"

mkdir "$WORK/bare"
(cd "$WORK/bare" && /usr/bin/python3 "$REAL/programs/terminal.py") > "$WORK/bare.list"
# A fresh run file for each run, whatever forebay does when one is there already.
cat > "$WORK/cover" <<PREFIX
#!/bin/bash
exec "$FOREBAY" run $FOREBAY_OPTIONS -o "$WORK/runs/\$\$.run" -- "\$@"
PREFIX
chmod +x "$WORK/cover"
/usr/bin/python3 "$REAL/programs/terminal.py" "$WORK/cover" > "$WORK/covered.list"
/usr/bin/python3 "$REAL/programs/compare.py" "$WORK/bare.list" "$WORK/covered.list" \
    "$REAL/terminal.allowed" strict
