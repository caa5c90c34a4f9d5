"""A Nextflow workflow in a directory on the bucket, its work directory included, and on the disk."""
import os
import time
from pathlib import Path

from ground import run
from parts import since

BENCH = Path(__file__).resolve().parent.parent


def say(scene, word, at):
    """One word of bench/pipelines/nextflow.sh; the seconds."""
    settings = {**os.environ, "FOREBAY_ROOT": str(BENCH.parent), "XDG_STATE_HOME": str(scene.work / "engine")}
    began = time.perf_counter()
    run("bash", BENCH / "pipelines" / "nextflow.sh", word, cwd=at, env=settings)
    return time.perf_counter() - began


def flow(scene, name, late):
    """The seconds until the engine ends, and until all of it is stored."""
    if not late:
        return None
    place = scene.fresh()
    if not (scene.work / "engine").exists():
        # Once without being counted, so that programs are in memory for all.
        (scene.work / "engine").mkdir()
        place.mkdir()
        for word in ("ready", "prepare", "run"):
            say(scene, word, place)
        place = scene.fresh()
    if name == "ext4":
        place.mkdir()
        say(scene, "prepare", place)
        seconds = say(scene, "run", place)
        say(scene, "verify", place)
        return scene.note("flow", name, late, s=seconds, stored_s=seconds)
    bucket, server = scene.bucket(), scene.servers[late]
    with scene.mount(name, late, bucket, place) as mount:
        say(scene, "prepare", mount.at)
        before = server.counted()
        seconds = say(scene, "run", mount.at)
        drained = mount.end()
        told = since(server, before)
    with scene.mount(name, late, bucket, scene.fresh()) as mount:
        say(scene, "verify", mount.at)
        mount.end()
    return scene.note("flow", name, late, s=seconds, stored_s=seconds + drained, mib=mount.peak, **told)
