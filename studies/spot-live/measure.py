#!/usr/bin/env python3
"""A node is taken away in the middle of a Nextflow run on a cluster: what that costs, predicted from a
record of an undisturbed run, and measured.

    studies/spot-live/measure.py [--repeat 1] [--back 20] [--forebay PATH]

Four nodes of Slurm's on this machine, with two slots each, and a head share a volume (one_run.sh,
main.nf). The pipeline runs undisturbed first, recorded where its jobs run (`forebay run --jobs`). From this
record `forebay simulate` says how long it takes undisturbed, and how long if node 3 is taken away after a
third or two thirds of that (`--interrupt`), for good or with an empty node in its place later. Then it
runs so, on a new cluster each time. Whatever comes out is printed. About 12 minutes, as root. The figures
are appended to target/studies/spot-live.jsonl.
"""
import argparse
import datetime
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))
from slurm_studies import call, contained, demand

OUT = ROOT / "target/studies/spot-live"
NODE = 3
SITE = """\
[nodes]
count = 4
cores = 2
slots = 2
[tier.net]
path = "/volume"
reach = "shared"
profile = { source = "the volume, on the disk of this machine: no limit is told" }
"""
# Until others may look into folders that a lost node held; the head's Nextflow does, and stands still. A
# lease is 15 s long and renewed every 5 s, so 10 to 15 s of it are left.
LEASE_S = 12.5
# Twice as long as a run with a loss takes at most.
PATIENCE_S = 600


def detection_s():
    """How long Nextflow takes to notice, by what it is told: it waits for the lease once, then for the exit
    code that never comes, and half the time between two looks."""
    config = (HERE / "nextflow.config").read_text("utf-8")
    waits, polls = (float(re.search(rf"\b{name} = '(\d+)s'", config)[1])
                    for name in ("exitReadTimeout", "pollInterval"))
    return LEASE_S + waits + polls / 2


class Run:
    """One run on a cluster of its own, and what it left."""

    def __init__(self, forebay, **words):
        work = Path(tempfile.mkdtemp(prefix="fb-", dir="/var/tmp"))    # short: a socket's path has 108 bytes
        work.chmod(0o755)
        for name in ("home", "tmp"):
            (work / name).mkdir()
        words = {"WORK": work, "HOME": work / "home", "TMPDIR": work / "tmp", "FOREBAY": forebay, **words}
        with open(OUT / "last-run.log", "w", encoding="utf-8") as log:
            child = contained(["bash", HERE / "one_run.sh"], words, cwd=work,
                              stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            try:
                status = child.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                child.kill()
                status = f"no end after {PATIENCE_S} s"
        if status:
            sys.exit(f"spot-live: the run failed: {status}\n  next:  {OUT}/last-run.log; what is left: {work}")
        self.read(work)
        shutil.rmtree(work)

    def read(self, work):
        self.log = (OUT / "last-run.log").read_text("utf-8")
        times = {word: float(at) for word, at in map(str.split, (work / "times").read_text().splitlines())}
        self.wall_s = times["ended"] - times["began"]
        self.results = (work / "results/calls.txt").read_text()
        lost = times.get("lost")
        self.back_s = times["back"] - lost if "back" in times else None
        attempts = {one.name: [line.split() for line in one.read_text().splitlines()]
                    for one in (work / "started").iterdir()}
        again = [all_[:-1] for all_ in attempts.values() if len(all_) > 1]
        self.elsewhere = sum(node != f"n{NODE}" for all_ in again for _, node in all_)
        self.lost_s = sum(lost - float(begin) for all_ in again for begin, _ in all_) if lost else 0.0
        log = (work / "head/.nextflow.log").read_text("utf-8")
        # A job that Slurm had given to the node and that had not come to its first line is lost, too.
        told = re.findall(r"^(\w+-\d+ [\d:.]+) .*NOTE: Process .* terminated for an unknown reason", log, re.M)
        self.again = len(told)
        year = datetime.datetime.now(datetime.timezone.utc).year
        self.noticed_s = told and lost and datetime.datetime.strptime(
            f"{year} {told[0]}", "%Y %b-%d %H:%M:%S.%f").timestamp() - lost


def predict(forebay, *words):
    told = json.loads(call(forebay, "simulate", OUT / "alone.run", "--site", OUT / "site.toml", "--project",
                           "net", "--json", *words))
    return {"wall_s": told["makespan_s"], "again": told["tasks_again"], "lost_s": told["lost_s"]}


HEAD = ("node 3 is taken away", "wall time, s: predicted", "measured", "error",
        "later than undisturbed, s: predicted", "measured", "tasks again: predicted", "measured",
        "of their time lost, s: predicted", "measured", "noticed after, s: predicted", "measured", "results")


def row(what, predicted, measured, calm, same):
    cells = [what, f"{predicted['wall_s']:.1f}", f"{measured.wall_s:.1f}",
             f"{predicted['wall_s'] / measured.wall_s - 1:+.0%}"]
    if calm is None:
        return cells + ["-"] * (len(HEAD) - len(cells) - 1) + [same]
    cells += [f"{predicted['wall_s'] - calm[0]:.1f}", f"{measured.wall_s - calm[1]:.1f}"]
    cells += [str(predicted["again"]), f"{measured.again}"
              + (f", {measured.elsewhere} of them of other nodes" if measured.elsewhere else "")]
    cells += [f"{predicted['lost_s']:.1f}", f"{measured.lost_s:.1f}", f"{detection_s():.0f}",
              f"{measured.noticed_s:.1f}" if measured.noticed_s else "-", same]
    return cells


def study(arguments):
    forebay = arguments.forebay
    (OUT / "alone.run").unlink(missing_ok=True)
    (OUT / "site.toml").write_text(SITE)
    recorded = Run(forebay, RECORD=OUT / "alone.run")
    print(f"recorded undisturbed: {recorded.wall_s:.1f} s;",
          *re.findall(r"forebay: (.*joined.*)", recorded.log), flush=True)
    print(f"\n| {' | '.join(HEAD)} |\n" + "|---" * len(HEAD) + "|", flush=True)

    def show(what, predicted, measured, calm):
        same = "identical" if measured.results == recorded.results else "DIFFERENT"
        print("|", " | ".join(row(what, predicted, measured, calm, same)), "|", flush=True)
        kept = {key: value for key, value in vars(measured).items() if key not in ("log", "results")}
        with open(OUT.with_suffix(".jsonl"), "a", encoding="utf-8") as results:
            results.write(json.dumps({
                "what": what, "predicted": predicted, "measured": kept, "results": same,
                "detection_s": detection_s(), "load": os.getloadavg()[0],
                "when": time.strftime("%F %T")}) + "\n")

    calm = predict(forebay)
    undisturbed = []
    for _ in range(arguments.repeat):
        measured = Run(forebay)
        undisturbed.append(measured.wall_s)
        show("never", calm, measured, None)
    walls = calm["wall_s"], statistics.median(undisturbed)
    for back in (None, arguments.back):
        for part in (1, 2):
            at = round(recorded.wall_s * part / 3)
            returns = "never" if back is None else f"{back}s"
            predicted = predict(forebay, "--interrupt", f"{NODE}@{at}s+{returns}", "--detection",
                                f"{detection_s()}s")
            what = f"after {at} s, " + ("for good" if back is None else f"another comes {back} s later")
            for _ in range(arguments.repeat):
                measured = Run(forebay, NODE=NODE, AT=at, **({} if back is None else {"BACK": back}))
                show(what, predicted, measured, walls)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--repeat", type=int, default=1, help="measure each so many times")
    parser.add_argument("--back", type=int, default=20, help="seconds until another node comes")
    parser.add_argument("--forebay", type=Path, default=ROOT / "target/release/forebay")
    arguments = parser.parse_args()
    arguments.forebay = arguments.forebay.resolve()
    os.environ["PATH"] += f":{ROOT}/target/tools/nextflow"
    demand("nextflow", "java", "ip", "nsenter")
    OUT.mkdir(parents=True, exist_ok=True)
    study(arguments)


if __name__ == "__main__":
    sys.exit(main())
