#!/usr/bin/env python3
"""How long aligners take that are fed by `forebay reads cat` with one thread, beside the same reads in
plain files, in .gz and in BINSEQ CBQ: whether decoding keeps eight threads of an aligner waiting.

    bench/reads_align.py FOLDER [--repeats 3] [--threads 8] [--json FILE]

FOLDER has hiseq2000_R1.fq.gz and _R2 (bench/reads-data.sh). Reads are drawn from a made-up genome of 4 MB
(reads_drawn.py), and all files lie in memory (/dev/shm). Pairs come from two files or in turns through
a pipe. Ways take turns; times are medians by the clock from the start of all programs to the end of
the last, and CPU of all of them. Plain files and `cat` must give the same alignments, line by line. On
a machine with fewer processors than threads the aligner and its feeder share them: what decoding takes
of CPU is time that the aligner has not.

FOREBAY=path   the binary under test (default target/release/forebay)
TURN_ALL=command   runs each way, where others on this machine measure by turns; its own time does not count
"""
import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

from reads import TURN_ALL, run
from reads_drawn import drawn
from reads_peers import FOREBAY, there

# By the clock, of plain files in memory: an aligner that waits for nothing.
MOST = 1.05
ALIGNERS = {
    "bwa mem": ("bwa", "bwa mem -v 1 -t {threads} {pairs} {genome} {reads}", "-p"),
    "minimap2": ("minimap2", "minimap2 -t {threads} -a -x sr {genome} {reads}", ""),
}


def ways(work, plain):
    """How reads come: to a file name or two, or through a pipe from a command."""
    archive, zipped, cbq = work / "drawn.reads", [f"{path}.gz" for path in plain], work / "drawn.cbq"
    files = " ".join(map(str, plain))
    run(f"{FOREBAY} reads pack -q -t 2 {files} -o {archive}", TURN_ALL)
    for path, out in zip(plain, zipped):
        run(f"gzip -6 -c {path} > {out}", TURN_ALL)
    yield "plain", None, files
    yield "`forebay reads cat`", f"{FOREBAY} reads cat -t 1 {archive}", "-"
    yield ".gz", None, " ".join(zipped)
    if there("bqtools"):
        run(f"bqtools encode -T 2 -m cbq {files} -o {cbq}", TURN_ALL)
        yield "CBQ", f"bqtools decode -T 1 -f q {cbq}", "-"
    else:
        print("LEFT OUT: CBQ (bqtools not on PATH; scripts/setup-reads-peers.sh installs it)")


def command(aligner, threads, genome, feeder, reads):
    _, words, pairs = ALIGNERS[aligner]
    # bwa is told that one input has both mates; minimap2 sees it by the names.
    call = words.format(threads=threads, genome=genome, reads=reads, pairs=pairs if feeder else "")
    return f"{feeder} 2> /dev/null | {call} 2> /dev/null" if feeder else f"{call} 2> /dev/null"


def same_alignments(work, one, other):
    """Whether two commands write the same lines; headers have the commands."""
    outs = [work / "one.sam", work / "other.sam"]
    for call, out in zip((one, other), outs):
        run(f"{{ {call}; }} | grep -v '^@' > {out}", TURN_ALL)
    same = outs[0].read_bytes() == outs[1].read_bytes()
    for out in outs:
        out.unlink()
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    packed = [arguments.folder / f"hiseq2000_R{mate}.fq.gz" for mate in (1, 2)]
    found, wrong = [], []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as work:
        work = Path(work)
        genome, plain = drawn(work, packed)
        fed = list(ways(work, plain))
        text = sum(os.path.getsize(path) for path in plain)
        print(f"\nAligners with {arguments.threads} threads on {os.cpu_count()} processors, {text / 1e6:.0f} MB of text, "
              f"medians of {arguments.repeats}\n")
        print("| aligner | reads from | s | of plain | CPU-s | goal | |\n|---|---|---|---|---|---|---|")
        for aligner, (tool, _, _) in ALIGNERS.items():
            if not there(tool):
                print(f"LEFT OUT: {aligner} ({tool} not on PATH)")
                continue
            if tool == "bwa":
                run(f"bwa index {genome} 2> /dev/null", TURN_ALL)
            calls = {way: command(aligner, arguments.threads, genome, feeder, reads) for way, feeder, reads in fed}
            if not same_alignments(work, calls["plain"], calls["`forebay reads cat`"]):
                wrong.append(aligner)
            times = {way: [] for way in calls}
            for _ in range(arguments.repeats):
                for way, call in calls.items():
                    times[way].append(run(f"{call} > /dev/null", TURN_ALL))
            clock = {way: median(wall for _, wall in took) for way, took in times.items()}
            for way, took in times.items():
                ratio, cpu = clock[way] / clock["plain"], median(cpu for cpu, _ in took)
                own = way == "`forebay reads cat`"
                goal = f"at most {MOST} | {'met' if ratio <= MOST else 'missed'}" if own else "- | "
                print(f"| {aligner} | {way} | {clock[way]:.2f} | {ratio:.2f} | {cpu:.2f} | {goal} |")
                found.append({"aligner": aligner, "way": way, "wall": clock[way], "cpu": cpu, "text": text})
            sys.stdout.flush()
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    if wrong:
        sys.exit(f"other alignments than from plain files: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
