"""Programs on nodes of a shared volume whose daemons are killed, and what they were promised.

    shared_kills.py write LEDGER VOLUME NODE SEED    versions of files, until the ledger's folder says `stop`
    shared_kills.py read LEDGER VOLUME NODE SEED     looks at files of all nodes, likewise
    shared_kills.py check LEDGERS VOLUME             whether VOLUME has what all ledgers promise

Each file is written on one node. A ledger has a line for each thing: `tries NAME VERSION` before a
version is written, `sure NAME VERSION` when fsync has promised it, `saw NAME VERSION` when a program
on another node has read it. A version that is older than the last promise, or that nobody has tried to
write, or a file that is not as its version says, is what must not be.
"""
import errno
import os
import random
import sys
import time
from pathlib import Path

FOLDERS = ("common", "own{node}")
NAMES = 6
# Long ones lie on the disk of the node that wrote them, and later in the bucket.
LONGEST = 60_000


def body(name, version):
    """A file's bytes, by its version: the number first, then as many bytes as the version says."""
    length = 20 + version * 7919 % (LONGEST if version % 5 == 0 else 400)
    return (f"{version} {name} ".encode() * (length // 8 + 1))[:length] + b"\n"


def read_whole(path):
    """A file's bytes. ESTALE: a long one was written over elsewhere while it was read; it is opened again."""
    for _ in range(5):
        try:
            return Path(path).read_bytes()
        except OSError as error:
            if error.errno != errno.ESTALE:
                raise
    raise OSError(errno.ESTALE, "written over again and again", str(path))


def version_of(name, found):
    """The version of these bytes; an error if they are none."""
    version = int(found.split()[0]) if found.split() else -1
    if version < 0 or found != body(name, version):
        raise ValueError(f"{name}: torn: {len(found)} bytes, {found[:40]!r}")
    return version


class Ledger:
    """Lines that survive a kill of anybody; only who writes them speaks of their files."""

    def __init__(self, path):
        self.folder = Path(path).parent
        self.file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)

    def note(self, *words):
        os.write(self.file, (" ".join(map(str, words)) + "\n").encode())

    def is_over(self):
        return (self.folder / "stop").exists()


def write(ledger, volume, node, seed):
    ledger, lot, versions = Ledger(ledger), random.Random(f"{seed}/{node}"), {}
    while not ledger.is_over():
        folder = lot.choice(FOLDERS).format(node=node)
        name = f"{folder}/file{node}.{lot.randrange(NAMES)}"
        version = versions.get(name, 0) + 1
        versions[name] = version
        ledger.note("tries", name, version)
        try:
            if not os.path.ismount(volume):
                raise OSError("nothing is mounted")
            os.makedirs(f"{volume}/{folder}", exist_ok=True)
            new = f"{volume}/{name}.new"
            with open(new, "wb", buffering=0) as file:
                file.write(body(name, version))
                os.fsync(file.fileno())
            os.rename(new, f"{volume}/{name}")
            at = os.open(f"{volume}/{folder}", os.O_RDONLY)
            try:
                os.fsync(at)
            finally:
                os.close(at)
        except OSError:
            time.sleep(0.05)    # The daemon is gone, or the book; nothing was promised.
            continue
        ledger.note("sure", name, version)


def read(ledger, volume, node, seed):
    ledger, lot = Ledger(ledger), random.Random(f"{seed}/reads/{node}")
    while not ledger.is_over():
        other = lot.choice([one for one in range(1, 5) if one != int(node)])
        folder = lot.choice(FOLDERS).format(node=other)
        name = f"{folder}/file{other}.{lot.randrange(NAMES)}"
        try:
            with open(f"{volume}/{name}", "rb") as file:
                found = file.read()
        except OSError:
            time.sleep(0.02)
            continue
        ledger.note("saw", name, version_of(name, found))


def promises(ledgers):
    """By name: the last version that was promised, and the last that somebody tried to write."""
    sure, tried = {}, {}
    for ledger in Path(ledgers).glob("*.ledger"):
        for line in ledger.read_text().splitlines():
            what, name, version = line.split()
            kept = tried if what == "tries" else sure
            kept[name] = max(kept.get(name, 0), int(version))
    return sure, tried


def check(ledgers, volume):
    sure, _ = promises(ledgers)     # Before: promises that come meanwhile are not asked for.
    wrong, longest = [], 0.0
    for name, promised in sorted(sure.items()):
        began = time.monotonic()
        try:
            found = version_of(name, read_whole(f"{volume}/{name}"))
            if found < promised:
                wrong.append(f"{name}: version {found}, and {promised} was promised")
            if found > promises(ledgers)[1].get(name, 0):
                wrong.append(f"{name}: version {found}, which nobody has written")
        except (OSError, ValueError) as error:
            wrong.append(f"{name}: {error}")
        longest = max(longest, time.monotonic() - began)
    print(f"{len(sure)} files with promises, {sum(sure.values())} versions, the longest look {longest:.1f} s")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    {"write": write, "read": read, "check": check}[sys.argv[1]](*sys.argv[2:])
