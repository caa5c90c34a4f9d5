#!/usr/bin/env python3
"""The closed loop for real: each workflow is recorded where it is, three times with two slots and
once with one, its wall time on other storage is predicted from these runs, then it is run there;
both are printed side by side, whatever comes out. Then a plan is made for slow storage with a fast
tier beside it, and obeyed: is what it chose the best of what can be measured?

    studies/closed-loop/measure.py [--only wgs] [--most 30] [--forebay PATH]

Storage is slowed down by `forebay mount --emulate`. It measures this machine as it is: whatever
else runs on it is in the figures, so the load is printed beside them. 30 to 50 minutes.
The figures are appended to target/studies/closed-loop.jsonl.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from workflows import NEXTFLOW, ROOT, WORKFLOWS

OUT = ROOT / "target/studies/closed-loop"
NOTE = "asked for with --emulate"
# The storage for which a plan is made, and a fast tier beside it.
SLOW = "5ms:125"
# The slots of each recorded run: runs scatter, and a plan sees by how much; and tasks that run
# alone compute faster, by what nobody can know who has not seen it.
RECORDED = [2, 2, 2, 1]


def seconds(text):
    """`5ms` or `500us` as a number."""
    units = {"ms": 1e-3, "us": 1e-6}
    return float(text[:-2]) * units[text[-2:]]


def probed(forebay, times=300):
    """What the emulation itself takes of each kind of operation, in seconds, beyond what it is asked
    for: a probe of the storage would find the sum. Kinds differ: the kernel reads ahead."""
    folder, block, rate = OUT / "probe", 4096, 250 << 20
    folder.mkdir(exist_ok=True)
    subprocess.run([forebay, "mount", "--emulate", "1ms,250MiB/s", folder, folder], check=True,
                   capture_output=True)

    def each(operation, expected):
        began = time.monotonic()
        for number in range(times):
            operation(number)
        return max((time.monotonic() - began) / times - expected, 0)

    def reads(place):
        with open(folder / "file", "rb", buffering=0) as file:
            return each(lambda number: os.pread(file.fileno(), block, place(number)), block / rate)

    try:
        names = each(lambda number: (folder / f"none-{number}").exists(), 1e-3)
        with open(folder / "file", "wb", buffering=0) as file:
            write = each(lambda _: file.write(bytes(block)), block / rate)
        # 7 and the number of blocks have no divisor in common: each block once, none beside the last.
        return {"names": names, "write": write, "read": reads(lambda number: number * block),
                "read_random": reads(lambda number: number * 7 % times * block)}
    finally:
        subprocess.run([forebay, "unmount", folder], check=True, capture_output=True)
        shutil.rmtree(folder)


def site(slots, storage, extra, fast=None):
    """A site file: what `--emulate` does, with what that takes itself, as a profile."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    text = f'[nodes]\ncores = 2\nslots = {slots}\nmemory = "{memory >> 20} MiB"\n\n'
    text += '[tier.other]\nreach = "node"\n\n'
    text += f'[tier.other.profile]\nsource = "{NOTE}"\n'
    if storage != "-":
        latency, rate = storage.split(":")
        own = {kind: extra[kind] for kind in ("write", "read", "read_random")}
        own |= {kind: seconds(latency) + extra["names"] for kind in ("names", "fsync", "fsyncdir")}
        own |= {kind: 0 for kind in ("flush", "close", "statfs")}
        kinds = ", ".join(f'{kind} = "{time:.6f} s"' for kind, time in own.items())
        text += f'latency = {{ {kinds} }}\nkeeps_written = false\n'
        text += "".join(f'{way} = {{ total = "{rate} MiB/s" }}\n' for way in ("read", "write"))
    if fast:
        text += f'\n[tier.fast]\npath = "{fast}"\nreach = "node"\n'
        text += '[tier.fast.profile]\nsource = "the local disk, where the run was recorded"\n'
    file = OUT / "site.toml"
    file.write_text(text)
    return file


class Loop:
    """One workflow: its inputs, its recorded run, and runs of it elsewhere."""

    def __init__(self, forebay, name):
        self.forebay, self.name, self.workflow = forebay, name, WORKFLOWS[name]
        self.inputs, self.volume = OUT / f"{name}-inputs", OUT / "volume"
        self.traces = [OUT / f"{name}-{number}.run" for number in range(len(RECORDED))]
        self.environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "NXF_OFFLINE": "true",
                            "PATH": f"{ROOT / '.venv/bin'}:{NEXTFLOW.parent}:{os.environ['PATH']}",
                            "XDG_CACHE_HOME": str(OUT / "cache")}

    def call(self, folder, *command):
        """Seconds that a command took; says what it said when it fails."""
        began = time.monotonic()
        with open(OUT / "log", "wb") as log:
            done = subprocess.run([str(word) for word in command], cwd=folder, stdout=log,
                                  stderr=log, env=self.environment, check=False)
        if done.returncode:
            tail = (OUT / "log").read_text(errors="replace")[-2000:]
            sys.exit(f"closed-loop: {self.name} failed with {done.returncode}\n"
                     f"  where: {folder}\n  next:  its last lines:\n{tail}")
        return time.monotonic() - began

    def record(self):
        """Inputs, one run that nobody measures (programs come into memory), and those recorded."""
        shutil.rmtree(self.inputs, ignore_errors=True)
        self.inputs.mkdir()
        self.call(self.inputs, *self.workflow.inputs(self.inputs))
        self.run(2, "-")
        return [self.recorded(trace, slots) for trace, slots in zip(self.traces, RECORDED)]

    def recorded(self, trace, slots):
        """Seconds of a run that is recorded."""
        trace.unlink(missing_ok=True)
        record = ["run", "-q", "--trace", "every-read", "-o", trace, "--"]
        return self.run(slots, None, [self.forebay, *record])

    def run(self, slots, storage, prefix=()):
        """Seconds of a run in a fresh directory, on this storage (none: the bare directory)."""
        shutil.rmtree(self.volume, ignore_errors=True)
        self.volume.mkdir()
        if storage:
            emulate = ["--emulate", "{},{}MiB/s".format(*storage.split(":"))] if storage != "-" else []
            self.call(OUT, self.forebay, "mount", *emulate, self.volume, self.volume)
        try:
            return self.call(self.volume, *prefix, *self.workflow.command(self.inputs, slots))
        finally:
            if storage:
                self.call(OUT, self.forebay, "unmount", self.volume)

    def plan(self, site_file, *more):
        command = [self.forebay, "plan", *self.traces, "--site", site_file, "--project", "other",
                   "--json", *more]
        return json.loads(subprocess.run([str(word) for word in command], check=True,
                                         capture_output=True, cwd=OUT).stdout)


def predict_and_measure(loop, most, extra):
    """The rows of one workflow: what was predicted, with its interval, and what came."""
    for slots, storage in loop.workflow.cases[:most]:
        # Before it is run: a prediction that knew the outcome would be none.
        told = loop.plan(site(slots, storage, extra), "--budget", "1s")
        predicted, doubt = (told["as_it_is"][key] for key in ("makespan_s", "error"))
        measured = loop.run(slots, storage)
        low, high = predicted * (1 - doubt), predicted * (1 + doubt)
        held = low <= measured <= high
        print(f"| {loop.name} | {slots} | {storage} | {predicted:.1f} | {low:.0f} to {high:.0f} |"
              f" {measured:.1f} | {predicted / measured - 1:+.1%} | {'yes' if held else '**no**'} |"
              f" {os.getloadavg()[0]:.1f} |", flush=True)
        yield {"workflow": loop.name, "slots": slots, "storage": storage, "held": held,
               "predicted_s": predicted, "low_s": low, "high_s": high, "measured_s": measured,
               "load": os.getloadavg()[0]}


def obey(loop, extra):
    """Runs on slow storage: as it is, by the plan, and with all files on the fast tier."""
    with tempfile.TemporaryDirectory(dir=OUT) as fast:
        place, chosen = site(2, SLOW, extra, fast), OUT / "chosen.toml"
        chosen.unlink(missing_ok=True)
        told = loop.plan(place, "--goal", "fastest", "-o", chosen)
        every = OUT / "every.toml"
        every.write_text('[[rule]]\nmatch = "**"\nhome = "fast"\n')
        ways = {"as it is": (), "all on the fast tier": (every,), "the plan": (chosen,)}
        expected = {"as it is": told["as_it_is"]["makespan_s"],
                    "the plan": told["chosen"]["makespan_s"]}
        figures = {}
        for way, rules in ways.items():
            prefix = [loop.forebay, "run", "-q", "-o", OUT / "obeyed.run"]
            prefix += [word for file in rules for word in ("--site", place, "--rules", file)]
            (OUT / "obeyed.run").unlink(missing_ok=True)
            figures[way] = loop.run(2, SLOW, [*prefix, "--"])
            words = f"{expected[way]:.1f}" if way in expected else "-"
            print(f"| {loop.name} | {way} | {words} | {figures[way]:.1f} |", flush=True)
        return {"workflow": loop.name, "measured_s": figures, "expected_s": expected,
                "above_best": figures["the plan"] / min(figures.values()) - 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", action="append", choices=WORKFLOWS)
    parser.add_argument("--most", type=int, default=30, help="cases of each workflow")
    parser.add_argument("--forebay", type=Path, default=ROOT / "target/release/forebay")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    loops = [Loop(arguments.forebay.resolve(), name) for name in arguments.only or WORKFLOWS]
    rows, choices = [], []
    extra = probed(arguments.forebay)
    own = ", ".join(f"{kind} {time * 1e6:.0f} us" for kind, time in extra.items())
    print(f"the emulation itself: {own}")
    for loop in loops:
        recorded = ", ".join(f"{seconds:.1f}" for seconds in loop.record())
        print(f"\n{loop.name}: {loop.workflow.about}; recorded in {recorded} s\n")
        print("| workflow | slots | storage | predicted, s | interval | measured, s | error | held |"
              " load |\n|---|---|---|---|---|---|---|---|---|", flush=True)
        rows += predict_and_measure(loop, arguments.most, extra)
    print("\n| workflow | on slow storage | predicted, s | measured, s |\n|---|---|---|---|")
    choices += [obey(loop, extra) for loop in loops]
    errors = sorted(abs(row["predicted_s"] / row["measured_s"] - 1) for row in rows) or [0]
    print(f"\nabsolute error: median {statistics.median(errors):.1%}, 90th percentile"
          f" {errors[int(0.9 * (len(errors) - 1))]:.1%}; the interval held in"
          f" {sum(row['held'] for row in rows)} of {len(rows)} cases; the plan above the best"
          f" measured by at most {max(one['above_best'] for one in choices):.1%}")
    with open(OUT.with_suffix(".jsonl"), "a", encoding="utf-8") as results:
        results.writelines(json.dumps(one) + "\n" for one in rows + choices)


if __name__ == "__main__":
    main()
