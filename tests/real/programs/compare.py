"""compare.py BARE COVERED [ALLOWED]: result lists, one `ok NAME` or `FAIL NAME: why` on a line.

Fails when a name that is ok in BARE is not ok in COVERED, unless ALLOWED gives a reason for it.
ALLOWED: one `NAME  reason` on a line, # for comments; an entry that passes must be removed.
"""
import sys


def read(path):
    result = {}
    for line in open(path, errors="replace"):
        word, _, rest = line.strip().partition(" ")
        if word in ("ok", "FAIL", "skipped"):
            name, _, why = rest.partition(": ") if word == "FAIL" else (rest, "", "")
            result[name] = (word, why)
    return result


bare, covered = read(sys.argv[1]), read(sys.argv[2])
allowed = {}
if len(sys.argv) > 3:
    for line in open(sys.argv[3]):
        if line.strip() and not line.startswith("#"):
            name, _, why = line.strip().partition(" ")
            if not why.strip():
                sys.exit(f"{sys.argv[3]}: {name} has no reason")
            allowed[name] = why.strip()

good = [n for n, (word, _) in bare.items() if word == "ok"]
lost = [n for n in good if covered.get(n, ("absent", ""))[0] != "ok"]
bad = [n for n in lost if n not in allowed]
stale = [n for n in allowed if n in good and n not in lost]
for n in bare:
    if bare[n][0] == "FAIL":
        print(f"fails bare too: {n}: {bare[n][1]}")
for n in bad:
    print(f"passes bare, fails covered: {n}: {' '.join(covered.get(n, ('absent', '')))}")
for n in stale:
    print(f"allowed to fail, but passes: remove it from the list: {n}")
print(f"{len(good)} pass bare, {len(lost)} of them fail covered, {len(lost) - len(bad)} allowed")
sys.exit(1 if bad or stale or not good else 0)
