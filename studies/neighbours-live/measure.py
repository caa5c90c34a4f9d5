#!/usr/bin/env python3
"""What else lays a file system over S3, beside local disk and EFS: s3fs and rclone, as Debian brings
them, mounted over an S3 server on this machine where each request takes a stated time.

    studies/neighbours-live/measure.py [--only links|copies|small] [--repeat 3] [--latency 20] [--forebay PATH]

Each workflow is recorded on local disk; its time elsewhere is predicted from that, twice: by the
profile `s3-mount` that comes with Forebay, and by what `forebay probe` finds out about the mount.
Then `forebay bench` runs it everywhere. What can't run there has failed, and that is told. About 10
minutes; scripts/setup-neighbours.sh first. The figures go to target/studies/neighbours-live.jsonl.
"""
import argparse
import dataclasses
import importlib.util
import json
import shutil
import signal
import statistics
import sys
import time
import tomllib
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import mounts

# The other study of real runs, whose file is called as this one.
sys.path.insert(0, str(HERE.parent / "storages-live"))
SPEC = importlib.util.spec_from_file_location("storages_live", HERE.parent / "storages-live/measure.py")
live = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = live
SPEC.loader.exec_module(live)
from workflows import ROOT, WORKFLOWS

OUT = ROOT / "target/studies/neighbours-live"
live.OUT = OUT
PYTHON = ROOT / "target/studies/neighbours-venv/bin/python"
PRICES = {"PUT": "put", "COPY": "put", "POST": "put", "LIST": "put", "GET": "get", "HEAD": "get",
          "DELETE": "delete"}


@dataclasses.dataclass(frozen=True)
class Edition:
    """What is run, where, and what was published of that; storage -> words, the first is what the
    others are compared with."""

    about: str
    command: list
    published: dict[str, str]


def editions(inputs):
    """Each is small: what is compared is times, not hours."""
    nextflow = WORKFLOWS["rnaseq"].command(inputs, 2)
    return {
        "links": Edition(
            "Nextflow RNA-seq, 276 tasks (MemVerge, 2024-07-24; JuiceFS stands under local); here ten"
            " tasks, inputs staged by symbolic links, which is Nextflow's way",
            nextflow, {"local": "6.93 h", "efs-elastic": "7.0 h (1.01)", "s3fs": "26 h (3.75)", "rclone": "-"}),
        "copies": Edition(
            "the same, inputs staged by copies (process.stageInMode = 'copy')",
            [*nextflow, "-process.stageInMode", "copy"], {"local": "-", "s3fs": "-", "rclone": "-"}),
        "small": Edition(
            "120 files below 500 bytes, one after another, made and read again (MemVerge, same text:"
            " JuiceFS, under local, is 5 times as fast as S3FS)",
            [sys.executable, "-B", HERE / "small.py"],
            {"local": "2.5 files/min", "efs-elastic": "-", "s3fs": "0.5 files/min (5.00)", "rclone": "-"}),
    }


def probed(forebay, directory, name):
    """The mount as tiers of a site, found out as anybody would; nothing if it can't be probed."""
    tier = OUT / f"{name}.toml"
    tier.unlink(missing_ok=True)
    live.call(OUT, forebay, "probe", "--time", "20s", "-o", tier, directory, fine=(0, 1))
    text = tier.read_text("utf-8") if tier.exists() else ""
    # Of few rounds with noise a rate may come out as no number: nothing can be predicted with that.
    if not text or "NaN" in text:
        print(f"{name}: the probe has no tier file that can be read; nothing is predicted from it")
        return ""
    lines = [line for line in text.splitlines() if not line.startswith("about")]
    return f"[tier.{name}]\n" + "\n".join(lines).replace("[profile", f"[tier.{name}.profile") + "\n"


def told(name, storage, repeat):
    """What the runs that ended well said in their logs, the middle of each figure."""
    ends = []
    for number in range(repeat):
        log = OUT / f"{name}-bench/{number}-{storage}.log"
        lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
        ends += [json.loads(line) for line in lines if line.startswith('{"command_s"')]
    if not ends:
        return None, {}
    sent = [end["requests"].get(storage, {}) for end in ends]
    kinds = {kind: statistics.median(one.get(kind, 0) for one in sent) for kind in PRICES}
    return statistics.median(end["command_s"] for end in ends), kinds


def usd(kinds):
    """Requests by S3's list prices, which are for a thousand."""
    sheet = tomllib.loads((ROOT / "prices/aws-us-east-1.toml").read_text("utf-8"))["price"]
    return sum(count / 1000 * sheet[f"s3.standard.{PRICES[kind]}"]["usd"] for kind, count in kinds.items())


def times(seconds, first):
    """Seconds, and how many times the first they are; a task of a moment may be predicted as 0."""
    if seconds is None:
        return "-"
    return f"{seconds:.1f} ({seconds / first:.2f})" if first else f"{seconds:.1f}"


def compare(forebay, name, edition, repeat, mounted, described):
    """The rows of one comparison, printed as they are there."""
    first, *_ = storages = list(edition.published)
    profiles = [one for one in storages if one not in mounts.NAMES]
    known = [one for one in mounts.NAMES if f"[tier.{one}]" in described and one in storages]
    before = live.predicted(forebay, live.recorded(forebay, name, edition.command),
                            [*profiles, "s3-mount", *known], described)
    waits = [sys.executable, "-B", HERE / "until_stored.py", mounted.server, mounted.queue]
    where = [f"{one}={mounted.directories[one]}" if one in mounts.NAMES else one for one in storages]
    # As they are: with Forebay in between, s3fs is asked for one more HEAD for each file.
    rows = live.measured(forebay, name, where, repeat, [*waits, *edition.command],
                         ("--record", "no", "--timeout", "180s"), (0, 1))
    print(f"\n{name}: {edition.about}\n\n| storage | published (times) | predicted by profile, s (times) |"
          " by a probe, s (times) | measured, s (times) | from to | command alone, s | failed |"
          " verdict |\n" + "|---" * 9 + "|")
    for storage in storages:
        row, alone, kinds = rows[storage], *told(name, storage, repeat)
        by_profile = before["s3-mount" if storage in mounts.NAMES else storage]
        by_probe = before[storage] if storage in known else None
        span = row["median_span_s"]
        print(f"| {storage} | {edition.published[storage]} | {times(by_profile, before[first])} |"
              f" {times(by_probe, before[first])} | {times(row['median_s'], rows[first]['median_s'])} |"
              f" {'{low:.1f} to {high:.1f}'.format(**span) if span else '-'} |"
              f" {f'{alone:.1f}' if alone else '-'} | {row['failed']} of {row['failed'] + row['runs']} |"
              f" {row['verdict'] or ('failed' if not row['runs'] else 'baseline')} |")
        yield {"edition": name, "storage": storage, "published": edition.published[storage],
               "by_profile_s": by_profile, "by_probe_s": by_probe, "measured": row,
               "command_s": alone, "requests": kinds, "when": time.strftime("%F %T")}
    print("\n| requests of a run |", " | ".join(PRICES), "| USD |\n" + "|---" * (len(PRICES) + 2) + "|")
    for storage in [one for one in storages if one in mounts.NAMES]:
        kinds = told(name, storage, repeat)[1]
        counts = " | ".join(f"{kinds[kind]:.0f}" if kinds else "-" for kind in PRICES)
        print(f"| {storage} | {counts} | {usd(kinds):.5f} |" if kinds else f"| {storage} | {counts} | - |",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", action="append", choices=["links", "copies", "small"])
    parser.add_argument("--repeat", type=int, default=3, help="rounds of each comparison")
    parser.add_argument("--latency", type=float, default=20, help="ms that each request to S3 takes")
    parser.add_argument("--forebay", type=Path, default=ROOT / "target/release/forebay")
    arguments = parser.parse_args()
    forebay = arguments.forebay.resolve()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    shutil.rmtree(OUT, ignore_errors=True)
    inputs = OUT / "inputs"
    inputs.mkdir(parents=True)
    live.call(inputs, *WORKFLOWS["rnaseq"].inputs(inputs), "--samples", 2)
    with mounts.all_of_them(OUT, PYTHON, arguments.latency) as mounted:
        described = "".join(probed(forebay, at, name) for name, at in mounted.directories.items())
        for name in arguments.only or editions(inputs):
            rows = compare(forebay, name, editions(inputs)[name], arguments.repeat, mounted, described)
            with open(OUT.with_suffix(".jsonl"), "a", encoding="utf-8") as results:
                results.writelines(json.dumps(one) + "\n" for one in rows)


if __name__ == "__main__":
    main()
