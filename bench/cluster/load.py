#!/usr/bin/env python3
"""What one node does; prints JSON.

    load.py tasks FOLDER SECONDS     tasks of a workflow in folders of their own, until the time is over
    load.py looks FOLDER COUNT       what a head node asks of so many finished tasks: status, listing
    load.py fresh A B TRIES          A closes, B looks at once: how often it sees something old
    load.py write FILE MIB           a file that no two parts of are alike
    load.py read FILE                reads it from its start to its end
"""
import json
import os
import sys
import time
from pathlib import Path

SMALL = b"a line of a task's log, of some length\n" * 8
MIB = 1 << 20
# What Nextflow keeps of a task beside its results.
KEPT = (".command.sh", ".command.run", ".command.begin", ".command.out", ".command.err", ".command.log",
        ".command.trace", "counts.tsv", "summary.txt")


def put(path, body, flags=os.O_TRUNC):
    file = os.open(path, os.O_CREAT | os.O_WRONLY | flags, 0o644)
    os.write(file, body)
    os.close(file)


def get(path):
    """Its bytes; where there is none, the error's number."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        return error.errno


def task(folder):
    """12 files, a link, a rename, a removal, and what a wrapper asks in between."""
    os.mkdir(folder)
    for name in KEPT:
        put(f"{folder}/{name}", SMALL)
    put(f"{folder}/sorted.part", SMALL)
    put(f"{folder}/scratch", SMALL)
    os.symlink("counts.tsv", f"{folder}/input.tsv")
    os.rename(f"{folder}/sorted.part", f"{folder}/sorted")
    os.unlink(f"{folder}/scratch")
    os.stat(f"{folder}/sorted")
    os.listdir(folder)
    get(f"{folder}/input.tsv")
    put(f"{folder}/.exitcode", b"0")


def tasks(folder, seconds):
    os.mkdir(folder)
    end, took = time.monotonic() + float(seconds), []
    while time.monotonic() < end:
        began = time.perf_counter()
        task(f"{folder}/{len(took)}")
        took.append(time.perf_counter() - began)
    return {"done": len(took), "task_s": sorted(took)[len(took) // 2]}


def looks(folder, count):
    took = []
    for number in range(int(count)):
        began = time.perf_counter()
        status, names = get(f"{folder}/{number}/.exitcode"), os.listdir(f"{folder}/{number}")
        took.append(time.perf_counter() - began)
        if status != b"0" or len(names) != len(KEPT) + 3:
            raise RuntimeError(f"{folder}/{number}: {status!r}, {names}")
    return {"looks_s": took}


def fresh(first, second, tries):
    """By case: tries whose first look was stale, and the longest that one stayed so."""
    def over(name, number):
        put(f"{first}/{name}", b"%d" % number)

    def renamed(number):
        put(f"{first}/new", b"%d" % number)
        os.rename(f"{first}/new", f"{first}/renamed")

    def size(number):
        try:
            return os.stat(f"{second}/grown").st_size == 3 * (number + 1)
        except OSError:
            return False
    # name: what B does before, what A does, whether B sees it
    cases = {
        "a new file": (None, lambda n: over(f"made{n}", n), lambda n: get(f"{second}/made{n}") == b"%d" % n),
        "one that was asked for before": (
            lambda n: os.path.exists(f"{second}/asked{n}"), lambda n: over(f"asked{n}", n),
            lambda n: get(f"{second}/asked{n}") == b"%d" % n),
        "written over": (lambda n: get(f"{second}/over"), lambda n: over("over", n),
                         lambda n: get(f"{second}/over") == b"%d" % n),
        "renamed over": (lambda n: get(f"{second}/renamed"), renamed,
                         lambda n: get(f"{second}/renamed") == b"%d" % n),
        "grown: its bytes": (lambda n: get(f"{second}/longer"), lambda n: put(f"{first}/longer", b"abc", os.O_APPEND),
                             lambda n: get(f"{second}/longer") == b"abc" * (n + 1)),
        "grown: its size": (lambda n: size(n - 1), lambda n: put(f"{first}/grown", b"abc", os.O_APPEND), size),
        "removed": (lambda n: (over(f"gone{n}", n), get(f"{second}/gone{n}")),
                    lambda n: os.unlink(f"{first}/gone{n}"), lambda n: get(f"{second}/gone{n}") == 2),
        "listed": (lambda n: os.listdir(second), lambda n: over(f"listed{n}", n),
                   lambda n: f"listed{n}" in os.listdir(second)),
    }
    seen = {}
    for name, (before, act, ok) in cases.items():
        stale = longest = 0
        for number in range(int(tries)):
            if before:
                before(number)
            act(number)
            began = time.monotonic()
            if not ok(number):
                stale += 1
                while not ok(number):
                    if time.monotonic() - began > 30:
                        raise RuntimeError(f"{name}, {number}: not seen within 30 s")
                    time.sleep(0.001)
                longest = max(longest, time.monotonic() - began)
        seen[name] = (stale, longest)
    return {"fresh": seen}


def write(path, mib):
    part = os.urandom(MIB)
    with open(path, "wb", buffering=0) as file:
        for number in range(int(mib)):
            file.write(number.to_bytes(8, "little") + part[8:])
    return {}


def read(path):
    began, size = time.perf_counter(), 0
    with open(path, "rb", buffering=0) as file:
        while part := file.read(MIB):
            size += len(part)
    return {"read_s": time.perf_counter() - began, "bytes": size}


if __name__ == "__main__":
    parts = {"tasks": tasks, "looks": looks, "fresh": fresh, "write": write, "read": read}
    print(json.dumps(parts[sys.argv[1]](*sys.argv[2:])))
