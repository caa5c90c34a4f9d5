"""compare.py BARE COVERED ALLOWED [strict]: result lists, one `ok NAME` or `FAIL NAME: why` on a line.

Fails when a name that is ok in BARE is not ok in COVERED, unless ALLOWED gives a reason for it.
ALLOWED: one `NAME  reason` on a line, # for comments; `NAME@VARIANT` for one variant of the
runner. An entry that passes must be removed. No file, nothing allowed.
With `strict` nothing may fail bare either: the test would be looking at nothing.
"""
import os
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
if os.path.exists(sys.argv[3]):
    for line in open(sys.argv[3]):
        if line.strip() and not line.startswith("#"):
            name, _, why = line.strip().partition(" ")
            if not why.strip():
                sys.exit(f"{sys.argv[3]}: {name} has no reason")
            name, _, variant = name.partition("@")
            if variant in ("", os.environ["VARIANT"]):
                allowed[name] = why.strip()

good = [n for n, (word, _) in bare.items() if word == "ok"]
lost = [n for n in good if covered.get(n, ("absent", ""))[0] != "ok"]
bad = [n for n in lost if n not in allowed]
stale = [n for n in allowed if n in good and n not in lost]
wrong = [n for n in bare if bare[n][0] == "FAIL"]
for n in wrong:
    print(f"fails bare too: {n}: {bare[n][1]}")
for n in bad:
    print(f"passes bare, fails covered: {n}: {' '.join(covered.get(n, ('absent', '')))}")
for n in stale:
    print(f"allowed to fail, but passes: remove it from the list: {n}")
print(f"{len(good)} pass bare, {len(lost)} of them fail covered, {len(lost) - len(bad)} allowed")
strict = "strict" in sys.argv[4:]
sys.exit(1 if bad or stale or not good or (strict and wrong) else 0)
