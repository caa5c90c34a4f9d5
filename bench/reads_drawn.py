"""Reads that an aligner has something to do with: drawn from a made-up genome, with names, qualities and
errors of real ones."""
import gzip
import random

GENOME, FRAGMENT = 4_000_000, 320


def drawn(work, packed):
    """A genome, and pairs of reads from it with the names and qualities of others."""
    draw = random.Random(1)
    genome = "".join(draw.choices("ACGT", k=GENOME))
    (work / "genome.fa").write_text(f">made\n{genome}\n")
    back = str.maketrans("ACGT", "TGCA")
    plain = [work / f"drawn_R{mate}.fastq" for mate in (1, 2)]
    with gzip.open(packed[0], "rt") as one, gzip.open(packed[1], "rt") as two, \
            open(plain[0], "w", encoding="ascii") as left, open(plain[1], "w", encoding="ascii") as right:
        sides = [(source, to) for source, to in ((one, left), (two, right))]
        while True:
            # Names, bases, the plus line and qualities of both mates; 64 stands for quality 0.
            lines = [[source.readline() for _ in range(4)] for source, _ in sides]
            if not lines[0][0]:
                return work / "genome.fa", plain
            start = draw.randrange(GENOME - FRAGMENT)
            fragment = genome[start:start + FRAGMENT]
            for (name, _, plus, qualities), (_, to), strand in zip(
                    lines, sides, (fragment, fragment.translate(back)[::-1])):
                bases = list(strand[:len(qualities) - 1])
                for at, quality in enumerate(qualities[:-1]):
                    if quality < "Z" and draw.random() < 10 ** (-max(ord(quality) - 64, 2) / 10):
                        bases[at] = draw.choice("ACGT")
                phred = "".join(chr(max(ord(quality) - 31, 33)) for quality in qualities[:-1])
                to.write(f"{name}{''.join(bases)}\n{plus}{phred}\n")
