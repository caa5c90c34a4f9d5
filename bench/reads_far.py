#!/usr/bin/env python3
"""An archive of reads in a bucket that is far away, beside the same archive in a directory: streams,
4 KiB at random, bases alone, and `bwa mem`. bench/reads.sh runs it with all that it needs.

    bench/reads_far.py FOLDER [--repeats 5] [--latency 50] [--rate 100] [--json FILE]

The bucket is in an S3 server on this machine: each answer comes --latency ms after its request, and
one connection gives --rate MB/s. FOLDER has hiseq2000_R1.fq.gz and _R2 (bench/reads-data.sh). They
are taken 20 times over, so that what is read once, the manifest and the index, weighs as little as
it does where archives are large; no group of reads knows of another, so that makes none smaller.
bwa aligns reads that are drawn from a made-up genome of 4 MB, by a seed, and have their errors where
these qualities say so. Near and far take turns; medians. Connections are counted every few ms in
/proc/net/tcp, memory is the most that was resident. A mount takes root, or fusermount3.

FOREBAY=path   the binary under test (default target/release/forebay)
"""
import argparse
import gzip
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "bucket"))
from ground import Server, run, until  # noqa: E402
from reads_drawn import drawn  # noqa: E402

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", "target")).absolute()
FOREBAY = Path(os.environ.get("FOREBAY", TARGET / "release/forebay")).absolute()
TIMES, READS, BLOCK = 20, 40, 4096
# What the issue asks: of what page cache gives, connections, MiB; ms over two round trips, MB of a
# read at random; bytes of bases alone; bwa's time in the mount, of what local plain files take.
STREAM, CONNECTIONS, MEMORY_MIB, READ_MS, READ_MB, BASES, BWA = 0.9, 8, 256, 5, 1, 0.45, 1.03


class Watch(threading.Thread):
    """The most connections to a server that there were at a time."""

    def __init__(self, server):
        super().__init__(daemon=True)
        port = int(server.settings["AWS_ENDPOINT_URL"].rsplit(":", 1)[1])
        self.wanted, self.most, self.over = f"0100007F:{port:04X}", 0, threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.005):
            lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
            self.most = max(self.most, sum(line[2:4] == [self.wanted, "01"] for line in lines))


def once(*words, env):
    """Seconds of a command of which nothing is kept, and the MiB that it had."""
    began = time.monotonic()
    child = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, env=env)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {child.returncode}")
    return time.monotonic() - began, used.ru_maxrss / 1024


class Mounted:
    """A volume with an archive in it, and its daemon."""

    def __init__(self, work, name, archive, env):
        self.at, self.env = work / f"{name}.at", env
        volume = work / f"{name}.volume"
        for path in (self.at, volume):
            path.mkdir()
        run(FOREBAY, "attach", volume, archive, "reads", env=env)
        run(FOREBAY, "mount", volume, self.at, env=env)
        until("the mount", self.at.is_mount)

    def files(self):
        return sorted((self.at / "reads").glob("*.fastq"))

    def mib(self):
        """The most memory that the daemon had."""
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if os.fsencode(self.at) in (process / "cmdline").read_bytes().split(b"\0"):
                    told = (process / "status").read_text().splitlines()
                    return max(int(line.split()[1]) for line in told if line.startswith("VmHWM")) / 1024
            except OSError:
                pass
        raise RuntimeError(f"no process has {self.at}")

    def end(self):
        run(FOREBAY, "unmount", self.at, env=self.env)


class Bench:
    def __init__(self, folder, work, arguments):
        self.work, self.repeats, self.found = work, arguments.repeats, {}
        shutil.copy(TARGET / "release/examples/s3_memory", work)
        self.server = Server(work, arguments.latency, "--rate", str(arguments.rate))
        self.env = {**os.environ, **self.server.settings, "XDG_STATE_HOME": str(work / "states"), "HOME": str(work)}
        self.packed = [folder / f"hiseq2000_R{mate}.fq.gz" for mate in (1, 2)]
        self.latency = arguments.latency

    def archive(self, name, *files):
        """The same archive in a directory and in the bucket: both URLs."""
        near = self.work / f"{name}.reads"
        run(FOREBAY, "reads", "pack", "-q", *files, "-o", near, env=self.env)
        for path in near.iterdir():
            run("curl", "-sSf", "-T", path, f"{self.server.settings['AWS_ENDPOINT_URL']}/far/{name}/{path.name}")
        return near, f"s3://far/{name}"

    def many(self):
        """The reads so many times over."""
        for path in self.packed:
            with gzip.open(path) as source:
                text = source.read()
            with open(self.work / path.name.replace("fq.gz", "fastq"), "wb") as to:
                for _ in range(TIMES):
                    to.write(text)
            self.text = 2 * TIMES * len(text)
        files = [self.work / path.name.replace("fq.gz", "fastq") for path in self.packed]
        self.near, self.far = self.archive("many", *files)
        for path in files:
            path.unlink()

    def turns(self, *ways):
        """Medians of the seconds of each, which take turns; and what else they told last."""
        took = [[way() for way in ways] for _ in range(self.repeats)]
        return [(statistics.median(turn[nth][0] for turn in took), took[-1][nth][1]) for nth in range(len(ways))]

    def note(self, what, value, target, low, unit=""):
        self.found[what] = value
        met = value <= target if low else value >= target
        print(f"| {what} | {value:.3g}{unit} | {'at most' if low else 'at least'} {target:g}{unit} | "
              f"{'met' if met else 'missed'} |", flush=True)

    def tell(self, what, value):
        self.found[what] = value
        print(f"| {what} | {value:.3g} | - | |", flush=True)

    def streams(self):
        for count in (1, 2):
            watch = Watch(self.server)
            (near, _), (far, mib) = self.turns(*(
                lambda url=url: once(FOREBAY, "reads", "cat", "-t", count, url, env=self.env)
                for url in (self.near, self.far)))
            watch.over.set()
            threads = f"{count} thread{'s' if count > 1 else ''}"
            self.tell(f"`reads cat`, {threads}: MB/s near", self.text / 1e6 / near)
            self.note(f"`reads cat`, {threads}: far, of near", near / far, STREAM, False)
            self.note(f"`reads cat`, {threads}: connections", watch.most, CONNECTIONS, True)
            self.note(f"`reads cat`, {threads}: memory", mib, MEMORY_MIB, True, " MiB")

    def sent(self, *words):
        before = self.server.counted()["sent"]
        once(FOREBAY, "reads", "cat", *words, self.far, env=self.env)
        return self.server.counted()["sent"] - before

    def bases(self):
        self.note("bases alone, bytes of all", self.sent("--form", "bases") / self.sent(), BASES, True)

    def at_random(self, mount):
        draw, times, before = random.Random(1), [], None
        path = mount.files()[0]
        with open(path, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            for nth in range(READS + 1):
                began = time.monotonic()
                read = os.pread(file.fileno(), BLOCK, draw.randrange(path.stat().st_size - BLOCK))
                if len(read) != BLOCK:
                    raise RuntimeError("a short read")
                # The first one reads the index, too.
                if nth:
                    times.append(1000 * (time.monotonic() - began))
                else:
                    before = self.server.counted()
        after = self.server.counted()
        each = {what: (after[what] - before[what]) / READS for what in ("requests", "sent")}
        self.note("4 KiB at random, mounted: median ms", statistics.median(times), 2 * self.latency + READ_MS, True)
        self.note("4 KiB at random, mounted: fetched, MB", each["sent"] / 1e6, READ_MB, True)
        self.tell("4 KiB at random, mounted: requests", each["requests"])

    def mounted(self):
        near, far = (Mounted(self.work, name, url, self.env) for name, url in (("near", self.near), ("far", self.far)))
        try:
            self.at_random(far)

            def stream(mount):
                # So that no mount has anything left of the last time in the page cache.
                Path("/proc/sys/vm/drop_caches").write_text("1\n") if os.geteuid() == 0 else None
                for path in self.near.iterdir():
                    path.read_bytes()
                return once("cat", *mount.files(), env=self.env)

            (here, _), (there, _) = self.turns(lambda: stream(near), lambda: stream(far))
            self.tell("`cat` of mounted files: MB/s near", self.text / 1e6 / here)
            self.note("`cat` of mounted files: far, of near", here / there, STREAM, False)
            self.note("mounted: memory of the daemon", far.mib(), MEMORY_MIB, True, " MiB")
        finally:
            near.end()
            far.end()

    def aligned(self):
        reference, plain = drawn(self.work, self.packed)
        run("bwa", "index", reference)
        _, url = self.archive("aligned", *plain)
        mount = Mounted(self.work, "aligned", url, self.env)
        try:
            (here, _), (there, _) = self.turns(*(
                lambda files=files: once("bwa", "mem", "-v", "1", "-t", os.cpu_count(), reference, *files, env=self.env)
                for files in (plain, mount.files())))
        finally:
            mount.end()
        self.tell("`bwa mem`, local plain FASTQ: s", here)
        self.note("`bwa mem` from the mount, of local plain FASTQ", there / here, BWA, True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--latency", type=int, default=50, help="ms from a request to its answer")
    parser.add_argument("--rate", type=int, default=100, help="MB/s of one connection")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(arguments.folder, Path(work), arguments)
        bench.many()
        print(f"\nhiseq2000, {TIMES} times over ({bench.text / 1e6:.0f} MB of text), in a bucket {arguments.latency} ms "
              f"away, {arguments.rate} MB/s of a connection, and near; medians of {arguments.repeats}\n")
        print("| what | found | target | |\n|---|---|---|---|")
        bench.streams()
        bench.bases()
        bench.mounted()
        if shutil.which("bwa"):
            bench.aligned()
        else:
            print("LEFT OUT: bwa mem (bwa not on PATH; scripts/setup-reads-peers.sh installs it)")
        bench.server.child.stdin.close()
    if arguments.json:
        arguments.json.write_text(json.dumps(bench.found, indent=1) + "\n")


if __name__ == "__main__":
    main()
