#!/usr/bin/env python3
"""Measures what bench/bucket.sh says, each thing as often as it says, all of them in turn; then
prints the table."""
import argparse
import json
import random
import shutil
import sys
import time
from pathlib import Path

from flow import flow
from ground import Mount, Server, ground, load, run
from memory import MEMORY
from parts import MIB, STORES
from table import table

PARTS = ("small", "make", "fsync", "long", "flow", "queue", "stream")
STORES = {**STORES, flow: ("ext4", "forebay"), **MEMORY}


class Scene:
    """Where it happens, and what was seen."""

    def __init__(self, work, arguments):
        self.work, self.seen, self.number, self.gib = work, [], 0, arguments.gib
        self.results = open(work.parent / "bucket.jsonl", "a", encoding="utf-8")
        self.local = ground(work)
        self.servers = {late: Server(work, late) for late in arguments.latencies}

    def fresh(self):
        self.number += 1
        return self.local / f"run-{self.number:04}"

    def note(self, part, name, late, **values):
        one = {"part": part, "store": name, "late": late, **values}
        self.seen.append(one)
        self.results.write(json.dumps(one) + "\n")
        self.results.flush()
        print("bucket:", json.dumps(one), file=sys.stderr, flush=True)

    def mount(self, name, late, bucket, own, *options):
        return Mount(name, self, self.servers[late], bucket, own, options)

    def bucket(self):
        self.number += 1
        return f"b{self.number:04}"

    def warm(self):
        """The first use of a page of a virtual machine's memory costs a fault in its host: memory
        for a long file is used, and free again: twice as much, for a file and for what is read of
        it."""
        load("write", self.local / "warm", 2 * MIB)
        run("sync", "-f", self.local)
        (self.local / "warm").unlink()

    def clear(self):
        for server in self.servers.values():
            server.counted("clear")
        for folder in self.local.glob("run-*"):
            shutil.rmtree(folder)
        run("sync", "-f", self.local)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--latencies", type=lambda text: [int(one) for one in text.split(",")],
                        default=[0, 20])
    parser.add_argument("--gib", type=int, default=100)
    parser.add_argument("--only", type=lambda text: text.split(","), default=PARTS)
    parser.add_argument("--without", type=lambda text: text.split(","), default=())
    arguments = parser.parse_args()
    scene, began = Scene(arguments.work.resolve(), arguments), time.monotonic()
    for repeat in range(arguments.repeats):
        for late in arguments.latencies:
            for part in (part for part in STORES if part.__name__ in arguments.only):
                stores = [name for name in STORES[part] if name not in arguments.without]
                for name in random.sample(stores, len(stores)):
                    try:
                        part(scene, name, late)
                    except RuntimeError as error:
                        # The others are measured all the same.
                        why = " ".join(str(error).split())
                        why = why if len(why) <= 300 else f"{why[:100]} ... {why[-200:]}"
                        scene.note(f"failed: {part.__name__}", name, late, why=why)
                    scene.clear()
        print(f"bucket: repeat {repeat + 1}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    print(table(scene.seen, arguments.latencies, arguments.repeats))
    sys.exit(any(one["part"].startswith("failed") for one in scene.seen))


if __name__ == "__main__":
    main()
