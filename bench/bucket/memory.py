"""The memory of a daemon where much goes through it: once, for it is not a matter of speed."""
from ground import load

QUEUED, GIB, SPACE = 100_000, 1024, "4GiB"


def once(part):
    """At the last latency only, and in the first repeat."""
    def measured(scene, name, late):
        has_it = any(one["part"] == part.__name__ for one in scene.seen)
        if late == max(scene.servers) and not has_it:
            part(scene, name, late)
    measured.__name__ = part.__name__
    return measured


@once
def queue(scene, name, late):
    """Small files while the bucket does not answer, and until it has them."""
    server = scene.servers[late]
    with scene.mount(name, late, scene.bucket(), scene.fresh()) as mount:
        with server.away():
            made = load("make", mount.at / "d", QUEUED, 1)["s"]
            mount.look(once=True)
            queued = mount.peak
        drained = mount.end()
        scene.note("queue", name, late, files=QUEUED, made_s=made, drained_s=drained, queued_mib=queued,
                   mib=mount.peak)


@once
def stream(scene, name, late):
    """Files of 1 GiB written and read, more of them than the disk holds. Their bytes are alike, so
    the server keeps a part of one; each is sent and checked all the same."""
    bucket, options = scene.bucket(), ("--space", SPACE)
    peaks, took = {}, {}
    for word, verb in (("written", "pour"), ("read", "read")):
        with scene.mount(name, late, bucket, scene.fresh(), *options) as mount:
            took[word] = sum(load(verb, mount.at / f"f{number:04}", GIB)["s"] for number in range(scene.gib))
            took[word] += mount.end()
            peaks[word] = mount.peak
    scene.note("stream", name, late, gib=scene.gib, written_s=took["written"], read_s=took["read"],
               written_mib=peaks["written"], read_mib=peaks["read"], mib=max(peaks.values()))


MEMORY = {queue: ("forebay",), stream: ("forebay",)}
