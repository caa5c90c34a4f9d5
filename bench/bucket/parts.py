"""The parts of the measurement: each does one thing with one store and notes what was seen."""
import random

from ground import load, run

FILES, MAKE_FILES, MIB, TABLE_MIB, READS = 4000, 10000, 512, 256, 64
# What waits for each file gets fewer of them: it would take minutes.
FEWER = {("s3fs", 0): 400, ("s3fs", 20): 48, ("rclone", 0): 2000, ("rclone", 20): 400}
FSYNCS = 200


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
