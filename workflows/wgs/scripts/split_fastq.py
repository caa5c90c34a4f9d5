"""Deal the read pairs of one sample round-robin into N pieces: pair i goes to piece i mod N.

Round-robin, not in blocks: every piece then sees the whole run (all tiles, all positions), so the
map array's jobs take equally long. The gather side needs no order, it sorts.
"""

import argparse
import gzip
import os
from itertools import islice

LINES_PER_READ = 4


def reads(lines, name="input"):
    """FASTQ records as single byte strings of four lines. A cut record is an error, not an end."""
    while record := list(islice(lines, LINES_PER_READ)):
        if len(record) < LINES_PER_READ or not record[0].startswith(b"@"):
            raise ValueError(f"{name}: not a whole FASTQ record: {record[0][:60]!r}")
        yield b"".join(record)


def deal(records, outputs):
    """Write record i to outputs[i mod N]; return how many were dealt."""
    count = 0
    for count, record in enumerate(records, start=1):
        outputs[(count - 1) % len(outputs)].write(record)
    return count


def piece_path(folder, piece, mate):
    return os.path.join(folder, f"{piece:04d}_{mate}.fq")


def split_mate(source, folder, pieces, mate):
    outputs = [open(piece_path(folder, piece, mate), "wb", buffering=1 << 16)
               for piece in range(pieces)]
    try:
        with gzip.open(source, "rb") as lines:
            return deal(reads(lines, source), outputs)
    finally:
        for output in outputs:
            output.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mate1")
    parser.add_argument("mate2")
    parser.add_argument("--pieces", type=int, required=True)
    parser.add_argument("--out", required=True, help="folder of the pieces")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    counts = [split_mate(source, options.out, options.pieces, mate)
              for mate, source in ((1, options.mate1), (2, options.mate2))]
    if counts[0] != counts[1]:
        raise SystemExit(f"{options.mate1} has {counts[0]} reads but {options.mate2} has "
                         f"{counts[1]}: the files are not mates of each other")


if __name__ == "__main__":
    main()
