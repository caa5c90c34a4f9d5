# SQLite in 500 small transactions with a rollback journal, and Python's shelve: what task databases
# of workflow engines do. Words: ready, prepare, run, verify, rules; see ../README.md.
set -euo pipefail

case $1 in
ready)
    python3 -c 'import sqlite3, shelve' || { echo "no python3 with sqlite3; next: apt-get install python3"; exit 1; }
    ;;
prepare) ;;
run)
    exec python3 -c '
import shelve, sqlite3
tasks = sqlite3.connect("tasks.db")
tasks.execute("CREATE TABLE task (number INTEGER PRIMARY KEY, status TEXT, took REAL)")
for number in range(500):
    tasks.execute("INSERT INTO task VALUES (?, ?, ?)", (number, "done", number / 7))
    tasks.commit()
assert tasks.execute("SELECT count(*) FROM task").fetchone() == (500,)
with shelve.open("kept") as kept:
    for number in range(500):
        kept[f"task {number}"] = {"status": "done", "files": list(range(20))}
'
    ;;
verify)
    python3 -c '
import shelve, sqlite3
tasks = sqlite3.connect("tasks.db")
assert tasks.execute("PRAGMA integrity_check").fetchone() == ("ok",)
assert tasks.execute("SELECT count(*) FROM task").fetchone() == (500,)
with shelve.open("kept") as kept:
    assert len(kept) == 500
'
    ;;
rules)
    printf '[[rule]]\nmatch = "*-journal"\nhome = "fast"\nafter = "discard"\n'
    ;;
*) echo "unknown word $1"; exit 2 ;;
esac
