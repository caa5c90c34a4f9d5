#!/usr/bin/env python3
"""Runs 1 to 4 of the demo's workflows at once on this machine, once in the order of their coming
and once with the map jobs at low priority and a stagger, and says what came of it.

    studies/wgs-corun/measure.py [--most 4] [--slots 2] [--stagger 10] [--forebay PATH]

Needs the inputs of the demo (`make demo` makes them). Each of the runs takes a minute and more;
nothing else should run on the machine. The results are appended to target/studies/wgs-corun.jsonl,
one line for each run, and the traces are kept beside it.
"""
import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = ROOT / "target/studies"


def space(folder):
    """Bytes that the files of a folder take, in blocks; what goes away meanwhile counts nothing."""
    total, stack = 0, [folder]
    while stack:
        try:
            entries = list(os.scandir(stack.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
            except OSError:
                pass
    return total


class Peak(threading.Thread):
    """The most that a folder held, looked at twice a second."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.most, self.over = folder, 0, threading.Event()

    def run(self):
        while not self.over.wait(0.5):
            self.most = max(self.most, space(self.folder))

    def end(self):
        self.over.set()
        self.join()
        return self.most


def busy_seconds(run):
    """Time that tasks had a slot, and when the last task of each pipeline was done."""
    rows = sqlite3.connect(f"file:{run}?mode=ro", uri=True).execute(
        "SELECT name, started_us, ended_us FROM tasks WHERE kind = 'task' AND engine = 'snakemake'"
        " AND started_us IS NOT NULL AND ended_us IS NOT NULL").fetchall()
    tasks = [(name, start / 1e6, end / 1e6) for name, start, end in rows
             if name != "wait_for_turn"]
    ends = {}
    for name, _, end in tasks:
        pipeline = name.split("_")[0]
        ends[pipeline] = max(end, ends.get(pipeline, 0))
    return sum(end - start for _, start, end in tasks), sorted(ends.values())


def measure(arguments, pipelines, low):
    folder = OUT / "wgs-corun"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    stagger = arguments.stagger if low else 0
    run = OUT / f"wgs-corun-{pipelines}-{'low' if low else 'fifo'}.run"
    run.unlink(missing_ok=True)
    command = [
        arguments.forebay, "run", "-q", "-o", run, "--", ROOT / ".venv/bin/snakemake",
        "--quiet", "rules", "--scheduler", "greedy", "--cores", arguments.slots + pipelines,
        "--default-resources", "slots=1", "--resources", f"slots={arguments.slots}",
        "--snakefile", HERE / "Snakefile", "--config", f"pipelines={pipelines}",
        f"inputs={ROOT / 'target/demo/inputs/data'}", f"stagger={stagger}",
        *(["low=map"] if low else []),
    ]
    path = f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"
    peak = Peak(folder)
    peak.start()
    began = time.monotonic()
    with open(OUT / "wgs-corun.log", "wb") as log:
        subprocess.run([str(word) for word in command], cwd=folder, check=True, stdout=log,
                       stderr=log, env={**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1",
                                        "XDG_CACHE_HOME": str(OUT / "cache")})
    seconds = time.monotonic() - began
    most = peak.end()
    busy, ends = busy_seconds(run)
    shutil.rmtree(folder)
    return {
        "pipelines": pipelines, "policy": "low-priority" if low else "fifo", "stagger_s": stagger,
        "slots": arguments.slots, "makespan_s": round(seconds, 1),
        "samples_per_hour": round(3600 * pipelines / seconds, 1),
        "utilisation": round(busy / (arguments.slots * seconds), 3),
        "ends_s": [round(end, 1) for end in ends], "peak_bytes": most, "load": os.getloadavg()[0],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--most", type=int, default=4, choices=range(1, 5))
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--stagger", type=float, default=10)
    parser.add_argument("--forebay", default=ROOT / "target/release/forebay")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    print("| pipelines | policy | makespan | samples/h | utilisation | first done | peak space |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for pipelines in range(1, arguments.most + 1):
        for low in ([False, True] if pipelines > 1 else [False]):
            result = measure(arguments, pipelines, low)
            with open(OUT / "wgs-corun.jsonl", "a", encoding="utf-8") as results:
                results.write(json.dumps(result) + "\n")
            print(f"| {pipelines} | {result['policy']} | {result['makespan_s']} s |"
                  f" {result['samples_per_hour']} | {result['utilisation']:.0%} |"
                  f" {result['ends_s'][0] if result['ends_s'] else '-'} s |"
                  f" {result['peak_bytes'] / 2**20:.0f} MiB |", flush=True)


if __name__ == "__main__":
    main()
