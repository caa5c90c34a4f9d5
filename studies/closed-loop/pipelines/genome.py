#!/usr/bin/env python3
"""A chromosome drawn by lot, with repeats: `genome.py NAME BASES SEED > FASTA`."""
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "workflows/wgs/scripts"))
from genome import random_sequence

LINE = 70


def main():
    name, length, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    lot = random.Random(seed)
    bases = random_sequence(lot, length, random_sequence(lot, 300, ""))
    print(f">{name}")
    for at in range(0, length, LINE):
        print(bases[at:at + LINE])


if __name__ == "__main__":
    main()
