#!/usr/bin/env python3
"""The comparison of NFS and Lustre by nodes and jobs, in small and for real: fastq-dump and bowtie
are recorded here, what they would get done is predicted from that, then so many of them are replayed
at once by `forebay bench --nodes` on the emulated storages; published, predicted and measured stand
side by side, whatever comes out.

    studies/nodes-live/measure.py [--only fastq-dump|bowtie] [--repeat 3] [--forebay PATH]

It is at a scale that it states. A job is a small one, on a core so slow that it computes for JOB
seconds (it is stopped and goes on, again and again), and the storages are those of
studies/nfs-lustre, so much slower that a job takes the same part of what the storage has as a job of
the source did. So this machine has only to bear slow jobs. Beside it the real commands run, one and
two at once on the storage that is called nfs here, and so do their replays: how faithful are these?
About 10 minutes. The figures are appended to
target/studies/nodes-live.jsonl.
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import time
import tomllib
from pathlib import Path

sys.dont_write_bytecode = True
from programs import PROGRAMS, ROOT, SIMULATED, call
from calls import environment

OUT = ROOT / "target/studies/nodes-live"
# Seconds that a job computes here.
JOB = 6.0
# Seconds that a slow core computes before it stands still.
TURN = 2e-3
MIB = 1 << 20
SITES = {"nfs": "site.toml", "lustre": "lustre.toml"}
UNITS = {"GB": 1e9}


def facts(file):
    return tomllib.loads((SIMULATED / file).read_text(encoding="utf-8"))


def amount(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def source(workload):
    """A job of the source: its bytes, and seconds of computing."""
    told = facts(workload)
    compute = told["stage"][0]["step"][0]["compute"]
    return sum(amount(one["bytes"]) for one in told["files"].values()), float(compute.split()[0])


def requests(run):
    """A job here: its bytes, and its requests as the emulation and the simulator count them: what
    goes on where the last one ended is so large a part of one as its bytes are of 1 MiB."""
    with sqlite3.connect(f"file:{run}?mode=ro", uri=True) as trace:
        return trace.execute(
            "SELECT sum(p.bytes), sum(CASE k.pattern WHEN 'random' THEN p.count"
            " ELSE min(p.count, p.bytes / 1048576.0) END) FROM process_ops p JOIN op_keys k"
            " USING (op_key) WHERE k.op IN ('read', 'write')").fetchone()


def profile(storage, scale):
    """What a storage has at this scale, as lines of TOML. Its network is left out: the jobs of the
    source take a fifteenth of it at most."""
    rate = facts(SITES[storage])["tier"]["data"]["profile"]["data_per_second"] * scale
    return (f'source = "studies/nfs-lustre/{SITES[storage]}, times {scale:.4f}"\n'
            f'data_per_second = {rate:.2f}\nmerges = "1 MiB"\n')


class Study:
    """One program."""

    def __init__(self, forebay, name, repeat):
        self.forebay, self.name, self.program = forebay, name, PROGRAMS[name]
        self.repeat, self.out = repeat, OUT / name
        self.home = {"HOME": str(self.out / "home")}
        self.inputs, self.trace = self.out / "inputs", self.out / "job.run"
        self.sizes = [(n, j) for n in self.program.nodes for j in self.program.jobs]
        self.before, self.after = {}, {}

    def forebay_says(self, folder, *words):
        return json.loads(call(OUT, folder, self.forebay, *words, "--json"))

    def record(self):
        """One job, on this machine's storage as a client with a page cache asks it: what programs
        call beside that differs, since the kernel reads ahead. The first run brings programs into
        memory."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.inputs.mkdir(parents=True)
        self.program.inputs(self.inputs, self.program.pairs)
        self.command = [str(word) for word in self.program.command(self.inputs)]
        self.slower = 1.0
        for _ in range(2):
            self.alone = self.real(1, "--emulate", "0ms")
        self.slower = JOB / self.alone
        # A record has no moment for each call: replays spread them over the time that a file was
        # open, if that is long enough. So what is recorded is slow, too.
        self.real(1, "-o", self.trace, "--trace", self.program.trace, "--emulate", "0ms")

    def volume(self, jobs):
        """A directory with what each job reads, in a directory of its own."""
        volume = self.out / "volume"
        shutil.rmtree(volume, ignore_errors=True)
        folders = [volume / f"job-{number}" for number in range(jobs)]
        for folder in folders:
            shutil.copytree(self.inputs, folder)
        return folders

    def scale(self):
        """How fast a core and the storages are here, so that a job is to them as in the source."""
        self.site("plain", 'source = "where it was recorded"\n', 1.0)
        self.compute = self.simulated("plain", 1, 1)["makespan_s"]
        self.speed = self.compute / JOB
        self.bytes, asked = requests(self.trace)
        size, seconds = source(self.program.workload)
        self.rate = (asked / JOB) / (size / MIB / seconds)
        for storage in SITES:
            told = profile(storage, self.rate)
            (self.out / f"{storage}.toml").write_text(
                f'about = "{storage} of the source, at scale"\nreach = "shared"\n[profile]\n{told}')
            self.site(storage, told, self.speed)
        print(f"\n{self.name}: one job here is {self.bytes / 1e6:.1f} MB, {asked:.1f} requests of"
              f" 1 MiB and {JOB:g} s on a core {self.slower:.0f} times slower (replayed with --speed"
              f" {self.speed:.2f}); in the source {size / 1e9:.0f} GB, {size / MIB:.0f} of them"
              f" and {seconds:.0f} s. Scale: time 1:{seconds / JOB:.0f}, bytes"
              f" 1:{size / self.bytes:.0f}, and a storage answers {self.rate:.2f} times as many"
              " requests a second, so that as many jobs fill it.", flush=True)

    def site(self, name, told, speed):
        # A client of the source has 16 cores: all its jobs find some.
        (self.out / f"{name}-site.toml").write_text(
            f"[nodes]\ncount = {max(self.program.nodes)}\ncores = 16\nslots = 16\nspeed = {speed}\n"
            f'[tier.{name}]\nreach = "shared"\n[tier.{name}.profile]\n{told}')

    def simulated(self, name, nodes, jobs):
        return self.forebay_says(self.out, "simulate", self.trace, "--site", f"{name}-site.toml",
                                 "--project", name, "--nodes", nodes, "--pipelines", nodes * jobs)

    def predict(self):
        for storage in SITES:
            told = {size: self.simulated(storage, *size) for size in self.sizes}
            alone = told[self.sizes[0]]["samples_per_hour"] / (self.sizes[0][0] * self.sizes[0][1])
            for size, one in told.items():
                an_hour = one["samples_per_hour"]
                self.before[storage, size] = {
                    "rate": an_hour, "efficiency": an_hour / (size[0] * size[1]) / alone,
                    "waited": one["waited_share"]}

    def bench(self, name, *words):
        return self.forebay_says(self.out, "bench", "--replay", self.trace, "--repeat", self.repeat,
                                 "-o", self.out / name, *words)["on"]

    def measure(self):
        emulated = [word for one in SITES for word in ("--emulate", f"{one}={self.out / one}.toml")]
        rows = self.bench("bench", "--on", ",".join(SITES), *emulated, "--speed", self.speed,
                          "--nodes", ",".join(map(str, self.program.nodes)),
                          "--jobs", ",".join(map(str, self.program.jobs)))
        for row in rows:
            size = row["scale"]["nodes"], row["scale"]["jobs"]
            self.after[row["on"].split("@")[0], size] = {
                "rate": row["commands_per_hour"], "efficiency": row["efficiency"],
                "waited": row["waited_share"], "row": row}

    def real(self, jobs, *how):
        """Seconds of the real command, so often at once, on a volume that is mounted like that."""
        folders = self.volume(jobs)
        volume = folders[0].parent
        call(OUT, self.out, self.forebay, "mount", *how, volume, volume)
        each = []
        try:
            began = time.monotonic()
            each = [subprocess.Popen(self.command, cwd=folder, env=environment(OUT, self.home),
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                     start_new_session=True) for folder in folders]
            self.slowly(each)
            took = time.monotonic() - began
            words = [one.communicate()[1].decode() for one in each]
        finally:
            for one in each:
                if one.poll() is None:
                    os.killpg(one.pid, signal.SIGKILL)
                    one.wait()
            call(OUT, self.out, self.forebay, "unmount", volume)
        if any(one.returncode for one in each):
            sys.exit(f"nodes-live: {self.name} failed\n  where: {volume}\n"
                     f"  next:  its last lines:\n{words[0][-2000:]}")
        self.aligned = re.findall(r"at least one.*alignment: .*\((.*?)\)", words[0])
        return took

    def slowly(self, each):
        """Until all have ended, each is on a core so many times slower."""
        while running := [one for one in each if one.poll() is None]:
            if self.slower <= 1.0:
                running[0].wait()
                continue
            for sent, pause in ((signal.SIGCONT, TURN), (signal.SIGSTOP, TURN * (self.slower - 1))):
                for one in running:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(one.pid, sent)
                time.sleep(pause)

    def faithful(self):
        """The real command beside its replay, both at full speed: to wait while it is stopped
        would count for both."""
        rows = self.bench("faithful", "--on", "nfs", "--emulate", f"nfs={self.out}/nfs.toml",
                          "--nodes", "1", "--jobs", "1,2", "--speed", self.compute / self.alone)
        self.slower = 1.0
        for jobs, row in zip((1, 2), rows):
            emulated = "--emulate", self.out / "nfs.toml"
            real = statistics.median(self.real(jobs, *emulated) for _ in range(self.repeat))
            replayed = row["median_s"]
            print(f"{jobs} at once on one node at full speed: {real:.2f} s real,"
                  f" {replayed:.2f} s replayed ({replayed / real:.2f} times)")
            yield {"program": self.name, "real_jobs": jobs, "real_s": real, "replayed_s": replayed}
        for share in self.aligned:
            print(f"{share} of the pairs align")

    def figure(self, figures, finding):
        rate = lambda storage, size: figures[storage, size]["rate"]
        if finding.figure == "waited":
            return figures[finding.storage, finding.at]["waited"]
        if finding.figure == "rate":
            return rate(finding.storage, finding.at) / rate(finding.storage, finding.over)
        ahead = [rate("lustre", size) / rate("nfs", size) for size in (finding.at, finding.over)]
        return ahead[0] / ahead[1]

    def tell(self):
        """The table and the findings; their figures."""
        print("\n| storage | nodes | jobs | published | predicted: an hour | efficiency | waited |"
              " measured: an hour | efficiency | waited |\n" + "|---" * 10 + "|")
        for (storage, size), told in self.before.items():
            cells = [f"{one['rate']:.0f} | {one['efficiency']:.0%} | {one['waited']:.1%}"
                     for one in (told, self.after[storage, size])]
            words = self.program.published[storage] if size == self.sizes[0] else ""
            print(f"| {storage} (emulated) | {size[0]} | {size[1]} | {words} | {' | '.join(cells)} |")
            yield {"program": self.name, "storage": storage, "nodes": size[0], "jobs": size[1],
                   "predicted": told, "measured": self.after[storage, size]}
        print("\n| published finding | stands for it | predicted | | measured | |\n" + "|---" * 6 + "|")
        for one in self.program.findings:
            bound = f"at least {one.least}" if one.least is not None else f"at most {one.most}"
            bound = bound if one.figure != "advantage" else "above 1"
            what = {"rate": "jobs an hour, times those of fewer nodes", "waited": "share waited",
                    "advantage": "Lustre over NFS, times that of fewer jobs"}[one.figure]
            cells = []
            for figures in (self.before, self.after):
                value = self.figure(figures, one)
                over = one.least is None or (value > one.least if one.figure == "advantage"
                                             else value >= one.least)
                holds = over and (one.most is None or value <= one.most)
                cells += [f"{value:.3f}", "holds" if holds else "does not"]
            print(f"| {one.words} | {what}: {bound} | {' | '.join(cells)} |", flush=True)
            yield {"program": self.name, "finding": one.words, "predicted": cells[:2],
                   "measured": cells[2:]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", action="append", choices=PROGRAMS)
    parser.add_argument("--repeat", type=int, default=3, help="rounds")
    parser.add_argument("--forebay", type=Path, default=ROOT / "target/release/forebay")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    for name in arguments.only or PROGRAMS:
        if shutil.which(name) is None:
            print(f"\n{name} is not here: scripts/setup-programs.sh fetches it")
            continue
        study = Study(arguments.forebay.resolve(), name, arguments.repeat)
        study.record()
        study.scale()
        study.predict()
        study.measure()
        rows = list(study.tell())
        print("All jobs start at once and do the same at the same time, and nobody writes behind: so"
              " they wait for each other before a storage is full.")
        rows += study.faithful()
        with open(OUT.with_suffix(".jsonl"), "a", encoding="utf-8") as results:
            results.writelines(json.dumps({**one, "when": time.strftime("%F %T")}) + "\n"
                               for one in rows)


if __name__ == "__main__":
    main()
