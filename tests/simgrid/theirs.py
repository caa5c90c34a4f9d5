"""A case in SimGrid: a host for each node, a host for each storage and way, links between.

Each flow crosses the shared link of its storage, one that no flows share but that bounds each of
them (what one stream has), and that of its node where there is one. Links have no latency, and the
model of the network is plain max-min. SimGrid can be started once in a process, so each case has
one of its own.
"""

import multiprocessing
import os

MB = 1_000_000


def makespan(case):
    """Seconds."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=run, args=(case, theirs))
    process.start()
    theirs.close()
    try:
        seconds = ours.recv()
    except EOFError:
        raise RuntimeError(f"SimGrid died in case {case['name']!r}") from None
    finally:
        process.join(60)
    return seconds


class quiet:
    """SimGrid tells of its own settings before it can be told not to."""

    def __enter__(self):
        self.kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)

    def __exit__(self, *_):
        os.dup2(self.kept, 2)
        os.close(self.kept)


class Platform:
    def __init__(self, case):
        from simgrid import Engine, Link, LinkInRoute, NetZone

        self.engine = Engine(["simgrid", "--log=root.thres:critical", "--cfg=network/model:CM02",
                              "--cfg=network/TCP-gamma:0", "--cfg=network/crosstraffic:0",
                              "--cfg=network/bandwidth-factor:1", "--cfg=network/latency-factor:0",
                              "--cfg=network/weight-S:0"])
        zone = NetZone.create_full_zone("all")
        self.nodes = [zone.create_host(f"node{n}", 1e9).seal()
                      for n in range(case["nodes"])]
        self.ends = {}
        for name, has in case["storages"].items():
            for way in ("read", "write"):
                end = zone.create_host(f"{name}-{way}", 1e9).seal()
                self.ends[name, way] = end
                shared = zone.create_link(f"{name}-{way}-all", has[way] * MB).seal()
                stream = zone.create_link(f"{name}-{way}-stream", has["stream"] * MB)
                stream.set_sharing_policy(Link.SharingPolicy.FATPIPE, None)
                stream.seal()
                for number, node in enumerate(self.nodes):
                    links = [shared, stream]
                    if has["node"]:
                        own = zone.create_link(f"{name}-{way}-{number}", has["node"] * MB)
                        links.append(own.seal())
                    route = [LinkInRoute(link) for link in links]
                    pair = (end, node) if way == "read" else (node, end)
                    zone.add_route(pair[0].netpoint, pair[1].netpoint, None, None, route, False)
        for (name, way), end in self.ends.items():
            for (other, back), into in self.ends.items():
                if name != other and way == "read" and back == "write":
                    names = [f"{of}-{part}" for of in (f"{name}-read", f"{other}-write")
                             for part in ("all", "stream")]
                    route = [LinkInRoute(Link.by_name(link)) for link in names]
                    zone.add_route(end.netpoint, into.netpoint, None, None, route, False)
        zone.seal()

    def move(self, way, storage, size, node):
        end = self.ends[storage, way]
        self.flow(*((end, node) if way == "read" else (node, end)), size)

    def carry(self, storage, into, size):
        self.flow(self.ends[storage, "read"], self.ends[into, "write"], size)

    @staticmethod
    def flow(source, target, size):
        from simgrid import Comm

        Comm.sendto(source, target, size)


def run(case, answer):
    with quiet():
        import simgrid  # noqa: F401
    from simgrid import Actor, Engine, Semaphore

    platform = Platform(case)
    stages = {stage["name"]: stage for stage in case["stages"]}
    # Each job of a stage takes one from the gate of each stage before, and leaves one for each job
    # of each stage behind.
    waits = [(stage["name"], before, job) for stage in case["stages"]
             for before in stage["after"] for job in range(stage["jobs"])]
    gates = {wait: Semaphore(0) for wait in waits}
    left = {name: stage["jobs"] for name, stage in stages.items()}
    cores = [Semaphore(case["cores"]) for _ in platform.nodes]
    jobs = sum(left.values())
    over = Semaphore(0)
    ended = []

    def job(name, number, place):
        stage, node = stages[name], platform.nodes[place]
        for before in stage["after"]:
            gates[name, before, number].acquire()
        cores[place].acquire()
        for step in stage["steps"]:
            do(platform, stage, step, node)
        cores[place].release()
        left[name] -= 1
        if left[name] == 0:
            for (_, before, _), gate in gates.items():
                if before == name:
                    gate.release()
        ended.append(Engine.clock)
        over.release()

    def home():
        """One carries all that was written elsewhere, one file after the other."""
        for _ in range(jobs):
            over.acquire()
        for stage in case["stages"] if case["home"] else []:
            for step in stage["steps"]:
                if step[0] == "write" and step[1] != "slow":
                    for _ in range(stage["jobs"]):
                        platform.carry(step[1], "slow", step[2])
        ended.append(Engine.clock)

    place = 0
    for name, stage in stages.items():
        for number in range(stage["jobs"]):
            at = place % case["nodes"]
            Actor.create(f"{name}-{number}", platform.nodes[at], job, name, number, at)
            place += 1
    Actor.create("home", platform.nodes[0], home)
    platform.engine.run()
    answer.send(max(ended))


def do(platform, stage, step, node):
    from simgrid import this_actor

    if step[0] == "compute":
        # Cores are taken as a whole, so nobody shares one.
        this_actor.sleep_for(step[1])
    elif step[0] == "back":
        _, storage, size = stage["steps"][step[1]]
        platform.move("read", storage, size, node)
    else:
        platform.move(*step, node)
