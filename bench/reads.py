#!/usr/bin/env python3
"""Size and CPU of `forebay reads` beside gzip, bzip2, zstd, CRAM 3.1, BINSEQ CBQ and SRA, on FASTQ
that you have, or that bench/reads-data.sh fetches.

    bench/reads.py FOLDER [--repeats 3] [--threads 1,2] [--only NAME,...] [--json FILE]

FOLDER has *_R1.fq.gz with *_R2.fq.gz beside them (pairs), and other *.fq.gz (single). Every set is
unpacked first; each tool then reads plain files and writes files, and decodes to /dev/null. Sizes
count all that a tool needs to read again: index, checksums, headers. CPU is user and system time of
the tool and its threads, the least of the repeats, start of the process included; MB are 10^6 bytes
of FASTQ text. A CRAM gets N for `.` (samtools does not read it), and what it gives back is not
compared: it keeps no `+name` either. An archive is verified, and its files are compared.

Peers that are not on PATH are left out, and named: samtools, bqtools (cargo install bqtools), and
latf-load, kar and fastq-dump (apt-get install sra-toolkit).

FOREBAY=path   the binary under test (default target/release/forebay)
"""
import argparse
import filecmp
import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

FOREBAY = os.environ.get("FOREBAY", "target/release/forebay")
CRAMS = ["fast", "normal", "small", "archive"]
SRA = ["latf-load", "kar", "fastq-dump"]
# Issue and facts: pairs of many levels, singles of few; of .gz; MB/s of one core.
OF_CRAM = {"many levels": 0.92, "few levels": 0.97}
OF_GZ, DECODE_MB, DECODE_OF_SMALL, ENCODE_MB = 0.62, 600, 8, 100


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


def for_cram(path):
    """The same file, or one with N for `.` beside it: samtools reads no other."""
    other = path + ".n"
    with open(path, "rb") as lines:
        if not any(b"." in line for at, line in enumerate(lines) if at % 4 == 1):
            return path
    if not os.path.exists(other):
        subprocess.run(f"sed '2~4y/./N/' {path} > {other}", shell=True, check=True)
    return other


def there(*tools):
    return all(shutil.which(tool) for tool in tools)


def offset(path):
    """33, or 64 where no quality of the first 5000 reads is below `;`."""
    with open(path, "rb") as lines:
        lowest = min((min(line.strip(), default=255) for at, line in zip(range(20000), lines) if at % 4 == 3), default=0)
    return 64 if lowest >= 59 else 33


def run(command):
    """CPU and wall seconds of a shell command."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(f"{command}\n{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def tools(plain, work, threads):
    """Name, what it makes, how, and how it is decoded."""
    pair = len(plain) == 2
    listed = " ".join(plain)
    rows = []
    if threads == 1:
        for name, command, back in [
            ("gzip -6", "gzip -6 -c", "gzip -dc"),
            ("bzip2 -9", "bzip2 -9 -c", "bzip2 -dc"),
            ("zstd -3", "zstd -q -3 -c", "zstd -dcq"),
            ("zstd -19", "zstd -q -19 --long=27 -c", "zstd -dcq --long=27"),
        ]:
            outs = [f"{work}/{name.replace(' ', '')}.{at}" for at in range(len(plain))]
            make = " && ".join(f"{command} {path} > {out}" for path, out in zip(plain, outs))
            read = " && ".join(f"{back} < {out} > /dev/null" for out in outs)
            rows.append((name, outs, make, read))
    for profile in CRAMS if there("samtools") else []:
        out = f"{work}/{profile}.cram"
        taken = [for_cram(path) for path in plain]
        inputs = f"-1 {taken[0]} -2 {taken[1]}" if pair else f"-0 {taken[0]}"
        made = "" if profile == "normal" else f",{profile}"
        make = f"samtools import -@ {threads - 1} {inputs} -O cram,version=3.1,no_ref=1{made} -o {out}"
        outs = "-1 /dev/null -2 /dev/null" if pair else "-0 /dev/null"
        read = f"samtools fastq -@ {threads - 1} {outs} -n {out}"
        rows.append((f"CRAM 3.1 {profile}", [out], make, read))
    if there("bqtools"):
        # Its longest block, since the default refuses long reads and is a seventh larger.
        for name, options in [("CBQ -l 3", "-B 8M -l 3"), ("CBQ -l 19", "-B 8M -l 19")]:
            out = f"{work}/{name.replace(' ', '')}.cbq"
            make = f"bqtools encode -T {threads} -m cbq {options} {listed} -o {out}"
            rows.append((name, [out], make, f"bqtools decode -T {threads} -f q {out} > /dev/null"))
    if threads == 1 and there(*SRA):
        out, loaded = f"{work}/loaded.sra", f"{work}/loaded"
        make = (f"rm -rf {loaded} {out}; latf-load --quality PHRED_{offset(plain[0])} -p ILLUMINA -o {loaded} {listed}"
                f" && kar -f -d {loaded} -c {out}")
        rows.append(("SRA", [out], make, f"fastq-dump -Z --split-files {out} > /dev/null"))
    out = f"{work}/archive.reads"
    make = f"rm -rf {out}; {FOREBAY} reads pack -q -t {threads} {listed} -o {out}"
    rows.append(("forebay reads", [out], make, f"{FOREBAY} reads cat -t {threads} {out} --mate 1 > /dev/null"
                 + (f" && {FOREBAY} reads cat -t {threads} {out} --mate 2 > /dev/null" if pair else "")))
    return rows


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
            for tool, outs, make, read in tools(plain, work, count):
                try:
                    made = [run(make) for _ in range(1 if "19" in tool else repeats)]
                    back = [run(read) for _ in range(repeats)]
                except RuntimeError as error:
                    if tool == "forebay reads":
                        raise
                    print(f"LEFT OUT: {tool} on {name}: {error}")
                    continue
                row = {"set": name, "kind": kind, "text": text, "tool": tool, "threads": count,
                       "bytes": sum(map(size, outs)),
                       "encode_cpu": min(cpu for cpu, _ in made), "encode_wall": min(w for _, w in made),
                       "decode_cpu": min(cpu for cpu, _ in back), "decode_wall": min(w for _, w in back)}
                if tool == "forebay reads":
                    row["exact"] = exact(outs[0], plain)
                results.append(row)
    return results


def show(rows):
    print(f"\n{rows[0]['set']} ({rows[0]['text'] / 1e6:.1f} MB of text, {rows[0]['kind']})\n")
    print("| tool | threads | bytes | of text | encode MB/CPU-s | decode MB/CPU-s | encode MB/s | decode MB/s |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        speeds = [row["text"] / 1e6 / max(row[what], 1e-3) for what in
                  ("encode_cpu", "decode_cpu", "encode_wall", "decode_wall")]
        print(f"| {row['tool']} | {row['threads']} | {row['bytes']:,} | {row['bytes'] / row['text']:.4f} | "
              + " | ".join(f"{speed:.0f}" for speed in speeds) + " |")


def judge(rows):
    """Ratios beside the targets, over all sets of a kind."""
    print("\n| kind | what | found | target | |\n|---|---|---|---|---|")
    one = [row for row in rows if row["threads"] == min(r["threads"] for r in rows)]
    for kind in sorted({row["kind"] for row in one}):
        def total(tool, what):
            return sum(row[what] for row in one if row["kind"] == kind and row["tool"] == tool)

        own, text = total("forebay reads", "bytes"), total("forebay reads", "text")
        crams = {tool: total(f"CRAM 3.1 {tool}", "bytes") for tool in CRAMS}
        best = min((size, tool) for tool, size in crams.items() if size) if any(crams.values()) else None
        decode = text / 1e6 / total("forebay reads", "decode_cpu")
        lines = [("size of .gz (gzip -6)", own / total("gzip -6", "bytes"), OF_GZ, True),
                 ("decode, MB/CPU-s", decode, DECODE_MB, False),
                 ("encode, MB/CPU-s", text / 1e6 / total("forebay reads", "encode_cpu"), ENCODE_MB, False)]
        if best:
            lines.insert(0, (f"size of CRAM 3.1 {best[1]}, the smallest", own / best[0], OF_CRAM[kind], True))
            of_small = total("CRAM 3.1 small", "decode_cpu") / total("forebay reads", "decode_cpu")
            lines.append(("decode, of CRAM 3.1 small", of_small, DECODE_OF_SMALL, False))
        for what, found, target, low in lines:
            met = found <= target if low else found >= target
            print(f"| {kind} | {what} | {found:.3g} | {'at most' if low else 'at least'} {target} | "
                  f"{'met' if met else 'missed'} |")
    if not all(row.get("exact", True) for row in rows):
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
    for tools_of, what in [(["samtools"], "CRAM"), (["bqtools"], "CBQ"), (SRA, "SRA")]:
        if not there(*tools_of):
            print(f"LEFT OUT: {what} ({', '.join(tools_of)} not on PATH)")
    with open("/proc/loadavg") as load:
        print(f"{len(found)} sets, {arguments.repeats} repeats, load {load.read().split()[0]} before")
    everything = []
    for name, packed in found.items():
        rows = measure(name, packed, [int(count) for count in arguments.threads.split(",")], arguments.repeats)
        show(rows)
        everything += rows
    judge(everything)
    if arguments.json:
        with open(arguments.json, "w") as out:
            json.dump(everything, out, indent=1)


if __name__ == "__main__":
    main()
