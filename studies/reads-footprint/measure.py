#!/usr/bin/env python3
"""What columns of reads take, by codec and level, beside what was published of SRA's copies.

    studies/reads-footprint/measure.py [FOLDER] [--forebay PATH] [--mib 4] [--json FILE]

FOLDER has *_R1.fq.gz with *_R2.fq.gz beside them, and other *.fq.gz (default: what
bench/reads-data.sh fetches, target/bench/reads/sets). The first MiB of text of each file are one
group blob, as the published copies had them: bases and qualities of all mates, names of the first,
each column by itself under each codec and level. `forebay` is an archive of the same reads, whose
columns `forebay reads info` counts; its total has headers, index and checksums, too, those of the
others have not. Sizes don't depend on how busy the machine is.
"""
import argparse
import bz2
import gzip
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COLUMNS = ["bases", "qualities", "names"]
LEVELS = {"gzip": [1, 6, 9], "bzip2": [1, 9], "zstd": [1, 3, 9, 19]}
PROFILES = ["fast", "default"]


def zstd(raw, level):
    command = ["zstd", "-q", f"-{level}", "-c"]
    return subprocess.run(command, input=raw, stdout=subprocess.PIPE, check=True).stdout


def gzipped(raw, level):
    made = zlib.compressobj(level, wbits=31)
    return made.compress(raw) + made.flush()


CODECS = {"gzip": gzipped, "bzip2": bz2.compress, "zstd": zstd}


def sets(folder):
    """Name -> its files."""
    for path in sorted(folder.glob("*.fq.gz")):
        stem = path.name.removesuffix(".fq.gz")
        if stem.endswith("_R2"):
            continue
        second = path.with_name(f"{stem[:-1]}2.fq.gz") if stem.endswith("_R1") else path
        yield stem.removesuffix("_R1"), [path] if second == path else [path, second]


def records(files, most):
    """Records of all mates until the first has so many bytes."""
    opened, found, taken = [gzip.open(path) for path in files], [[] for _ in files], 0
    while taken < most:
        four = [list(itertools.islice(lines, 4)) for lines in opened]
        if not all(len(lines) == 4 for lines in four):
            break
        for mate, lines in zip(found, four):
            mate.append(lines)
        taken += sum(map(len, four[0]))
    return found


def columns(mates):
    part = lambda mate, line: b"".join(lines[line].rstrip(b"\n") for lines in mate)
    return {"bases": b"".join(part(mate, 1) for mate in mates),
            "qualities": b"".join(part(mate, 3) for mate in mates),
            "names": b"".join(lines[0][1:] for lines in mates[0])}


def packed(forebay, mates, profile):
    """Bytes of an archive by column, and all of it."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"x_R{nth + 1}.fq") for nth in range(len(mates))]
        for path, mate in zip(paths, mates):
            path.write_bytes(b"".join(itertools.chain.from_iterable(mate)))
        archive = Path(folder, "x.reads")
        subprocess.run([forebay, "reads", "pack", "-q", "--profile", profile, *paths, "-o", archive], check=True)
        told = subprocess.run([forebay, "reads", "info", "--json", archive], capture_output=True, check=True)
        by = dict.fromkeys(COLUMNS, 0)
        for column in json.loads(told.stdout)["columns"]:
            # What bases need besides (lengths, N) is theirs: the text of the others has it, too.
            by[column["column"] if column["column"] in by else "bases"] += column["bytes"]
        return by | {"all": sum(entry.stat().st_size for entry in archive.iterdir())}


def footprint(forebay, files, most):
    """What each codec makes of each column, and of all."""
    mates = records(files, most)
    raw = columns(mates)
    found = {"raw": {name: len(bytes_) for name, bytes_ in raw.items()}}
    for codec, levels in LEVELS.items():
        if codec == "zstd" and not shutil.which("zstd"):
            continue
        for level in levels:
            found[f"{codec} {level}"] = {name: len(CODECS[codec](of, level)) for name, of in raw.items()}
    for by in found.values():
        by["all"] = sum(by.values())
    for profile in PROFILES:
        found[f"forebay {profile}"] = packed(forebay, mates, profile)
    return found


def compare(found, published):
    """Rows beside the published ones: what, published, here; each set counts once in a mean."""
    def of(codec, other):
        parts = [100 * by[codec]["all"] / by[other]["all"] for by in found.values()]
        bytes_ = [sum(by[one]["all"] for by in found.values()) for one in (codec, other)]
        return sum(parts) / len(parts), 100 * bytes_[0] / bytes_[1], min(parts), max(parts)

    said = published["bzip2_of_gzip_pct"]
    words = [said["mean"], said["by_bytes"], said["least"], said["most"]]
    yield "bzip2 9, of gzip 6", words, of("bzip2 9", "gzip 6")
    for codec in [name for name in ("zstd 9", "zstd 19", "forebay fast", "forebay default")
                  if all(name in by for by in found.values())]:
        yield f"{codec}, of gzip 6", None, of(codec, "gzip 6")
    yield "forebay default, of bzip2 9", None, of("forebay default", "bzip2 9")


def tell(found, published):
    print(f"\n{published['name']}\n{published['source']}\n")
    print("Bytes of a column, and per cent of it by codec and level (one group blob of each set):\n")
    codecs = list(next(iter(found.values())))
    print(f"| set | column | bytes | {' | '.join(codecs[1:])} |\n" + "|---" * (len(codecs) + 2) + "|")
    for name, by in found.items():
        for column in [*COLUMNS, "all"]:
            raw = by["raw"][column]
            parts = " | ".join(f"{100 * by[codec][column] / raw:.1f}" for codec in codecs[1:])
            print(f"| {name} | {column} | {raw:,} | {parts} |")
    print("\n| per cent of bytes | published: mean of runs | by bytes | range |"
          " here: mean of sets | by bytes | range |\n" + "|---" * 7 + "|")
    for what, said, here in compare(found, published):
        cells = [f"{one[0]:.1f} | {one[1]:.1f} | {one[2]:.0f} to {one[3]:.0f}" if one else "- | - | -"
                 for one in (said, here)]
        print(f"| {what} | {' | '.join(cells)} |")
    original = published["bzip2_of_original_pct"]
    print(f"\nNot reproduced: bzip2 copies of the originals (published: {original['mean']:.0f} % in the mean): "
          "the originals are .sra files as NCBI's loaders made them, of runs that can't be had here.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "target/bench/reads/sets")
    parser.add_argument("--forebay", default=ROOT / "target/release/forebay", type=Path)
    parser.add_argument("--mib", type=int, default=4)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = {}
    for name, files in sets(arguments.folder):
        found[name] = footprint(arguments.forebay, files, arguments.mib << 20)
    if not found:
        sys.exit(f"reads-footprint: no *.fq.gz\n  where: {arguments.folder}\n  next:  bench/reads-data.sh fetches some")
    tell(found, tomllib.loads((HERE / "published.toml").read_text()))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
