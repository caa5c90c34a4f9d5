#!/bin/bash
# If this failed, two programs on one database would corrupt it: locks, mmap or fsync not
# forwarded.
# ring: short
# as: root,user
# as-long: traced
# limit: 240
set -eu
. "$REAL/lib.sh"

python=/usr/bin/python3
turns=150
for journal in delete wal; do
    say "journal mode $journal: two covered writers and one bare one, $turns turns each"
    $python - $journal <<'PY'
import sqlite3, sys
db = sqlite3.connect("bank.db", isolation_level=None)
db.execute(f"pragma journal_mode = {sys.argv[1]}")
db.execute("create table account (id integer primary key, money integer)")
db.execute("create table line (name text, turn integer)")
db.executemany("insert into account values (?, 1000)", [(i,) for i in range(10)])
PY
    covered $python "$REAL/programs/hammer.py" bank.db one $turns $journal & one=$!
    covered $python "$REAL/programs/hammer.py" bank.db two $turns $journal & two=$!
    $python "$REAL/programs/hammer.py" bank.db bare $turns $journal & bare=$!
    wait $one || fail "first covered writer"
    wait $two || fail "second covered writer"
    wait $bare || fail "bare writer"
    cat > "$WORK/check.py" <<'PY'
import sqlite3, sys
db = sqlite3.connect("bank.db")
assert db.execute("pragma integrity_check").fetchone()[0] == "ok"
assert db.execute("select sum(money) from account").fetchone()[0] == 10000
lines = db.execute("select name, count(*), count(distinct turn) from line group by name").fetchall()
assert lines == [(n, int(sys.argv[1]), int(sys.argv[1])) for n in ("bare", "one", "two")], lines
PY
    $python "$WORK/check.py" $turns || fail "checked outside"
    covered $python "$WORK/check.py" $turns || fail "checked inside"
    rm -f bank.db bank.db-*
done
