#!/usr/bin/env python3
"""SRA's access modes again, on reads that are stored in six ways in an S3 server on this machine.

    studies/reads-access/measure.py [FOLDER] [--repeats 3] [--latency 20] [--rate 40] [--json FILE]

FOLDER is what bench/reads-data.sh fetches (default target/bench/reads). Runs are pairs of many
levels of quality, and aligned ones. Each answer comes --latency ms after its request, and one
connection gives --rate MB/s, as one client got from the published store. The published calls read
246 MB, these runs 4 to 17: latency and start of programs weigh more here, so ratios are compared.
A client of a few lines fetches group blobs, as the published scripts did; what it gets is in memory.
What is missing (sra-toolkit, samtools) is named, and left out: scripts/setup-reads-peers.sh has it.

FOREBAY=path   the binary under test (default target/release/forebay)
"""
import argparse
import gzip
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import tomllib
import types
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import findings
import modes
from client import Client, Failed, Server
from modes import MODES, SETTINGS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BAM = "**/10_donors_chr22.selected_sites.bam.gz"
NEEDS = {"sra": ["latf-load", "kar", "fastq-dump"], "aligned": ["samtools"]}


def unpacker():
    """The decoder beside the tests, for where chunks are: that needs no zstandard."""
    sys.modules.setdefault("zstandard", types.ModuleType("zstandard"))
    spec = importlib.util.spec_from_file_location("unpack", ROOT / "scripts/unpack-reads.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Chunk(NamedTuple):
    """A column of a group of reads."""
    group: int
    object: str
    offset: int
    size: int


def chunks_of(archive):
    """All of them, in order."""
    found, group = [], 0

    class Noting(unpacker().Archive):
        def read(self, name, offset=0, count=-1):
            if name.startswith("data"):
                found.append(Chunk(group, name, offset, count))
            return super().read(name, offset, count)

    for _ in Noting(str(archive)).groups():
        group += 1
    return found


class Case:
    """A run in each form, in a folder and in a store."""

    def __init__(self, name, files, bam, forebay, work):
        self.prefix, self.forebay, self.work = name, forebay, work / name
        self.forms = self.work / "forms"
        for form in ("gz", "each", "together", "blobs", "sra", "aligned"):
            (self.forms / form).mkdir(parents=True)
        for path in files:
            shutil.copy(path, self.forms / "gz")
        for form in ("each", "together"):
            self.made(forebay, "reads", "pack", "-q", "--objects", form, *files, "-o", self.forms / form)
        self.chunks = chunks_of(self.forms / "together")
        for nth, one in enumerate(self.chunks):
            with open(self.forms / "together" / one.object, "rb") as source:
                source.seek(one.offset)
                (self.forms / "blobs" / f"{nth:05}").write_bytes(source.read(one.size))
        told = subprocess.run([forebay, "reads", "info", "--json", self.forms / "together"], capture_output=True, check=True)
        self.spots = json.loads(told.stdout)["spots"]
        self.environment = dict(os.environ)
        (self.work / "home/.ncbi").mkdir(parents=True)
        (self.work / "home/.ncbi/user-settings.mkfg").write_text(SETTINGS)
        if there("sra"):
            self.load(files)
        if bam and there("aligned"):
            self.align(bam)

    def made(self, *command, **more):
        subprocess.run([str(word) for word in command], capture_output=True, check=True, env=dict(os.environ) | more)

    def load(self, files):
        plain = []
        for path in files:
            plain.append(self.work / path.name.removesuffix(".gz"))
            with gzip.open(path) as source, open(plain[-1], "wb") as to:
                shutil.copyfileobj(source, to)
        with open(plain[0], "rb") as lines:
            least = min(min(line.strip()) for nth, line in enumerate(lines) if nth % 4 == 3 and nth < 20000)
        loaded, home = self.work / "loaded", str(self.work / "home")
        inputs = ["-1", plain[0], "-2", plain[1]] if len(plain) == 2 else plain
        self.made("latf-load", "--quality", f"PHRED_{64 if least >= 59 else 33}", "-p", "ILLUMINA", "-o", loaded, *inputs, HOME=home)
        self.made("kar", "-f", "-d", loaded, "-c", self.forms / "sra/x.sra", HOME=home)

    def align(self, bam):
        """Its reference is what its reads agree on, and lies in it: no other is looked for."""
        plain = self.work / "x.bam"
        with gzip.open(bam) as source, open(plain, "wb") as to:
            shutil.copyfileobj(source, to)
        nowhere = {"REF_PATH": "/nonexistent", "REF_CACHE": "/nonexistent"}
        self.made("samtools", "view", "-f", "1", "-F", "0x900", "--keep-tag", "RG", "-O", "cram,embed_ref=2", "-o", self.forms / "aligned/x.cram", plain, **nowhere)

    def names(self, form):
        return sorted(path.name for path in (self.forms / form).iterdir())

    def group_sizes(self):
        """How many columns each group has."""
        return Counter(one.group for one in self.chunks).values()

    def bytes(self, form):
        return sum(path.stat().st_size for path in (self.forms / form).iterdir())

    def stored(self, server):
        self.url, self.client = server.url, Client(server.url)
        # Where references and settings would be looked for.
        self.environment |= server.environment | {"REF_PATH": "/nonexistent", "REF_CACHE": "/nonexistent"}
        self.environment["HOME"] = str(self.work / "home")
        for form in self.forms.iterdir():
            server.put_all(f"{self.prefix}/{form.name}", form)


def there(form):
    return all(shutil.which(tool) for tool in NEEDS[form])


def measured(case, server, repeats):
    """Mode -> medians: seconds, of them downloading, requests, MB."""
    rows = {}
    for mode in MODES:
        if not case.bytes(mode.form):
            continue
        took, before = [], server.counted()
        try:
            took = [mode.run(case) for _ in range(repeats)]
        except (subprocess.CalledProcessError, Failed) as error:
            why = getattr(error, "stderr", b"") or str(error).encode()
            print(f"FAILED: {case.prefix}, {mode.what}: {why.decode(errors='replace').strip()}", file=sys.stderr)
            continue
        requests, sent = (after - was for after, was in zip(server.counted(), before))
        down = [one.downloading for one in took]
        rows[mode.name] = {"s": statistics.median(one.all for one in took),
                           "download_s": None if None in down else statistics.median(down),
                           "requests": requests / repeats, "MB": sent / repeats / 1e6}
    return rows


def with_failures(case, program, options, calls):
    """Calls that failed of so many, by how each was made, where one GET in a hundred fails."""
    server = Server(program, **options, failing=1, seed=1)
    case.stored(server)
    parts = modes.parts(case)[0]
    ways = {"no GET asked for again": lambda: Client(server.url, tries=1).fetch(parts),
            "each GET up to 5 times": lambda: Client(server.url).fetch(parts),
            "forebay reads cat": lambda: subprocess.run(
                [case.forebay, "reads", "cat", f"s3://runs/{case.prefix}/together"], env=case.environment,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)}
    found = {}
    for way, call in ways.items():
        found[way] = {"calls": calls, "failed": 0}
        for _ in range(calls):
            try:
                call()
            except (Failed, subprocess.CalledProcessError):
                found[way]["failed"] += 1
    server.end()
    return found | {"gets": len(parts)}


def runs(folder):
    """Name -> its files, and what is aligned of it."""
    bam = next(iter(sorted(folder.glob(BAM))), None)
    for name, aligned in (("hiseq2000", None), ("hiseqx", bam)):
        files = [folder / f"sets/{name}_R{mate}.fq.gz" for mate in (1, 2)]
        if all(path.exists() for path in files):
            yield name, files, aligned


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=TARGET / "bench/reads")
    parser.add_argument("--forebay", type=Path, default=Path(os.environ.get("FOREBAY", TARGET / "release/forebay")))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--latency", type=int, default=20, help="ms from a request to its answer")
    parser.add_argument("--rate", type=int, default=40, help="MB/s of one connection")
    parser.add_argument("--calls", type=int, default=40, help="calls of each kind where requests fail")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    program, options = TARGET / "release/examples/s3_memory", {"latency": arguments.latency, "rate": arguments.rate}
    if not program.exists():
        sys.exit(f"reads-access: no server\n  where: {program}\n"
                 "  next:  cargo build --release --workspace --example s3_memory")
    for form, tools in NEEDS.items():
        if not there(form):
            print(f"LEFT OUT: {form} ({', '.join(tools)} not on PATH; scripts/setup-reads-peers.sh installs it)")
    found = {"options": options | {"repeats": arguments.repeats}, "runs": {}}
    with tempfile.TemporaryDirectory() as work:
        cases = [Case(name, files, bam, arguments.forebay.absolute(), Path(work))
                 for name, files, bam in runs(arguments.folder)]
        if not cases:
            sys.exit(f"reads-access: no reads\n  where: {arguments.folder}/sets\n  next:  bench/reads-data.sh fetches some")
        for case in cases:
            server = Server(program, **options)
            case.stored(server)
            sizes = {form.name: case.bytes(form.name) for form in case.forms.iterdir() if case.bytes(form.name)}
            found["runs"][case.prefix] = {"bytes": sizes, "modes": measured(case, server, arguments.repeats)}
            server.end()
        found["failures"] = with_failures(cases[0], program, options, arguments.calls)
    findings.tell(found, tomllib.loads((HERE / "published.toml").read_text()))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
