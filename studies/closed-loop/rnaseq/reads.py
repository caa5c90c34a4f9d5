#!/usr/bin/env python3
"""Makes the inputs of the RNA-seq workflow: transcripts.fa, and pairs of reads of each sample.

    reads.py FOLDER [--samples 8] [--pairs 30000] [--seed 1]

The samples differ in how much of each transcript they have. The same seed gives the same bytes.
"""
import argparse
import gzip
import random
from pathlib import Path

READ, INSERT = 100, 250
TURN = str.maketrans("ACGT", "TGCA")


def fastq(path):
    """Without a time stamp, so that the bytes depend on the seed alone."""
    return gzip.GzipFile(path, "wb", compresslevel=1, mtime=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--pairs", type=int, default=30000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    transcripts = ["".join(dice.choices("ACGT", k=dice.randrange(500, 3000))) for _ in range(300)]
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "transcripts.fa").write_text(
        "".join(f">t{number}\n{bases}\n" for number, bases in enumerate(transcripts)))
    for sample in range(arguments.samples):
        share = [dice.lognormvariate(0, 1) for _ in transcripts]
        names = [arguments.folder / f"s{sample}_{mate}.fq.gz" for mate in (1, 2)]
        with fastq(names[0]) as left, fastq(names[1]) as right:
            for number, bases in enumerate(dice.choices(transcripts, share, k=arguments.pairs)):
                at = dice.randrange(len(bases) - INSERT)
                ends = bases[at:at + READ], bases[at + INSERT - READ:at + INSERT][::-1]
                for out, mate, read in zip((left, right), (1, 2), (ends[0], ends[1].translate(TURN))):
                    out.write(f"@r{number}/{mate}\n{read}\n+\n{'I' * READ}\n".encode())


if __name__ == "__main__":
    main()
