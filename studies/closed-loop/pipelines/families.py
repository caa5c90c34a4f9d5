#!/usr/bin/env python3
"""Families of sequences that descend from one another: `families.py COUNT MEMBERS BASES` writes
family-NN.fa files into the current directory."""
import random
import sys
from pathlib import Path


def descend(lot, bases):
    """A child: one base in twelve differs, one in a hundred is lost."""
    changed = (lot.choice("ACGT") if lot.random() < 1 / 12 else base for base in bases)
    return "".join(base for base in changed if lot.random() > 1 / 100)


def main():
    count, members, length = map(int, sys.argv[1:])
    for family in range(count):
        lot = random.Random(family)
        kin = ["".join(lot.choices("ACGT", k=length))]
        while len(kin) < members:
            kin.append(descend(lot, lot.choice(kin)))
        text = "".join(f">f{family}m{nth}\n{bases}\n" for nth, bases in enumerate(kin))
        Path(f"family-{family:02}.fa").write_text(text)


if __name__ == "__main__":
    main()
