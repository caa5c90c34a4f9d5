#!/usr/bin/env python3
"""Several pipelines at once on a cluster, predicted from one run of one of them, then measured: table 7
of Genomon on Fugaku (studies/genomon-corun), in small and for real.

    studies/corun-live/measure.py [--most 5] [--pace 1] [--forebay PATH]

Four nodes of Slurm's on this machine have four slots each. A pipeline (pipeline.sh, task.sh) has the
stages of Genomon DNA; its jobs sleep where they would compute, so that two cores are enough. It runs
alone first, recorded where its jobs run (`forebay run --jobs`). From this record `forebay plan` says
which room each pipeline has to ask for and which jobs wait for all others, and `forebay simulate` how
long so many at once will take. Then they run, one more than there is room for at last. Whatever comes
out is printed. About 15 minutes, as root. The figures are appended to target/studies/corun-live.jsonl.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))
from slurm_studies import call, contained, demand

OUT = ROOT / "target/studies/corun-live"
NODES, SLOTS = 4, 4
STAGES = ("split", "map", "markdup", "merge", "mutations", "publish")
MIB = 2**20
# Room of the volume: that of four pipelines, and not of five.
CAPACITY_MIB = 450
FASTQ_BYTES = 24 * MIB
LOW = "forebay_low"
# A pipeline that takes so many times as long as predicted has stopped.
PATIENCE = 10
SITE = """\
[nodes]
count = {nodes}
cores = {slots}
slots = {slots}
[tier.net]
path = "{volume}"
reach = "shared"
capacity = "{capacity} MiB"
[tier.net.profile]
source = "the disk of this machine, whose memory answers: no limit is told"
"""


def space(folder):
    """Bytes of all files below a folder, as if all were written in full; what goes away counts nothing."""
    total, stack = 0, [folder]
    while stack:
        try:
            for entry in os.scandir(stack.pop()):
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            pass
    return total


class Watch(threading.Thread):
    """The most that a folder held, and why jobs of a name waited, looked at four times a second."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.most, self.reasons, self.over = folder, 0, set(), threading.Event()

    def run(self):
        looks = 0
        while not self.over.wait(0.25):
            self.most = max(self.most, space(self.folder))
            looks += 1
            if looks % 8 == 0:
                told = call("squeue", "-h", "-n", "head", "-t", "PD", "-o", "%r")
                self.reasons.update(told.split())

    def end(self):
        self.over.set()
        self.join()


class Study:
    """The cluster's volume, the record, and what was found."""

    def __init__(self, arguments, work):
        self.forebay, self.pace, self.work = arguments.forebay, arguments.pace, work
        self.volume, self.site = work / "volume", work / "site.toml"
        self.alone = OUT / "alone.run"

    def environment(self, **more):
        return {**os.environ, "INPUTS": str(self.work / "inputs"), "STAGES": str(self.work / "stages"),
                "LOGS": str(self.work / "logs"), "PACE": str(self.pace), **more}

    def record(self):
        """One pipeline alone, its jobs in the queue of low priority or not: nobody else is there."""
        began = time.monotonic()
        log = call(self.forebay, "run", "--recorder", "auto", "--jobs", self.work / "jobs", "--at",
                   self.volume, "-o", self.alone, "--", "bash", HERE / "pipeline.sh",
                   self.volume / "recorded", cwd=self.volume,
                   env=self.environment(LOW=LOW), stderr=subprocess.STDOUT)
        (OUT / "recorded.log").write_text(log)
        shutil.rmtree(self.volume / "recorded")
        print(f"recorded alone: {time.monotonic() - began:.1f} s;",
              *re.findall(r"forebay: (.*joined.*)", log), flush=True)

    def plan(self):
        """What the head of each pipeline asks for. Map jobs wait for all others, as in the source, whether
        the plan finds that this gains something or not."""
        rules = OUT / "rules.toml"
        call(self.forebay, "plan", self.alone, "--site", self.site, "--project", "net", "--goal",
             "throughput", "--samples", 5, "--emit", "slurm", "--force", "-o", rules)
        emitted = rules.with_suffix(".slurm.sh").read_text()
        self.licences = re.findall(r"^#SBATCH (--licenses=\S+)", emitted, re.M)
        self.low = dict(re.findall(r"^# Jobs of (.*?): sbatch .*--partition=(\S+)", emitted, re.M))
        print("the plan: each pipeline asks for", *self.licences, "and lets wait:",
              " ".join(self.low) or "no kind of jobs", flush=True)

    def predict(self, pipelines):
        told = json.loads(call(
            self.forebay, "simulate", self.alone, "--site", self.site, "--project", "net",
            "--pipelines", pipelines, "--policy", "reserve", "--low", "map", "--json", "--force", "-o",
            OUT / f"predicted-{pipelines}.run"))
        return {"makespan_s": told["makespan_s"], "samples_per_hour": told["samples_per_hour"],
                "utilisation": told["utilisation"], "peak_mib": told["tiers"]["net"]["peak_bytes"] / MIB}

    def measure(self, pipelines, patience_s):
        """So many heads at once; each has the room that the plan asks for, or waits for it."""
        log = self.work / f"ran-{pipelines}"
        log.touch()
        head = self.work / "head.sh"
        head.write_text("#!/bin/bash\n" + "".join(f"#SBATCH {one}\n" for one in self.licences)
                        + f'echo "$1 $(date +%s.%N)" >> {self.work}/heads-{pipelines}\n'
                        + f'exec bash {HERE}/pipeline.sh "{self.volume}/$1"\n')
        watch = Watch(self.volume)
        watch.start()
        began = time.time()
        jobs = [call("sbatch", "--parsable", "-J", "head", "-p", "heads", "-o", self.work / "logs/head-%j.log",
                     head, f"p{number}", env=self.environment(LOW=LOW, CORUN_LOG=str(log)),
                     cwd=self.work).strip()
                for number in range(1, pipelines + 1)]
        while call("squeue", "-h", "-j", ",".join(jobs), "-o", "%i").strip():
            if time.time() - began > patience_s:
                sys.exit("corun-live: a pipeline has not ended\n  next:  its queue:\n" + call("squeue"))
            time.sleep(0.25)
        watch.end()
        tasks = [line.split("\t") for line in log.read_text().splitlines()]
        ends = {}
        for _, folder, _, _, end in tasks:
            name = Path(folder).name
            ends[name] = max(float(end), ends.get(name, 0))
        if missing := [p for p in range(1, pipelines + 1) if not (self.volume / f"p{p}/result").exists()]:
            sys.exit(f"corun-live: pipelines without a result: {missing}; see {self.work}/logs")
        starts = {name: float(at) for name, at in map(str.split, (
            self.work / f"heads-{pipelines}").read_text().splitlines())}
        seconds = max(ends.values()) - began
        last = max(starts, key=starts.get)
        waited = "Licenses" in watch.reasons and starts[last] >= min(ends.values())
        busy = sum(float(end) - float(begin) for *_, begin, end in tasks)
        for number in range(1, pipelines + 1):
            shutil.rmtree(self.volume / f"p{number}")
        return {"makespan_s": seconds, "samples_per_hour": 3600 * pipelines / seconds,
                "utilisation": busy / (NODES * SLOTS * seconds), "peak_mib": watch.most / MIB,
                "tasks": len(tasks), "waited": waited, "last_began_s": starts[last] - began,
                "ends_s": sorted(end - began for end in ends.values())}


def row(pipelines, predicted, measured):
    makespan = [one["makespan_s"] for one in (predicted, measured)]
    cells = [str(pipelines), f"{makespan[0]:.1f}", f"{makespan[1]:.1f}", f"{makespan[0] / makespan[1] - 1:+.0%}"]
    cells += [f"{one['utilisation']:.0%}" for one in (predicted, measured)]
    cells += [f"{one['samples_per_hour']:.1f}" for one in (predicted, measured)]
    cells += [f"{one['peak_mib']:.0f}" for one in (predicted, measured)]
    cells += [f"{CAPACITY_MIB}", f"yes, {measured['last_began_s']:.0f} s" if measured["waited"] else "no"]
    return f"| {' | '.join(cells)} |"


def inside(arguments):
    """In the cluster."""
    study = Study(arguments, Path(os.environ["WORK"]))
    study.record()
    study.plan()
    print("\n| pipelines | makespan, s: predicted | measured | error | slots busy: predicted | measured |"
          " samples an hour: predicted | measured | peak, MiB: predicted | measured | capacity |"
          " one waited for room, began after |\n" + "|---" * 12 + "|", flush=True)
    for pipelines in range(1, arguments.most + 1):
        predicted = study.predict(pipelines)
        measured = study.measure(pipelines, PATIENCE * predicted["makespan_s"] + 60)
        print(row(pipelines, predicted, measured), flush=True)
        with open(OUT.with_suffix(".jsonl"), "a", encoding="utf-8") as results:
            results.write(json.dumps({
                "pipelines": pipelines, "predicted": predicted, "measured": measured,
                "licences": study.licences, "low": study.low, "pace": arguments.pace,
                "load": os.getloadavg()[0], "when": time.strftime("%F %T")}) + "\n")


def outside(arguments):
    """Makes all that the cluster needs, and goes into it."""
    demand()
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "alone.run").unlink(missing_ok=True)
    work = Path(tempfile.mkdtemp(prefix="fb-", dir="/var/tmp"))    # short: a socket's path has 108 bytes
    for name in ("volume", "inputs", "stages", "logs", "jobs"):
        (work / name).mkdir()
    for stage in STAGES:
        (work / "stages" / stage).symlink_to(HERE / "work.py")
    for sample in (1, 2):
        (work / f"inputs/{sample}.fastq").write_bytes(bytes(FASTQ_BYTES))
    (work / "site.toml").write_text(SITE.format(
        nodes=NODES, slots=SLOTS, volume=work / "volume", capacity=CAPACITY_MIB))
    words = {"WORK": work, "SITE": work / "site.toml", "LOW": LOW, "SLOTS": SLOTS,
             "FOREBAY": arguments.forebay}
    status = contained(
        [HERE / "with_cluster.sh", sys.executable, __file__, "--inside", "--most", arguments.most,
         "--pace", arguments.pace, "--forebay", arguments.forebay], words).wait()
    if status == 0:
        shutil.rmtree(work)
    else:
        print(f"corun-live: what is left: {work}", file=sys.stderr)
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--most", type=int, default=5, help="pipelines at once, at most")
    parser.add_argument("--pace", type=float, default=1, help="how many times as fast")
    parser.add_argument("--forebay", type=Path, default=ROOT / "target/release/forebay")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.forebay = arguments.forebay.resolve()
    return inside(arguments) if arguments.inside else outside(arguments)


if __name__ == "__main__":
    sys.exit(main())
