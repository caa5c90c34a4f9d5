"""hammer.py DB NAME TURNS JOURNAL: transactions on one SQLite database shared with other processes.

Each turn moves money between two accounts and adds one line of its own; at the end nothing may be
lost and the sum must hold (sqlite.sh checks). Real locking only: no retry but SQLite's own timeout.
"""
import random
import sqlite3
import sys

path, name, turns, journal = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
rng = random.Random(name)
db = sqlite3.connect(path, timeout=60, isolation_level=None)
db.execute("pragma synchronous = normal")
assert db.execute("pragma journal_mode").fetchone()[0] == journal
for turn in range(turns):
    db.execute("begin immediate")
    a, b = rng.sample(range(10), 2)
    have = db.execute("select money from account where id = ?", (a,)).fetchone()[0]
    part = rng.randrange(have + 1)
    db.execute("update account set money = ? where id = ?", (have - part, a))
    there = db.execute("select money from account where id = ?", (b,)).fetchone()[0]
    db.execute("update account set money = ? where id = ?", (there + part, b))
    db.execute("insert into line values (?, ?)", (name, turn))
    if turn % 10 == 9:
        db.execute("rollback")               # exercised too; the line is written again below
        db.execute("begin immediate")
        db.execute("insert into line values (?, ?)", (name, turn))
    db.execute("commit")
    if turn % 25 == 0:
        total = db.execute("select sum(money) from account").fetchone()[0]
        assert total == 10000, f"{name} turn {turn}: the sum is {total}"
