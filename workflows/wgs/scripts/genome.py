"""The simulated donor: reference, germline, somatic and artefact sites. Standard library only.

Not here: reads (reads.py). Coordinates are 0-based everywhere in Python and become 1-based only
in files whose format says so (truth.tsv, VCF).
"""

import gzip
from dataclasses import dataclass, field
from random import Random

BASES = "ACGT"
GERMLINE_EVERY_BP = 800    # human heterozygosity is near 1 in 1,000
ARTEFACT_EVERY_BP = 1500   # sites where one strand is misread in every library
SOMATIC_EVERY_BP = 8000    # far above a real tumour, so that recall has a usable denominator
REPEAT_EVERY_BP = 6000     # one 300-base family member, as Alu elements give human reads MAPQ 0
EDGE_BP = 300              # no planted site where coverage falls off


@dataclass(frozen=True)
class Site:
    """One single-base change. `share` is the fraction of the population's haplotypes (germline),
    of the tumour cells (somatic) or of the one strand's reads (artefact) that carry it."""

    position: int
    ref: str
    alt: str
    share: float
    reverse_strand: bool = False


@dataclass
class Sites:
    germline: list = field(default_factory=list)
    somatic: list = field(default_factory=list)
    artefact: list = field(default_factory=list)


COMPLEMENT = str.maketrans("ACGT", "TGCA")


def random_sequence(rng, length, repeat):
    """`length` bases at 41 % GC with diverged copies of `repeat`, some reverse-complemented."""
    bases = rng.choices(BASES, weights=(59, 41, 41, 59), k=length)
    for _ in range(length // REPEAT_EVERY_BP):
        start = rng.randrange(length - len(repeat))
        copy = repeat if rng.random() < 0.5 else reverse_complement(repeat)
        bases[start:start + len(copy)] = [
            other_base(rng, base) if rng.random() < 0.06 else base for base in copy]
    return "".join(bases)


def reverse_complement(bases):
    return bases.translate(COMPLEMENT)[::-1]


def other_base(rng, base):
    return rng.choice([other for other in BASES if other != base])


def read_fasta_bases(path):
    """All A, C, G, T of a FASTA file as one string; other letters are left out."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as lines:
        bases = "".join(line.strip() for line in lines if not line.startswith(">"))
    return "".join(base for base in bases.upper() if base in BASES)


def make_reference(seed, lengths, genome_path=""):
    """{name: bases}. From a real genome the sequences are consecutive cuts of it."""
    rng = Random(f"{seed}:reference")
    if genome_path:
        genome, start, reference = read_fasta_bases(genome_path), 0, {}
        if len(genome) < sum(lengths.values()):
            raise SystemExit(f"{genome_path} has {len(genome)} bases, the configured sequences "
                             f"need {sum(lengths.values())}: shorten `sequences` in config.yaml")
        for name, length in lengths.items():
            reference[name], start = genome[start:start + length], start + length
        return reference
    repeat = "".join(rng.choices(BASES, k=300))
    return {name: random_sequence(rng, length, repeat) for name, length in lengths.items()}


def plant_sites(seed, name, bases):
    """The sites of one sequence; no position is used twice, so truth is never ambiguous."""
    rng = Random(f"{seed}:sites:{name}")
    sites, used = Sites(), set()

    def plant(kind, every_bp, share):
        for _ in range(len(bases) // every_bp):
            position = rng.randrange(EDGE_BP, len(bases) - EDGE_BP)
            if position in used:
                continue
            used.add(position)
            ref = bases[position]
            kind.append(Site(position, ref, other_base(rng, ref), share(), rng.random() < 0.5))
        kind.sort(key=lambda site: site.position)

    plant(sites.somatic, SOMATIC_EVERY_BP, lambda: rng.choice((1.0, 1.0, 0.5)))
    plant(sites.germline, GERMLINE_EVERY_BP, lambda: rng.choice((0.05, 0.2, 0.5, 0.8)))
    plant(sites.artefact, ARTEFACT_EVERY_BP, lambda: rng.uniform(0.05, 0.25))
    return sites


def apply_sites(bases, sites):
    changed = list(bases)
    for site in sites:
        changed[site.position] = site.alt
    return "".join(changed)


def germline_haplotypes(rng, bases, sites):
    """Two haplotypes: each population site is on each of them with its population share."""
    return [apply_sites(bases, [site for site in sites.germline if rng.random() < site.share])
            for _ in range(2)]


def tumour_haplotypes(rng, haplotypes, sites):
    """[(two haplotypes) of the trunk clone, (two) of the subclone]. A mutation hits one copy;
    the trunk's are in every tumour cell, the subclone's (share below 1) only in half of them."""
    copy_of = [rng.randrange(2) for _ in sites.somatic]
    clones = []
    for clone_share in (1.0, 0.5):
        clones.append([
            apply_sites(haplotype, [site for site, copy in zip(sites.somatic, copy_of)
                                    if copy == number and site.share >= clone_share])
            for number, haplotype in enumerate(haplotypes)])
    return clones
