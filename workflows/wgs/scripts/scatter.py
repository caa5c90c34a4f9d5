"""Scatter sorted BAM pieces into one folder: one small BAM for each piece and reference sequence.

This is the workflow's many-file folder (pieces x sequences files, written once, read once, then
removed whole). Reads without a place go to the sequence name "unmapped". Every file is written,
also an empty one, so that the gather jobs need no listing of the folder.
"""

import argparse
import os

import pysam

UNMAPPED = "unmapped"


def scatter_piece(source, folder, piece):
    with pysam.AlignmentFile(source, "rb") as reads:
        header = reads.header
        outputs = {name: pysam.AlignmentFile(os.path.join(folder, f"{name}.{piece}.bam"), "wb",
                                             header=header)
                   for name in [*reads.references, UNMAPPED]}
        by_id = [outputs[name] for name in reads.references] + [outputs[UNMAPPED]]
        for read in reads:   # id -1, "no sequence", is the last one
            by_id[read.reference_id].write(read)
        for output in outputs.values():
            output.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pieces", nargs="+", help="BAM files; the file name is the piece's name")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    for source in options.pieces:
        scatter_piece(source, options.out, os.path.basename(source).split(".")[0])


if __name__ == "__main__":
    main()
