#!/usr/bin/env python3
"""Measures what bench/cluster.sh says, all systems in turn, and prints the tables."""
import argparse
import contextlib
import json
import random
import subprocess
import sys
import time
from pathlib import Path

from nodes import HEAD, network
from systems import SYSTEMS
from tables import tables

from ground import Server, ground, run  # noqa: E402, of bench/bucket, which nodes put on the path

LOAD = Path(__file__).with_name("load.py")
PARTS = ("tasks", "fresh", "reference", "idle", "memory")
LOOKED_AT = 200     # finished tasks that the head asks for
SETTLE_S = 15       # until what PostgreSQL counts has arrived (its backends tell it up to 10 s late)
QUIET_S = 40        # how long idle nodes are watched


class Scene:
    """Where it happens, and what was seen."""

    def __init__(self, work, wanted):
        self.work, self.seen, self.forebay = work, [], work / "forebay"
        self.results = open(work.parent / "cluster.jsonl", "a", encoding="utf-8")
        self.local = ground(work)
        self.nodes = network(4)
        self.server = Server(work, wanted.latency, "--listen", HEAD, "--rate", str(wanted.rate))
        self.started = {}

    def system(self, name):
        if name not in self.started:
            self.started[name] = SYSTEMS[name](self)
        return self.started[name]

    def note(self, part, name, nodes, **values):
        one = {"part": part, "system": name, "nodes": nodes, **values}
        self.seen.append(one)
        self.results.write(json.dumps(one) + "\n")
        self.results.flush()
        print("cluster:", json.dumps(one), file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def mounted(self, name, count):
        """An empty volume on so many nodes."""
        system = self.system(name)
        system.fresh()
        with contextlib.ExitStack() as mounts:
            points = []
            for node in self.nodes[:count]:
                points.append((node, system.mount(node)))
                mounts.callback(system.unmount, node)
            yield points


def begin(node, *words):
    return subprocess.Popen(node.inside(sys.executable, "-B", LOAD, *words), stdout=subprocess.PIPE, text=True)


def end(child):
    said, _ = child.communicate(timeout=300)
    if child.returncode:
        raise RuntimeError(f"{child.args}: {child.returncode}")
    return json.loads(said)


def tasks(scene, name, count, wanted):
    """Each node does tasks in its own folder; then the last node looks at those of the first one."""
    with scene.mounted(name, count) as points:
        ran = [begin(node, "tasks", point / f"n{node.number}", wanted.seconds) for node, point in points]
        ran = [end(child) for child in ran]
        values = {"rate": sum(one["done"] for one in ran) / wanted.seconds,
                  "task_ms": 1000 * max(one["task_s"] for one in ran)}
        if count > 1:
            node, point = points[-1]
            looked = min(ran[0]["done"], LOOKED_AT)
            took = sorted(end(begin(node, "looks", point / "n1", looked))["looks_s"])
            values |= {"look_p50_ms": 1000 * took[len(took) // 2],
                       "look_p99_ms": 1000 * took[min(len(took) - 1, len(took) * 99 // 100)]}
    scene.note("tasks", name, count, **values)


def fresh(scene, name, count, wanted):
    """A closes and B looks, both ways."""
    with scene.mounted(name, count) as points:
        for number, (one, other) in enumerate(((points[0], points[1]), (points[1], points[0]))):
            first, second = one[1] / f"f{number}", other[1] / f"f{number}"
            first.mkdir()
            while not second.is_dir():
                time.sleep(0.05)
            seen = end(begin(one[0], "fresh", first, second, wanted.tries))["fresh"]
            scene.note("fresh", name, count, tries=wanted.tries, cases=seen)


def reference(scene, name, count, wanted):
    """One long file, read by one node alone, then by all at once; each time on nodes that know nothing."""
    system = scene.system(name)
    system.fresh()
    size = wanted.reference << 20

    def read_by(nodes):
        points = [(node, system.mount(node)) for node in nodes]
        before = scene.server.counted()["sent"]
        ran = [begin(node, "read", point / "reference") for node, point in points]
        ran = [end(child) for child in ran]
        sent = scene.server.counted()["sent"] - before
        for node in nodes:
            system.unmount(node)
        if any(one["bytes"] != size for one in ran):
            raise RuntimeError(f"{name}: {ran} of {size} bytes")
        return [size / one["read_s"] / 1e6 for one in ran], sent / size
    first = scene.nodes[0]
    end(begin(first, "write", system.mount(first) / "reference", wanted.reference))
    system.unmount(first)
    (alone,), _ = read_by(scene.nodes[1:2])
    rates, fetched = read_by(scene.nodes[:count])
    values = {"alone_mb_s": alone, "slowest_mb_s": min(rates)}
    if system.has_bucket:
        values["times_fetched"] = fetched
    scene.note("reference", name, count, mib=wanted.reference, **values)


def idle(scene, name, count, _wanted):
    """Transactions that nodes ask for while nobody does anything, and the database tidies nothing up."""
    system = scene.system(name)

    def transactions():
        return int(system.asked("SELECT xact_commit + xact_rollback FROM pg_stat_database "
                                "WHERE datname = 'forebay'"))
    with scene.mounted(name, count):
        system.asked("ALTER SYSTEM SET autovacuum = off", "SELECT pg_reload_conf()")
        time.sleep(SETTLE_S)
        before = transactions()
        time.sleep(QUIET_S)
        asked = transactions() - before - 1     # the one that asks
        system.asked("ALTER SYSTEM RESET autovacuum", "SELECT pg_reload_conf()")
    scene.note("idle", name, count, each_5_s=asked / count / (QUIET_S / 5))


def resident(point):
    """MiB of the daemon whose mount it is."""
    sizes = []
    for process in Path("/proc").glob("[0-9]*"):
        words = (process / "cmdline").read_bytes().split(b"\0") if process.is_dir() else []
        if bytes(point) in words and b"mount" in words:
            told = (process / "status").read_text().partition("VmRSS:")[2]
            sizes.append(int(told.split()[0]) / 1024)
    return max(sizes)


def memory(scene, name, count, wanted):
    """A node makes many files, another one lists a folder of them; what their daemons take then, and
    what the first one's takes when it mounts anew."""
    system = scene.system(name)
    system.fresh()
    (maker, at), (other, there) = [(node, system.mount(node)) for node in scene.nodes[:count]]
    values = {"empty_mib": resident(at)}
    for folder in range(wanted.names // 1000):
        (at / f"d{folder}").mkdir()
        for number in range(1000):
            (at / f"d{folder}" / str(number)).write_bytes(b"x" * 300)
    values["maker_mib"] = resident(at)
    if len(list((there / "d0").iterdir())) != 1000:
        raise RuntimeError("the other node does not see 1,000 files")
    values["other_mib"] = resident(there)
    run(scene.forebay, "unmount", at, env=system.environment)
    system.mount(maker)
    list((at / "d1").iterdir())
    values["again_mib"] = resident(at)
    for node in (maker, other):
        system.unmount(node)
    scene.note("memory", name, count, names=wanted.names, **values)


def turns(wanted):
    """What one repeat does: (part, system, nodes)."""
    names = [name for name in SYSTEMS if name not in wanted.without]
    for name in names:
        for count in (1, 2, 4):
            if "tasks" in wanted.only and count <= SYSTEMS[name].most_nodes:
                yield tasks, name, count


def once(wanted):
    """What is no matter of luck, and what takes long."""
    for name in SYSTEMS:
        if name not in wanted.without and "fresh" in wanted.only and SYSTEMS[name].most_nodes > 1:
            yield fresh, name, 2
    for name in SYSTEMS:
        if name not in wanted.without and "reference" in wanted.only and SYSTEMS[name].most_nodes > 1:
            yield reference, name, 4
    if "idle" in wanted.only:
        yield idle, "forebay", 4
    if "memory" in wanted.only:
        yield memory, "forebay", 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--latency", type=float, default=0)
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--names", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=25)
    parser.add_argument("--reference", type=int, default=1024)
    parser.add_argument("--only", type=lambda words: words.split(","), default=PARTS)
    parser.add_argument("--without", type=lambda words: words.split(","), default=())
    wanted = parser.parse_args()
    scene = Scene(wanted.work, wanted)
    plan = []
    for _ in range(wanted.repeats):
        repeat = list(turns(wanted))
        plan += random.sample(repeat, len(repeat))
    for part, name, count in [*plan, *once(wanted)]:
        part(scene, name, count, wanted)
    print(tables(scene.seen, wanted))


if __name__ == "__main__":
    main()
