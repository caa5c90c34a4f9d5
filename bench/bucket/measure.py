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

from ground import Mount, Server, ground, load, run
from table import table

FILES, MAKE_FILES, MIB, TABLE_MIB, READS = 4000, 10000, 512, 256, 64
# What waits for each file gets fewer of them: it would take minutes.
FEWER = {("s3fs", 0): 400, ("s3fs", 20): 48, ("rclone", 0): 2000, ("rclone", 20): 400}
FSYNCS = 200
PARTS = ("small", "make", "fsync", "long")


class Scene:
    """Where it happens, and what was seen."""

    def __init__(self, work, arguments):
        self.work, self.seen, self.number = work, [], 0
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
        for a long file is used, and free again."""
        load("write", self.local / "warm", MIB)
        run("sync", "-f", self.local)
        (self.local / "warm").unlink()

    def clear(self):
        for server in self.servers.values():
            server.counted("clear")
        for folder in self.local.glob("run-*"):
            shutil.rmtree(folder)
        run("sync", "-f", self.local)


def since(server, before):
    now = server.counted()
    kinds = {kind: count - before["kinds"].get(kind, 0) for kind, count in now["kinds"].items()}
    return {"requests": now["requests"] - before["requests"], "sent": now["sent"] - before["sent"],
            "kinds": {kind: count for kind, count in kinds.items() if count}}


def small(scene, name, late):
    """Small files until the bucket has them, by 1 and 8 writers; read again where nothing is."""
    for writers in (1, 8):
        files, bucket = FEWER.get((name, late), FILES), scene.bucket()
        server = scene.servers[late]
        with scene.mount(name, late, bucket, scene.fresh()) as mount:
            before = server.counted()
            made = load("make", mount.at / "d", files, writers)["s"]
            drained = mount.end()
            scene.note(f"small-{writers}", name, late, files=files, rate=files / (made + drained),
                       made_s=made, drained_s=drained, mib=mount.peak, **since(server, before))
        with scene.mount(name, late, bucket, scene.fresh()) as mount:
            before = server.counted()
            seconds = load("reread", mount.at / "d", files, writers)["s"]
            told = since(server, before)
            mount.end()
            scene.note(f"reread-{writers}", name, late, files=files, rate=files / seconds,
                       mount_s=mount.mount_s, mib=mount.peak, **told)


def make(scene, name, late):
    """Small files, without waiting for the bucket."""
    place = scene.fresh()
    if name == "ext4":
        place.mkdir()
        seconds = load("make", place / "d", MAKE_FILES, 1)["s"]
        return scene.note("make", name, late, rate=MAKE_FILES / seconds)
    with scene.mount(name, late, scene.bucket(), place) as mount:
        seconds = load("make", mount.at / "d", MAKE_FILES, 1)["s"]
        mount.end()
        return scene.note("make", name, late, rate=MAKE_FILES / seconds, mib=mount.peak)


def fsync(scene, name, late):
    """fsync of small files: on the disk, or in the bucket."""
    place = scene.fresh()
    if name == "ext4":
        place.mkdir()
        return scene.note("fsync", name, late, ms=1000 * load("fsync", place / "d", FSYNCS, 1)["median"])
    with scene.mount(name, late, scene.bucket(), place) as mount:
        scene.note("fsync", name, late, ms=1000 * load("fsync", mount.at / "d", FSYNCS, 1)["median"])
    if late:
        for callers in (1, 8):
            server, options = scene.servers[late], ("--durable", "bucket")
            with scene.mount(name, late, scene.bucket(), scene.fresh(), *options) as mount:
                before = server.counted()
                told = load("fsync", mount.at / "d", 40, callers)
                told = {"ms": 1000 * told["median"], "most_ms": 1000 * told["most"], "files": 40 * callers}
                scene.note(f"durable-{callers}", name, late, **told, **since(server, before))
    return None


def long(scene, name, late):
    """A long file written until the bucket has it, and read where nothing is; another at random."""
    bucket, own, server = scene.bucket(), scene.fresh(), scene.servers[late]
    if name == "client":
        return client(scene, late, bucket, own)
    with scene.mount(name, late, bucket, own) as mount:
        load("write", mount.at / "table", TABLE_MIB)
        mount.end()
    with scene.mount(name, late, bucket, own) as mount:
        scene.warm()
        wrote = load("write", mount.at / "large", MIB)["s"]
        drained = mount.end()
        scene.note("write", name, late, rate=MIB / (wrote + drained), wrote_s=wrote, drained_s=drained,
                   mib=mount.peak)
    with scene.mount(name, late, bucket, scene.fresh()) as mount:
        seed = random.randrange(1 << 30)
        for part in ("random", "random-again"):
            before = server.counted()
            told = load("random", mount.at / "table", READS, seed)
            told = {"ms": 1000 * told["median"], "reads": READS}
            scene.note(part, name, late, **told, **since(server, before))
        scene.warm()
        before = server.counted()
        seconds = load("read", mount.at / "large", MIB)["s"]
        told = since(server, before)
        mount.end()
        return scene.note("read", name, late, rate=MIB / seconds, mib=mount.peak, **told)


def client(scene, late, bucket, own):
    """The same by the client alone; and with a file on the disk, as a volume has one."""
    own.mkdir()
    scene.warm()
    wrote = load("write", own / "from", MIB)["s"]
    words = {"write": ("put", own / "from"), "read": ("get",), "keep": ("get", own / "into")}
    took = {}
    for part, (word, *file) in words.items():
        if part == "keep":
            scene.warm()
        command = (scene.work / "objects", word, f"s3://{bucket}/v", "large", *file)
        took[part] = float(run(*command, env=scene.servers[late].settings))
    scene.note("write", "client", late, rate=MIB / took["write"])
    scene.note("write", "client, file", late, rate=MIB / (wrote + took["write"]), wrote_s=wrote)
    scene.note("read", "client", late, rate=MIB / took["read"])
    scene.note("read", "client, file", late, rate=MIB / took["keep"])


STORES = {small: ("forebay", "s3fs", "rclone"), make: ("ext4", "forebay"), fsync: ("ext4", "forebay"),
          long: ("client", "forebay", "s3fs", "rclone")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--latencies", type=lambda text: [int(one) for one in text.split(",")],
                        default=[0, 20])
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
                        scene.note(f"failed: {part.__name__}", name, late, why=str(error)[:300])
                    scene.clear()
        print(f"bucket: repeat {repeat + 1}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    print(table(scene.seen, arguments.latencies, arguments.repeats))
    sys.exit(any(one["part"].startswith("failed") for one in scene.seen))


if __name__ == "__main__":
    main()
