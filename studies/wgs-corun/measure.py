#!/usr/bin/env python3
"""Runs 1 to 4 of the demo's workflows at once on this machine, once in the order of their coming
and once with the map jobs at low priority and a stagger, and says what came of it, beside what
`forebay simulate` had said before, from one recorded run of one workflow alone.

    studies/wgs-corun/measure.py [--most 4] [--stagger 10] [--forebay PATH]

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
# As many as the machine that is learnt from has.
SLOTS = len(os.sched_getaffinity(0))
# What is compared, and the unit it is printed in.
UNITS = {"makespan_s": 1, "samples_per_hour": 1, "utilisation": 0.01, "peak_bytes": 2**20}


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


def predict(arguments, learnt, pipelines, low):
    """What the simulator expects, from the run of one workflow."""
    words = [arguments.forebay, "simulate", learnt, "--json", "--pipelines", pipelines]
    if low:
        words += ["--policy", "low-priority", "--low", "map", "--stagger",
                  f"{arguments.stagger}s"]
    out = subprocess.run([str(word) for word in words], check=True, capture_output=True).stdout
    told = json.loads(out)
    return {
        "makespan_s": round(told["makespan_s"], 1),
        "samples_per_hour": round(told["samples_per_hour"], 1),
        "utilisation": round(told["utilisation"], 3),
        "peak_bytes": sum(tier["peak_bytes"] for tier in told["tiers"].values()),
    }


def measure(arguments, pipelines, low, trace=()):
    folder = OUT / "wgs-corun"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    stagger = arguments.stagger if low else 0
    what = "learnt" if trace else "low" if low else "fifo"
    run = OUT / f"wgs-corun-{pipelines}-{what}.run"
    run.unlink(missing_ok=True)
    inputs = f"inputs={ROOT / 'target/demo/inputs/data'}"
    command = [arguments.forebay, "run", "-q", *trace, "-o", run, "--",
               ROOT / ".venv/bin/snakemake", "--quiet", "rules"]
    if trace:
        # The workflow by itself, as its users have run it before they think of two at once.
        command += ["--cores", SLOTS, "--snakefile", ROOT / "workflows/wgs/Snakefile",
                    "--config", inputs]
    else:
        command += ["--scheduler", "greedy", "--cores", SLOTS + pipelines,
                    "--default-resources", "slots=1", "--resources", f"slots={SLOTS}",
                    "--snakefile", HERE / "Snakefile", "--config", f"pipelines={pipelines}",
                    inputs, f"stagger={stagger}", *(["low=map"] if low else [])]
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
        "slots": SLOTS, "makespan_s": round(seconds, 1),
        "samples_per_hour": round(3600 * pipelines / seconds, 1),
        "utilisation": round(busy / (SLOTS * seconds), 3),
        "ends_s": [round(end, 1) for end in ends], "peak_bytes": most, "load": os.getloadavg()[0],
    }, run


def row(pipelines, policy, *pairs):
    """A line of the table; a pair is what was measured and what was predicted."""
    cells = [str(pipelines), policy]
    for measured, predicted in pairs:
        cells += [f"{measured:.1f}", f"{predicted:.1f} ({predicted / measured - 1:+.0%})"]
    return f"| {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--most", type=int, default=4, choices=range(1, 5))
    parser.add_argument("--stagger", type=float, default=10)
    parser.add_argument("--forebay", default=ROOT / "target/release/forebay")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    # With each read recorded: it is what tells the prices of operations.
    alone, learnt = measure(arguments, 1, False, ("--trace", "every-read"))
    print(f"learnt from one run, every read recorded: {alone['makespan_s']} s\n")
    print("| pipelines | policy | makespan, s | predicted | samples/h | predicted | utilisation, % |"
          " predicted | peak, MiB | predicted |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for pipelines in range(1, arguments.most + 1):
        for low in ([False, True] if pipelines > 1 else [False]):
            told = predict(arguments, learnt, pipelines, low)
            result, _ = measure(arguments, pipelines, low)
            with open(OUT / "wgs-corun.jsonl", "a", encoding="utf-8") as results:
                results.write(json.dumps({**result, "predicted": told}) + "\n")
            pairs = [(result[key] / unit, told[key] / unit) for key, unit in UNITS.items()]
            print(row(pipelines, result["policy"], *pairs), flush=True)


if __name__ == "__main__":
    main()
