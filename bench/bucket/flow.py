"""A Nextflow workflow with its work directory on the bucket, or all of its directory, and on the disk."""
import os
import time
from pathlib import Path

from ground import run
from parts import since

BENCH = Path(__file__).resolve().parent.parent


def say(scene, word, at, work):
    """One word of bench/pipelines/nextflow.sh in a directory; the seconds."""
    settings = {**os.environ, "FOREBAY_ROOT": str(BENCH.parent), "NXF_WORK": str(work),
                "XDG_STATE_HOME": str(scene.work / "engine")}
    began = time.perf_counter()
    run("bash", BENCH / "pipelines" / "nextflow.sh", word, cwd=at, env=settings)
    return time.perf_counter() - began


def flow(scene, name, late):
    """The seconds until the engine ends, and until all of it is stored."""
    if not late:
        return
    if not (scene.work / "engine").exists():
        # Once without being counted, so that programs are in memory for all.
        (scene.work / "engine").mkdir()
        on_disk(scene)
    if name == "ext4":
        seconds = on_disk(scene)
        for part in ("flow", "flow-all"):
            scene.note(part, name, late, s=seconds, stored_s=seconds)
        return
    work_on_bucket(scene, name, late)
    all_on_bucket(scene, name, late)


def on_disk(scene):
    place = scene.fresh()
    place.mkdir()
    for word in ("ready", "prepare"):
        say(scene, word, place, place / "work")
    seconds = say(scene, "run", place, place / "work")
    say(scene, "verify", place, place / "work")
    return seconds


def work_on_bucket(scene, name, late):
    bucket, server, place = scene.bucket(), scene.servers[late], scene.fresh()
    place.mkdir()
    say(scene, "prepare", place, place)
    with scene.mount(name, late, bucket, scene.fresh()) as mount:
        before = server.counted()
        seconds = say(scene, "run", place, mount.at / "work")
        drained = mount.end()
        told = since(server, before)
    say(scene, "verify", place, place)
    result = (place / "results" / "sums.txt").read_bytes()
    with scene.mount(name, late, bucket, scene.fresh()) as mount:
        made = [path.read_bytes() for path in mount.at.glob("work/*/*/sums.txt")]
        mount.end()
    if made != [result]:
        raise RuntimeError("the bucket has other bytes than the result")
    scene.note("flow", name, late, s=seconds, stored_s=seconds + drained, mib=mount.peak, **told)


def all_on_bucket(scene, name, late):
    bucket, server = scene.bucket(), scene.servers[late]
    with scene.mount(name, late, bucket, scene.fresh()) as mount:
        say(scene, "prepare", mount.at, mount.at / "work")
        before = server.counted()
        seconds = say(scene, "run", mount.at, mount.at / "work")
        drained = mount.end()
        told = since(server, before)
    with scene.mount(name, late, bucket, scene.fresh()) as mount:
        say(scene, "verify", mount.at, mount.at / "work")
        mount.end()
    scene.note("flow-all", name, late, s=seconds, stored_s=seconds + drained, mib=mount.peak, **told)
