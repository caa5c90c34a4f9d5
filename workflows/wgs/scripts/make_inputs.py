"""Make the demo's inputs: reference, reads of tumour, normal and control panel, truth.

Standard library only, needs no network and no data folder. The same arguments always give the
same bytes: each random stream has its own seed, made of --seed and the thing it draws.

The donor's tumour and normal share germline sites; the tumour (70 % of its cells) adds a trunk
clone and a subclone. Artefact sites are misread on one strand in all libraries, most in the
tumour's: the Fisher test alone calls them somatic, the panel filter is there to stop that.
"""

import argparse
import multiprocessing
import os
from random import Random

from genome import (germline_haplotypes, make_reference, plant_sites, tumour_haplotypes)
from reads import READ_BP, Library

PURITY = 0.7
ARTEFACT_SCALE = {"tumour": 1.0, "normal": 0.15}   # of a site's share; controls: 0.7


def sample_haplotypes(seed, sample, reference, sites):
    """{sequence: [(weight, bases), ...]} of a sample. Tumour and normal are one donor."""
    donor = "donor" if sample in ("tumour", "normal") else sample
    result = {}
    for name, bases in reference.items():
        rng = Random(f"{seed}:{donor}:{name}")
        healthy = germline_haplotypes(rng, bases, sites[name])
        if sample != "tumour":
            result[name] = [(0.5, haplotype) for haplotype in healthy]
            continue
        trunk, subclone = tumour_haplotypes(rng, healthy, sites[name])
        result[name] = [((1 - PURITY) / 2, haplotype) for haplotype in healthy] \
            + [(PURITY / 4, haplotype) for haplotype in trunk + subclone]
    return result


def write_sample(job):
    """One sample's two FASTQ files. `job` carries all it needs, so it may run in any process."""
    out, seed, sample, depth, reference = job
    sites = {name: plant_sites(seed, name, bases) for name, bases in reference.items()}
    library = Library(seed, sample, sample_haplotypes(seed, sample, reference, sites),
                      {name: found.artefact for name, found in sites.items()},
                      ARTEFACT_SCALE.get(sample, 0.7))
    bases = sum(len(sequence) for sequence in reference.values())
    library.write(os.path.join(out, sample), round(bases * depth / (2 * READ_BP)))


def write_reference(path, reference):
    with open(path, "w", encoding="ascii") as out:
        for name, bases in reference.items():
            out.write(f">{name}\n")
            out.writelines(bases[at:at + 60] + "\n" for at in range(0, len(bases), 60))


def write_truth(path, seed, reference):
    """Planted somatic sites; position is 1-based, expected_fraction is of the tumour's reads."""
    with open(path, "w", encoding="ascii") as out:
        out.write("sequence\tposition\tref\talt\texpected_fraction\n")
        for name, bases in reference.items():
            for site in plant_sites(seed, name, bases).somatic:
                out.write(f"{name}\t{site.position + 1}\t{site.ref}\t{site.alt}"
                          f"\t{PURITY * site.share / 2:.3f}\n")


def named_numbers(text, kind):
    return {name: kind(value) for name, value in (item.split("=") for item in text.split(","))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="folder to write to")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--sequences", required=True, help="name=bases,... of the reference")
    parser.add_argument("--depth", required=True, help="sample=mean depth,...")
    parser.add_argument("--genome", default="", help="FASTA file to cut the sequences from")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()

    os.makedirs(options.out, exist_ok=True)
    lengths = named_numbers(options.sequences, int)
    reference = make_reference(options.seed, lengths, options.genome)
    write_reference(os.path.join(options.out, "reference.fa"), reference)
    write_truth(os.path.join(options.out, "truth.tsv"), options.seed, reference)
    jobs = [(options.out, options.seed, sample, depth, reference)
            for sample, depth in named_numbers(options.depth, float).items()]
    with multiprocessing.Pool(options.processes) as pool:
        pool.map(write_sample, jobs, chunksize=1)


if __name__ == "__main__":
    main()
