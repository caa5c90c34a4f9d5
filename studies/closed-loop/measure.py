#!/usr/bin/env python3
"""The closed loop for real: each workflow is recorded on the local disk, with two slots and with
one, its wall time on four storages is predicted from these records, then it is run there; both are
printed side by side, whatever comes out. Then a plan is made for slow storage with a fast tier
beside it, and obeyed.

    studies/closed-loop/measure.py [--only wgs,genes] [--pipelines DIR] [--forebay PATH]

Storage is emulated. It measures this machine as it is: whatever else runs on it is in the figures, so
the load is kept beside them. What was measured is not measured again; to do so, remove
target/studies/closed-loop. An hour and a half for all.
"""
import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
from workflows import NEXTFLOW, ROOT, WORKFLOWS, of_folders

OUT = ROOT / "target/studies/closed-loop"
SLOTS = (2, 1)
SLOW = "10 ms"
# A profile of a storage that is named by what an operation on names takes, or Forebay's own.
OWN = "\n[tier.other.profile]\nsource = \"asked for with --emulate\"\n" \
    "latency = {{ names = \"{0}\", fsync = \"{0}\", fsyncdir = \"{0}\", flush = \"0 ms\" }}\n" \
    "read = {{ total = \"{1} MiB/s\" }}\nwrite = {{ total = \"{1} MiB/s\" }}\n"
STORAGES = {"2 ms": OWN.format("2 ms", 125), SLOW: OWN.format(SLOW, 60),
            "efs-elastic": 'profile = "efs-elastic"\n', "nfs-server": 'profile = "nfs-server"\n'}
# Of cases that nobody tuned for, so many should be within their interval.
HELD = 0.9


class Study:
    """All that was measured so far, and how more is."""

    def __init__(self, forebay):
        self.forebay, self.file = forebay, OUT / "results.jsonl"
        for folder in ("inputs", "records", "sites", "rules"):
            (OUT / folder).mkdir(parents=True, exist_ok=True)
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        self.rows = [json.loads(line) for line in lines]
        self.environment = {
            **os.environ, "PYTHONDONTWRITEBYTECODE": "1", "NXF_OFFLINE": "true",
            "PATH": f"{ROOT / '.venv/bin'}:{NEXTFLOW.parent}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(OUT / "cache")}

    def known(self, **key):
        return next((row for row in self.rows if key.items() <= row.items()), None)

    def once(self, act, **key):
        """The row with this key: what `act` gives is added to it if it is not there yet."""
        row = self.known(**key)
        if row is None:
            row = {**key, **act(), "load": os.getloadavg()[0]}
            self.rows.append(row)
            with open(self.file, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        return row

    def call(self, folder, *command):
        """Seconds that a command took; says what it said when it fails."""
        began = time.monotonic()
        with open(OUT / "log", "wb") as log:
            done = subprocess.run([str(word) for word in command], cwd=folder, stdout=log,
                                  stderr=log, env=self.environment, check=False)
        if done.returncode:
            tail = (OUT / "log").read_text(errors="replace")[-2000:]
            sys.exit(f"closed-loop: {command[0]} failed with {done.returncode}\n"
                     f"  where: {folder}\n  next:  its last lines:\n{tail}")
        return time.monotonic() - began

    def plan(self, records, site, *more):
        command = [self.forebay, "plan", *records, "--site", site, "--project", "other", "--json",
                   "--force", *more]
        return json.loads(subprocess.run([str(word) for word in command], check=True,
                                         capture_output=True, cwd=OUT).stdout)


def site(storage, slots, fast=None):
    """A site file: this machine, with its files on this storage."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    text = f'[nodes]\ncores = {os.cpu_count()}\nslots = {slots}\nmemory = "{memory >> 20} MiB"\n\n'
    text += '[tier.other]\nreach = "shared"\n' + STORAGES[storage]
    if fast:
        text += f'\n[tier.fast]\npath = "{fast}"\nreach = "node"\ncapacity = "20 GiB"\n' \
                'profile = "laptop-nvme"\n'
    file = OUT / "sites" / f"{storage}-{slots}{'-fast' if fast else ''}.toml"
    file.write_text(text)
    return file


def fresh(name="work"):
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    subprocess.run(["sync"], check=True)  # what the last run wrote is not this one's to wait for
    return folder


class Loop:
    """One workflow: its inputs, its records, and runs of it elsewhere."""

    def __init__(self, study, name, workflow):
        self.study, self.name, self.workflow = study, name, workflow
        self.inputs = OUT / "inputs" / name

    def command(self, slots):
        return self.workflow.command(self.inputs, slots)

    def prepare(self):
        made = self.inputs / ".made"
        if not made.exists():
            shutil.rmtree(self.inputs, ignore_errors=True)
            self.inputs.mkdir()
            self.study.call(self.inputs, *self.workflow.inputs(self.inputs))
            made.touch()

    def record(self, slots):
        """The record of a run with every read, and what a run without Forebay takes beside it."""
        record = OUT / "records" / f"{self.name}-{slots}.run"

        def act():
            # The first run, which brings programs into memory, counts for nothing.
            for _ in range(1 if slots != SLOTS[0] else 2):
                bare = self.study.call(fresh(), *self.command(slots))
            record.unlink(missing_ok=True)
            prefix = [self.study.forebay, "run", "-q", "--trace", "every-read", "-o", record, "--"]
            recorded = self.study.call(fresh(), *prefix, *self.command(slots))
            return {"bare_s": bare, "recorded_s": recorded}

        self.study.once(act, what="record", workflow=self.name, slots=slots)
        return record

    def predict(self, record, storage, slots):
        told = self.study.plan([record], site(storage, slots), "--budget", "1s",
                               "-o", OUT / "rules/any.toml")
        seconds, doubt = (told["as_it_is"][key] for key in ("makespan_s", "error"))
        return {"predicted_s": seconds, "doubt": doubt}

    def measure(self, storage, slots):
        def act():
            out = OUT / "bench"
            shutil.rmtree(out, ignore_errors=True)
            self.study.call(fresh(), self.study.forebay, "bench", "--on", "there", "--emulate",
                            f"there={site(storage, slots)}#other", "--repeat", "1", "-o", out,
                            "--json", "--", *self.command(slots))
            last = json.loads((out / "results.jsonl").read_text().splitlines()[-1])
            return {"measured_s": last["seconds"]}

        return self.study.once(act, what="measured", workflow=self.name, storage=storage,
                               slots=slots)

    def obey(self, record, storage):
        """Seconds until all files are home, of a run by the plan in a mount of slow storage; and what
        the plan said. A plan that moves nothing says to leave Forebay out, and is obeyed so."""
        fast, rules = OUT / "fast", OUT / "rules" / f"{self.name}.toml"
        place = site(storage, SLOTS[0], fast)

        def act():
            told = self.study.plan([record], place, "--goal", "fastest", "-o", rules)
            said = {"predicted_s": told["chosen"]["makespan_s"], "doubt": told["chosen"]["error"]}
            if not told["moved"]:
                return said | {"measured_s": self.measure(storage, SLOTS[0])["measured_s"]}
            fresh("fast")
            folder = fresh()
            self.study.call(OUT, self.study.forebay, "mount", "--emulate",
                            f"{site(storage, SLOTS[0])}#other", folder, folder)
            try:
                (OUT / "obeyed.run").unlink(missing_ok=True)
                return said | {"measured_s": self.study.call(
                    folder, self.study.forebay, "run", "-q", "-o", OUT / "obeyed.run", "--site",
                    place, "--rules", rules, "--", *self.command(SLOTS[0]))}
            finally:
                self.study.call(OUT, self.study.forebay, "unmount", folder)

        return self.study.once(act, what="obeyed", workflow=self.name, storage=storage)


def off(row):
    """By which share a prediction is wrong."""
    return row["predicted_s"] / row["measured_s"] - 1


def interval(row):
    """Between which seconds a prediction says that the run will take."""
    return [max(row["predicted_s"] * (1 + side * row["doubt"]), 0) for side in (-1, 1)]


def widths(rows):
    """For each workflow by what an interval must be multiplied so that nine of ten cases of the
    *other* workflows are within it: split conformal prediction (Vovk, Gammerman, Shafer, 2005),
    with the share that Forebay says as the scale."""
    found = {}
    for left_out in {row["workflow"] for row in rows}:
        scores = sorted(abs(row["measured_s"] / row["predicted_s"] - 1) / row["doubt"]
                        for row in rows if row["workflow"] != left_out)
        place = math.ceil((len(scores) + 1) * HELD) - 1
        found[left_out] = scores[min(place, len(scores) - 1)] if scores else 1.0
    return found


def within(row, width=1.0):
    return abs(row["measured_s"] / row["predicted_s"] - 1) <= width * row["doubt"]


def print_predictions(rows):
    width = widths(rows)
    print("\n| workflow | slots | storage | predicted, s | interval | measured, s | error | held |"
          " held, width learnt from the others |\n" + "|---" * 9 + "|")
    for row in rows:
        low, high = interval(row)
        print(f"| {row['workflow']} | {row['slots']} | {row['storage']} | {row['predicted_s']:.1f} |"
              f" {low:.0f} to {high:.0f} | {row['measured_s']:.1f} | {off(row):+.0%} |"
              f" {'yes' if within(row) else '**no**'} |"
              f" {'yes' if within(row, width[row['workflow']]) else '**no**'} |")
    errors = sorted(abs(off(row)) for row in rows)
    held = sum(map(within, rows))
    others = sum(within(row, width[row["workflow"]]) for row in rows)
    print(f"\n{len(rows)} cases: median error {statistics.median(errors):.0%}, 90th percentile"
          f" {errors[math.ceil(0.9 * len(errors)) - 1]:.0%}; the interval held in {held}"
          f" ({held / len(rows):.0%}), with widths learnt from the other workflows in {others}"
          f" ({others / len(rows):.0%}); widths {min(width.values()):.2f} to"
          f" {max(width.values()):.2f}")


def print_obeyed(rows, bare):
    print(f"\n| workflow by its plan, on {SLOW} | predicted, s | interval | measured, s | error |"
          " without Forebay, s | above the best |\n" + "|---" * 7 + "|")
    for row in rows:
        low, high = interval(row)
        alone = bare.get(row["workflow"], math.inf)
        above = row["measured_s"] / min(row["measured_s"], alone) - 1
        print(f"| {row['workflow']} | {row['predicted_s']:.1f} | {low:.0f} to {high:.0f} |"
              f" {row['measured_s']:.1f} | {off(row):+.0%} | {alone:.1f} | {above:.0%} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", help="workflows, with commas")
    parser.add_argument("--pipelines", action="append", default=[], metavar="DIR",
                        help="more workflows: a folder of NAME.sh")
    parser.add_argument("--storages", help="storages, with commas", default=",".join(STORAGES))
    parser.add_argument("--slots", help="slots, with commas", default="2,1")
    parser.add_argument("--no-plans", action="store_true", help="obey no plan")
    parser.add_argument("--forebay", type=Path, default=ROOT / "target/release/forebay")
    arguments = parser.parse_args()
    all_of_them = WORKFLOWS | of_folders(arguments.pipelines)
    names = arguments.only.split(",") if arguments.only else list(all_of_them)
    study = Study(arguments.forebay.resolve())
    rows, obeyed, bare = [], [], {}
    for name in names:
        loop = Loop(study, name, all_of_them[name])
        loop.prepare()
        records = {slots: loop.record(slots) for slots in SLOTS}
        told = ", ".join(f"{row['recorded_s']:.1f} s with {row['slots']} slots"
                         f" ({row['bare_s']:.1f} without Forebay)" for row in study.rows
                         if row["what"] == "record" and row["workflow"] == name)
        print(f"{name}: {loop.workflow.about}: {told}", flush=True)
        for slots in map(int, arguments.slots.split(",")):
            for storage in arguments.storages.split(","):
                # Before it is run: a prediction that knew the outcome would be none.
                told = loop.predict(records[slots], storage, slots)
                rows.append({**told, **loop.measure(storage, slots)})
                if (storage, slots) == (SLOW, SLOTS[0]):
                    bare[name] = rows[-1]["measured_s"]
        if not arguments.no_plans:
            obeyed.append(loop.obey(records[SLOTS[0]], SLOW))
    print_predictions(rows)
    if obeyed:
        print_obeyed(obeyed, bare)


if __name__ == "__main__":
    main()
