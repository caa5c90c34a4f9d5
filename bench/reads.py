#!/usr/bin/env python3
"""Size and CPU of `forebay reads` beside gzip, bzip2, zstd, CRAM 3.1, BINSEQ CBQ and SRA, on FASTQ
that you have, or that bench/reads-data.sh fetches. bench/reads.sh runs it with all that it needs.

    bench/reads.py FOLDER [--repeats 3] [--threads 1,2] [--only NAME,...] [--short] [--json FILE]

FOLDER has *_R1.fq.gz with *_R2.fq.gz beside them (pairs), and other *.fq.gz (single). Every set is
unpacked first; each tool then reads plain files and writes files, and decodes to /dev/null. Sizes
count all that a tool needs to read again: index, checksums, headers. CPU is user and system time of
the tool and its threads, the least of the repeats, start of the process included; MB are 10^6 bytes
of FASTQ text. What takes longest (zstd -19, CRAM archive, CBQ -l 19) is packed once. A CRAM gets N
for `.` (samtools does not read it), and what it gives back is not compared: it keeps no `+name`
either. An archive is verified, and its files are compared.

4 KiB at random are read by examples/reads_pread beside the binary (or in target/release), in one
process: no other tool here knows where byte n of a FASTQ is. Peers that are not on PATH are left out, and named
(scripts/setup-reads-peers.sh installs them).

The last table has a line for each goal (reads_goals.py) and set. Two threads and memory are judged by
one set that is repeated until it has 500 MB of text, unless --short is given.

FOREBAY=path   the binary under test (default target/release/forebay)
TURN=command   runs each tool, where others on this machine measure by turns; its own time does not count
"""
import argparse
import filecmp
import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from reads_goals import PACKERS, goals_of_all, goals_of_long, show_goals
from reads_peers import FOREBAY, missing, rows

BESIDE = os.path.join(os.path.dirname(FOREBAY), "examples/reads_pread")
BUILT = os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "release/examples/reads_pread")
PREAD = BESIDE if os.path.exists(BESIDE) else BUILT
TURN = shlex.split(os.environ.get("TURN", ""))
# The largest resident set of a command, in KiB.
PEAK = ("import resource,subprocess,sys;subprocess.run(sys.argv[1:],check=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
PREAD_LEAST = 20 << 20
# Text by which two threads and memory are judged.
LONG = 500_000_000


def sets(folder, only):
    """Name -> its .fq.gz files."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".fq.gz") or name.endswith("_R2.fq.gz"):
            continue
        paths = [os.path.join(folder, name)]
        stem = name.removesuffix(".fq.gz")
        if stem.endswith("_R1"):
            paths.append(os.path.join(folder, stem[:-1] + "2.fq.gz"))
            stem = stem[:-3]
        if not only or stem in only:
            found[stem] = paths
    return found


def levels(path):
    """How many different qualities the first 5000 reads have."""
    seen = set()
    with open(path, "rb") as lines:
        for at, line in enumerate(lines):
            if at % 4 == 3:
                seen.update(line.strip())
            if at > 20000:
                break
    return "few levels" if len(seen) <= 8 else "many levels"


def size(path):
    if os.path.isdir(path):
        return sum(entry.stat().st_size for entry in os.scandir(path))
    return os.path.getsize(path)


def run(command):
    """CPU and wall seconds of a shell command."""
    timed = f"TIMEFORMAT='took %U %S %R'; time {{ {command}; }}"
    done = subprocess.run([*TURN, "bash", "-o", "pipefail", "-c", timed], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command}\n{done.stderr}")
    user, system, wall = map(float, done.stderr.split("took ")[-1].split())
    return user + system, wall


def pread(archive):
    """Median and 99th percentile of milliseconds of 4 KiB at random, each group decoded anew."""
    if not os.path.exists(PREAD):
        return None
    told = subprocess.run([*TURN, PREAD, archive], capture_output=True, text=True, check=True).stdout
    found = re.search(r"decoded anew: median ([0-9.]+) ms, 99 % ([0-9.]+) ms", told)
    return [float(number) for number in found.groups()]


def exact(archive, plain):
    """Whether every byte comes back."""
    for path in plain:
        with open(path + ".again", "wb") as again:
            command = [FOREBAY, "reads", "cat", archive, "--file", os.path.basename(path)]
            subprocess.run(command, stdout=again, check=True)
        if not filecmp.cmp(path, path + ".again", shallow=False):
            return False
        os.remove(path + ".again")
    return subprocess.run([FOREBAY, "reads", "verify", "-q", archive]).returncode == 0


def measure(name, packed, threads, repeats):
    results = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as work:
        plain = []
        for path in packed:
            plain.append(os.path.join(work, os.path.basename(path).removesuffix(".gz")))
            with gzip.open(path) as source, open(plain[-1], "wb") as to:
                shutil.copyfileobj(source, to)
        text, kind = sum(map(os.path.getsize, plain)), levels(plain[0])
        for count in threads:
            for row in rows(plain, work, count):
                own = row.tool.startswith("forebay ")
                try:
                    made = [run(row.make) for _ in range(1 if row.slow else repeats)]
                    back = [run(row.read) for _ in range(repeats)]
                except RuntimeError as error:
                    if own:
                        raise
                    print(f"LEFT OUT: {row.tool} on {name}: {error}")
                    continue
                found = {"set": name, "kind": kind, "text": text, "tool": row.tool, "threads": count,
                         "bytes": sum(map(size, row.outs)),
                         "encode_cpu": min(cpu for cpu, _ in made), "encode_wall": min(w for _, w in made),
                         "decode_cpu": min(cpu for cpu, _ in back), "decode_wall": min(w for _, w in back)}
                if own:
                    found["exact"] = exact(row.outs[0], plain)
                    # A reader keeps its last group, so of few groups most reads are of that one.
                    found["pread_ms"] = pread(row.outs[0]) if os.path.getsize(plain[0]) > PREAD_LEAST else None
                results.append(found)
    return results


def show(found):
    print(f"\n{found[0]['set']} ({found[0]['text'] / 1e6:.1f} MB of text, {found[0]['kind']})\n")
    print("| tool | threads | bytes | of text | encode MB/CPU-s | decode MB/CPU-s | encode MB/s | decode MB/s |")
    print("|---" * 8 + "|")
    for row in found:
        speeds = [row["text"] / 1e6 / max(row[what], 1e-3) for what in
                  ("encode_cpu", "decode_cpu", "encode_wall", "decode_wall")]
        print(f"| {row['tool']} | {row['threads']} | {row['bytes']:,} | {row['bytes'] / row['text']:.4f} | "
              + " | ".join(f"{speed:.0f}" for speed in speeds) + " |")


def measure_long(packed, repeats):
    """The reads so many times over that there is much text: by one thread and two, and memory."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as work:
        plain, length = [], 0
        for path in packed:
            plain.append(os.path.join(work, os.path.basename(path).removesuffix(".gz")))
            with gzip.open(path) as source:
                text = source.read()
            times = -(-LONG // (len(packed) * len(text)))
            with open(plain[-1], "wb") as to:
                for _ in range(times):
                    to.write(text)
            length += times * len(text)
        archive, wall = os.path.join(work, "long.reads"), {}
        pack = [*TURN, "/usr/bin/env", "python3", "-c", PEAK, FOREBAY, "reads", "pack", "-q", "-t", str(PACKERS),
                *plain, "-o", archive]
        memory = int(subprocess.run(pack, capture_output=True, text=True, check=True).stdout) / 1024
        for threads in (1, 2):
            times = [run(f"{FOREBAY} reads cat -t {threads} {archive} > /dev/null") for _ in range(repeats)]
            wall[threads] = min(clock for _, clock in times)
        return {"text": length, "wall": wall, "memory_mib": memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default="")
    parser.add_argument("--short", action="store_true", help="without what takes 500 MB of text")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    found = sets(arguments.folder, [name for name in arguments.only.split(",") if name])
    if not found:
        sys.exit(f"no *.fq.gz in {arguments.folder}")
    for what, tools in missing():
        print(f"LEFT OUT: {what} ({', '.join(tools)} not on PATH; scripts/setup-reads-peers.sh installs it)")
    if not os.path.exists(PREAD):
        print(f"LEFT OUT: 4 KiB at random (no {PREAD}; cargo build --release -p forebay-reads --example reads_pread)")
    with open("/proc/loadavg") as load:
        print(f"{len(found)} sets, {arguments.repeats} repeats, load {load.read().split()[0]} before")
    everything = []
    for name, packed in found.items():
        threads = [int(count) for count in arguments.threads.split(",")]
        everything += measure(name, packed, threads, arguments.repeats)
        show([row for row in everything if row["set"] == name])
        sys.stdout.flush()
    goals = list(goals_of_all(everything))
    if not arguments.short:
        # Pairs, if there are any: they have most to decode at a time.
        name = max(found, key=lambda name: len(found[name]))
        goals += goals_of_long(name, measure_long(found[name], arguments.repeats))
    show_goals(goals)
    if arguments.json:
        with open(arguments.json, "w") as out:
            json.dump(everything, out, indent=1)
    if not all(row.get("exact", True) for row in everything):
        sys.exit("an archive did not give back its bytes")


if __name__ == "__main__":
    main()
