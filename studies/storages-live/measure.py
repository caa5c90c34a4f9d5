#!/usr/bin/env python3
"""Small real editions of published comparisons of storages: each workflow is recorded here, its time
on each storage is predicted from that, then `forebay bench` runs it there; published, predicted and
measured stand side by side, whatever comes out.

    studies/storages-live/measure.py [--only trinity|evacuation|nextflow] [--repeat 5] [--forebay PATH]

Storages are emulated on this machine from the profiles that come with Forebay, and a small workflow
stands for a large one: it is the ratio between storages that is compared, not hours. Trinity is run
where it is on the PATH, else rnaSPAdes. 10 to 20 minutes. The figures are appended to
target/studies/storages-live.jsonl.
"""
import argparse
import dataclasses
import json
import os
import shutil
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import calls
import evacuation
from calls import ROOT
from workflows import WORKFLOWS

OUT = ROOT / "target/studies/storages-live"


@dataclasses.dataclass(frozen=True)
class Edition:
    """What was published of each storage, in its own unit, and what stands for it here."""

    about: str
    workflow: str
    unit: str
    # storage here -> published; the first is what the others are compared with
    published: dict[str, float | None]
    # The source's machine, for prices
    instance: str | None = None


def trinity(folder, slots):
    return ["Trinity", "--seqType", "fq", "--left", folder / "left.fq.gz", "--right",
            folder / "right.fq.gz", "--CPU", slots, "--max_memory", "4G", "--output", "trinity_out"]


HAS_TRINITY = shutil.which("Trinity") is not None
if HAS_TRINITY:
    WORKFLOWS["assembly"] = dataclasses.replace(WORKFLOWS["assembly"], command=trinity)

EDITIONS = {
    "trinity": Edition(
        "Trinity 2.15.1, mean of 5 runs (article on Trinity by storage of its intermediate files,"
        f" 2024); here {'Trinity' if HAS_TRINITY else 'rnaSPAdes'}",
        "assembly", "s", {"local": 662.4, "ebs-gp3": 662.8, "efs-elastic": 1699.2},
        "ec2.m6id.8xlarge"),
    "nextflow": Edition(
        "Nextflow RNA-seq, 276 tasks (MemVerge, 2024-07-24): JuiceFS stands under local; S3FS under"
        " s3-mount; here ten tasks",
        "rnaseq", "h", {"local": 6.93, "efs-elastic": 7.0, "s3-mount": 26.0}),
}


# What `forebay bench` said of each edition, for those that come after it.
DONE = {}


def call(folder, *command, fine=(0,)):
    return calls.call(OUT, folder, *command, fine=fine)


def recorded(forebay, name, command):
    """Two run files of the workflow where it is; the first run of all brings programs into memory."""
    traces = []
    for number in range(3):
        folder, trace = OUT / "volume", OUT / f"{name}-{number}.run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        trace.unlink(missing_ok=True)
        call(folder, forebay, "run", "-q", "--trace", "every-read", "-o", trace, "--", *command)
        traces.append(trace)
    return traces[1:]


def predicted(forebay, traces, storages, described=""):
    """Seconds on each storage, before anything is run there; those that are no profile's names are
    `described` as tiers of a site."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    site = f'[nodes]\ncores = 2\nslots = 2\nmemory = "{memory >> 20} MiB"\n'
    site += '[tier.local]\nreach = "node"\n[tier.local.profile]\nsource = "where it was recorded"\n'
    site += described + "".join(f'[tier.{name}]\nprofile = "{name}"\n' for name in storages
                                if f"[tier.{name}" not in site + described)
    (OUT / "site.toml").write_text(site, encoding="utf-8")
    seconds = {}
    for name in storages:
        told = call(OUT, forebay, "plan", *traces, "--site", OUT / "site.toml", "--project", name,
                    "--json", "--budget", "1s")
        seconds[name] = json.loads(told)["as_it_is"]["makespan_s"]
    return seconds


def measured(forebay, name, storages, repeat, command, options=("--cache", "warm"), fine=(0,)):
    """What `forebay bench` says of each storage."""
    bench, folder = OUT / f"{name}-bench", OUT / "at"
    shutil.rmtree(bench, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    told = call(folder, forebay, "bench", "--on", ",".join(storages), "--repeat", repeat, *options,
                "-o", bench, "--json", "--", *command, fine=fine)
    return {row["on"]: row for row in json.loads(told)["on"]}


def prepared(name, workflow):
    """The command of a workflow, whose inputs have been made."""
    workflow, inputs = WORKFLOWS[workflow], OUT / f"{name}-inputs"
    shutil.rmtree(inputs, ignore_errors=True)
    inputs.mkdir(parents=True)
    call(inputs, *workflow.inputs(inputs))
    return workflow.command(inputs, 2)


def compare(forebay, name, edition, repeat):
    """The rows of one published comparison."""
    command = prepared(name, edition.workflow)
    storages = list(edition.published)
    first = storages[0]
    before = predicted(forebay, recorded(forebay, name, command), storages)
    price = ("--instance", edition.instance) if edition.instance else ()
    rows = DONE[name] = measured(forebay, name, storages, repeat, command,
                                   ("--cache", "warm", *price))
    print(f"\n{name}: {edition.about}\n\n| storage | published, {edition.unit} | times | predicted, s |"
          " times | measured, s | times | interval | verdict |\n" + "|---" * 9 + "|")
    for storage in storages:
        row, mark = rows[storage], "" if storage == first else " (emulated)"
        span = row["ratio_span"]
        interval = f"{span['low']:.2f} to {span['high']:.2f}" if span else "-"
        print(f"| {storage}{mark} | {edition.published[storage]} |"
              f" {edition.published[storage] / edition.published[first]:.2f} | {before[storage]:.1f} |"
              f" {before[storage] / before[first]:.2f} | {row['median_s']:.1f} |"
              f" {row['ratio'] or 1:.2f} | {interval} | {row['verdict'] or 'baseline'} |", flush=True)
        yield {"edition": name, "storage": storage, "published": edition.published[storage],
               "predicted_s": before[storage], "measured": row, "when": time.strftime("%F %T")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", action="append", choices=[*EDITIONS, "evacuation"])
    parser.add_argument("--repeat", type=int, default=5, help="rounds of each comparison")
    parser.add_argument("--forebay", type=Path, default=ROOT / "target/release/forebay")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    forebay = arguments.forebay.resolve()
    for name in arguments.only or ["trinity", "evacuation", "nextflow"]:
        if name == "evacuation":
            rows = list(evacuation.compare(forebay, arguments.repeat, sys.modules[__name__]))
        else:
            rows = list(compare(forebay, name, EDITIONS[name], arguments.repeat))
        with open(OUT.with_suffix(".jsonl"), "a", encoding="utf-8") as results:
            results.writelines(json.dumps(one) + "\n" for one in rows)


if __name__ == "__main__":
    main()
