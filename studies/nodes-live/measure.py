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
About 10 minutes. The figures are appended to target/studies/nodes-live.jsonl.
"""
import argparse
import json
import shutil
import statistics
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
from job import JOB, OUT, Job
from programs import PROGRAMS, ROOT, call
from scale import MIB, SITES, profile, requests, source
from table import tell


class Study(Job):
    """One program on its storages."""

    def __init__(self, forebay, name, repeat):
        super().__init__(forebay, name)
        self.repeat = repeat
        self.sizes = [(n, j) for n in self.program.nodes for j in self.program.jobs]
        self.before, self.after = {}, {}

    def forebay_says(self, folder, *words):
        return json.loads(call(OUT, folder, self.forebay, *words, "--json"))

    def scale(self):
        """How fast a core and the storages are here, so that a job is to them as in the source."""
        self.site("plain", 'source = "where it was recorded"\n', 1.0)
        self.compute = self.simulated("plain", 1, 1)["makespan_s"]
        self.speed = self.compute / JOB
        # What the kernel sends in more pieces now and then is not the job's.
        both = map(requests, (self.quick, self.trace))
        self.bytes, asked = min(both, key=lambda one: one[1])
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
            waited = row["waited_share"]
            if waited is None:
                # Nobody told: what a job took beyond its computing.
                waited = max(0.0, 1 - JOB / row["median_s"])
            self.after[row["on"].split("@")[0], size] = {
                "rate": row["commands_per_hour"], "efficiency": row["efficiency"],
                "waited": waited, "row": row}

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
        rows = list(tell(study))
        print("All jobs start at once and do the same at the same time, and nobody writes behind: so"
              " they wait for each other before a storage is full.")
        rows += study.faithful()
        with open(OUT.with_suffix(".jsonl"), "a", encoding="utf-8") as results:
            results.writelines(json.dumps({**one, "when": time.strftime("%F %T")}) + "\n"
                               for one in rows)


if __name__ == "__main__":
    main()
