"""Paired reads of one sample, written as two gzip FASTQ files. Standard library only.

Model: 2 x 100 bases, fragments of 320 +- 40 bases, four quality bins as new sequencers report,
errors placed by those qualities, 5 % PCR duplicates, 0.5 % pairs from nowhere (never mapped).
"""

import gzip
from bisect import bisect_left, bisect_right
from itertools import accumulate
from random import Random

from genome import other_base, reverse_complement

READ_BP = 100
FRAGMENT_MEAN_BP, FRAGMENT_SD_BP = 320, 40
DUPLICATE_SHARE = 0.05
FOREIGN_SHARE = 0.005
QUALITY_BINS = (37, 23, 12, 2)
TEMPLATES = 400            # distinct quality strings a library draws from


def quality_templates(rng):
    """[(quality string, cumulative expected errors by base)]; quality falls along the read."""
    templates = []
    for _ in range(TEMPLATES):
        bins, current = [], 0
        for cycle in range(READ_BP):
            drop = 0.01 + 0.04 * cycle / READ_BP
            draw = rng.random()
            if draw < drop:
                current = min(current + 1, len(QUALITY_BINS) - 1)
            elif draw > 0.75:
                current = max(current - 1, 0)
            bins.append(QUALITY_BINS[current])
        templates.append(("".join(chr(33 + quality) for quality in bins),
                          list(accumulate(10 ** (-quality / 10) for quality in bins))))
    return templates


class Library:
    """One sample's reads. `haplotypes` is {sequence: [(weight, bases), ...]}; `artefacts` is
    {sequence: sites}, misread on one strand at `artefact_scale` times their share."""

    def __init__(self, seed, sample, haplotypes, artefacts, artefact_scale):
        self.rng = Random(f"{seed}:reads:{sample}")
        self.sample = sample
        self.templates = quality_templates(self.rng)
        self.names = list(haplotypes)
        self.cumulative_bp = list(accumulate(len(haplotypes[n][0][1]) for n in self.names))
        self.haplotypes = {name: ([bases for _, bases in choices],
                                  list(accumulate(weight for weight, _ in choices)))
                           for name, choices in haplotypes.items()}
        self.artefacts = {name: ([site.position for site in sites], sites)
                          for name, sites in artefacts.items()}
        self.artefact_scale = artefact_scale
        self.recent = []

    def fragment(self):
        """(sequence, start, bases, flipped): where a new fragment lies and what it spells."""
        rng = self.rng
        length = max(READ_BP + 20, round(rng.gauss(FRAGMENT_MEAN_BP, FRAGMENT_SD_BP)))
        flipped = rng.random() < 0.5
        if rng.random() < FOREIGN_SHARE:
            return None, 0, "".join(rng.choices("ACGT", k=length)), flipped
        name = self.names[bisect_right(self.cumulative_bp, rng.randrange(self.cumulative_bp[-1]))]
        choices, weights = self.haplotypes[name]
        bases = choices[0 if len(choices) == 1 else
                        bisect_left(weights, rng.random() * weights[-1])]
        start = rng.randrange(len(bases) - length)
        return name, start, bases[start:start + length], flipped

    def misread(self, name, start, bases, reverse_strand):
        """Apply the artefact sites under one mate (given in reference direction)."""
        positions, sites = self.artefacts[name]
        first = bisect_left(positions, start)
        while first < len(positions) and positions[first] < start + READ_BP:
            site, first = sites[first], first + 1
            if site.reverse_strand == reverse_strand \
                    and self.rng.random() < site.share * self.artefact_scale:
                at = site.position - start
                bases = bases[:at] + site.alt + bases[at + 1:]
        return bases

    def sequenced(self, bases):
        """(bases with errors, qualities). Errors are a Poisson process over expected errors."""
        qualities, expected = self.rng.choice(self.templates)
        at = self.rng.expovariate(1.0)
        while at < expected[-1]:
            index = bisect_left(expected, at)
            bases = bases[:index] + other_base(self.rng, bases[index]) + bases[index + 1:]
            at += self.rng.expovariate(1.0)
        return bases, qualities

    def pair(self):
        if self.recent and self.rng.random() < DUPLICATE_SHARE:
            name, start, bases, flipped = self.rng.choice(self.recent)
        else:
            name, start, bases, flipped = fragment = self.fragment()
            self.recent.append(fragment)
            if len(self.recent) > 4000:   # bounded: a duplicate follows within the same tile
                del self.recent[:2000]
        left, right = bases[:READ_BP], bases[-READ_BP:]
        if name is not None:
            left = self.misread(name, start, left, False)
            right = self.misread(name, start + len(bases) - READ_BP, right, True)
        mates = self.sequenced(left), self.sequenced(reverse_complement(right))
        return mates[::-1] if flipped else mates

    def write(self, prefix, pairs):
        """`prefix`_1.fq.gz and _2.fq.gz with `pairs` pairs; gzip without time or file name."""
        flowcell = f"FB01:7:{self.sample.upper()}:1"
        with open(f"{prefix}_1.fq.gz", "wb") as raw1, open(f"{prefix}_2.fq.gz", "wb") as raw2, \
                gzip.GzipFile("", "wb", 1, raw1, 0) as first, \
                gzip.GzipFile("", "wb", 1, raw2, 0) as second:
            lines = [], []
            for number in range(pairs):
                x, rest = number % 1009, number // 1009
                name = f"{flowcell}:{1101 + rest // 97}:{1000 + 29 * x}:{1000 + 301 * (rest % 97)}"
                for mate, (bases, qualities) in enumerate(self.pair()):
                    lines[mate].append(f"@{name} {mate + 1}:N:0\n{bases}\n+\n{qualities}\n")
                if len(lines[0]) == 2000 or number == pairs - 1:
                    for out, part in zip((first, second), lines):
                        out.write("".join(part).encode())
                        part.clear()
