"""Small cases for the comparison with SimGrid: some by hand, some from a seed.

A case is plain data: cores of each node and how many there are; storages with the rate of one
stream and that of all together, for reads and writes; stages of equal jobs with what they wait
for. A job's steps compute, read an input, write a file, or read back what
an earlier step wrote, one after the other. Where jobs wait for cores, all that wait are equal.
"""

import random

MB = 1_000_000


def storage(stream, read, write=None, node=None):
    """MB/s of one stream, of all reads, of all writes, of one node."""
    return {"stream": stream, "read": read, "write": write or read, "node": node}


def stage(name, jobs, steps, after=()):
    return {"name": name, "jobs": jobs, "steps": steps, "after": list(after)}


def case(name, stages, storages=None, cores=64, nodes=1, home=None):
    storages = storages or {"slow": storage(100, 250)}
    return {"name": name, "cores": cores, "nodes": nodes, "storages": storages, "stages": stages,
            "home": home}


def by_hand():
    flows = [("read", "slow", 900 * MB)]
    yield case("one flow", [stage("a", 1, flows)])
    yield case("two flows, nothing is full", [stage("a", 2, flows)])
    yield case("nine flows share a link", [stage("a", 9, flows)])
    yield case("short and long flows", [stage(f"s{n}", 1, [("read", "slow", n * 100 * MB)])
                                        for n in range(1, 8)])
    yield case("flows come while others are there", [
        stage(f"s{n}", 1, [("compute", 3.0 * n), ("read", "slow", 700 * MB)]) for n in range(6)])
    yield case("who computes is not slowed", [
        stage("flows", 6, flows), stage("cpu", 6, [("compute", 33.0)])])
    yield case("reads and writes have links of their own", [
        stage("r", 5, flows), stage("w", 5, [("write", "slow", 900 * MB)])])
    yield case("a barrier", [stage("a", 5, flows + [("compute", 2.0)]),
                             stage("b", 3, [("compute", 1.0)] + flows, ["a"])])
    yield case("jobs wait for cores", [stage("a", 11, flows + [("compute", 7.0)])], cores=4)
    yield case("links of nodes", [stage("a", 12, flows)], {"slow": storage(100, 1000, node=150)},
               cores=4, nodes=3)
    both = {"slow": storage(100, 250), "fast": storage(400, 600, 500)}
    copy = [("read", "slow", 500 * MB), ("compute", 1.0), ("write", "fast", 2000 * MB)]
    yield case("from one storage to another", [stage("a", 7, copy)], both)
    yield case("files come home when the run is done", [
        stage("a", 4, [("compute", 1.0), ("write", "fast", 300 * MB)])], both, home="end")


def from_seed(seed):
    """Layers of stages, each of which waits for some of those before it."""
    dice = random.Random(seed)
    storages = {"slow": storage(100, dice.choice([150, 250, 420])),
                "fast": storage(300, dice.choice([500, 800]), dice.choice([350, 900]))}
    stages = []
    for number in range(dice.randint(1, 6)):
        steps = []
        for _ in range(dice.randint(1, 4)):
            kind = dice.choice(["compute", "read", "write", "back"])
            written = [at for at, step in enumerate(steps) if step[0] == "write"]
            if kind == "compute":
                steps.append((kind, dice.randint(1, 400) / 10))
            elif kind == "back" and written:
                steps.append((kind, dice.choice(written)))
            else:
                storage_ = dice.choice(["slow", "fast"]) if kind == "write" else "slow"
                way = "write" if kind == "write" else "read"
                steps.append((way, storage_, dice.randint(20, 2000) * MB))
        before = [one["name"] for one in stages if dice.random() < 0.4]
        stages.append(stage(f"s{number}", dice.randint(1, 9), steps, before))
    return case(f"seed {seed}", stages, storages)
