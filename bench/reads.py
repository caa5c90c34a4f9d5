#!/usr/bin/env python3
"""Size and CPU of `forebay reads` beside gzip, bzip2, zstd, CRAM 3.1, BINSEQ CBQ and SRA, on FASTQ
that you have, or that bench/reads-data.sh fetches. bench/reads.sh runs it with all that it needs.

    bench/reads.py FOLDER [--repeats 3] [--threads 1,2] [--only NAME,...] [--json FILE]

FOLDER has *_R1.fq.gz with *_R2.fq.gz beside them (pairs), and other *.fq.gz (single). Every set is
unpacked first; each tool then reads plain files and writes files, and decodes to /dev/null. Sizes
count all that a tool needs to read again: index, checksums, headers. CPU is user and system time of
the tool and its threads, the least of the repeats, start of the process included; MB are 10^6 bytes
of FASTQ text. What takes longest (zstd -19, CRAM archive, CBQ -l 19) is packed once. A CRAM gets N
for `.` (samtools does not read it), and what it gives back is not compared: it keeps no `+name`
either. An archive is verified, and its files are compared.

4 KiB at random are read by target/release/examples/reads_pread, in one process: no other tool here
knows where byte n of a FASTQ is. Peers that are not on PATH are left out, and named
(scripts/setup-reads-peers.sh installs them).

FOREBAY=path   the binary under test (default target/release/forebay)
"""
import argparse
import filecmp
import gzip
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from reads_peers import CRAMS, FOREBAY, PROFILES, missing, rows

PREAD = os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "release/examples/reads_pread")
# Aims: sizes of CRAM, .gz and .sra; MB/s of one core by AVX2.
OF_CRAM, FAST_OF_CRAM, OF_GZ = 0.97, 0.95, 0.62
DECODE_MB = {"many levels": 640, "few levels": 700}
FAST_MB = {"many levels": 900, "few levels": 1000}
ENCODE_MB = {"default": 60, "fast": 100, "random": 40}
DECODE_OF_SMALL, TWO_CORES = 8, 1.9
PREAD_MS, PREAD_LEAST = {"default": 5, "random": 2}, 20 << 20


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
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(f"{command}\n{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def pread(archive):
    """Median and 99th percentile of milliseconds of 4 KiB at random, each group decoded anew."""
    if not os.path.exists(PREAD):
        return None
    told = subprocess.run([PREAD, archive], capture_output=True, text=True, check=True).stdout
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


def aims(found, kind):
    """What, found, target, whether it should be below; over all sets of a kind."""
    few, many = min(row["threads"] for row in found), max(row["threads"] for row in found)

    def total(tool, what, threads=few):
        return sum(row[what] for row in found
                   if (row["tool"], row["kind"], row["threads"]) == (tool, kind, threads))

    def speed(tool, what):
        return total(tool, "text") / 1e6 / total(tool, what)

    own, fast, at_random = [f"forebay {profile}" for profile in PROFILES]
    crams = {tool: total(f"CRAM 3.1 {tool}", "bytes") for tool in CRAMS}
    if all(crams.values()):
        best = min(crams, key=crams.get)
        yield f"size, of CRAM 3.1 {best}, the smallest", total(own, "bytes") / crams[best], OF_CRAM, True
        yield "size of fast, of CRAM 3.1 normal", total(fast, "bytes") / crams["normal"], FAST_OF_CRAM, True
    for peer in ("gzip -6", "SRA"):
        # A set that a peer can't take is in neither sum.
        sets_of = {row["set"] for row in found if row["tool"] == peer}
        mine = sum(row["bytes"] for row in found
                   if row["tool"] == own and row["set"] in sets_of and (row["kind"], row["threads"]) == (kind, few))
        if total(peer, "bytes"):
            yield f"size, of {peer}", mine / total(peer, "bytes"), OF_GZ, True
    yield "decode, MB/CPU-s", speed(own, "decode_cpu"), DECODE_MB[kind], False
    yield "decode of fast, MB/CPU-s", speed(fast, "decode_cpu"), FAST_MB[kind], False
    if all(crams.values()):
        of_small = total("CRAM 3.1 small", "decode_cpu") / total(own, "decode_cpu")
        yield "decode, times CRAM 3.1 small", of_small, DECODE_OF_SMALL, False
    if many > few:
        more = total(own, "decode_wall", few) / total(own, "decode_wall", many)
        yield f"decode by {many} threads, times {few}, by the clock", more, TWO_CORES, False
    for profile, least in ENCODE_MB.items():
        yield f"encode, `{profile}`, MB/CPU-s", speed(f"forebay {profile}", "encode_cpu"), least, False
    for tool, of, most in ((own, "", PREAD_MS["default"]), (at_random, ", `random`", PREAD_MS["random"])):
        reads = [row["pread_ms"][0] for row in found if row["tool"] == tool and row["kind"] == kind and row["pread_ms"]]
        if reads:
            yield f"4 KiB at random{of}, ms, the slowest set's median", max(reads), most, True


def judge(found):
    print("\n| kind | what | found | target | |\n|---|---|---|---|---|")
    for kind in sorted({row["kind"] for row in found}):
        for what, value, target, low in aims(found, kind):
            met = value <= target if low else value >= target
            print(f"| {kind} | {what} | {value:.3g} | {'at most' if low else 'at least'} {target} | "
                  f"{'met' if met else 'missed'} |")
    if not all(row.get("exact", True) for row in found):
        sys.exit("an archive did not give back its bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default="")
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
    judge(everything)
    if arguments.json:
        with open(arguments.json, "w") as out:
            json.dump(everything, out, indent=1)


if __name__ == "__main__":
    main()
