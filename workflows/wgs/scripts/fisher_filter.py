"""First filter of a region: candidates from tumour/normal pileup text by Fisher's exact test.

Reads `samtools mpileup` text of exactly two BAMs (tumour, normal) and writes one line for each
site whose most frequent change is more frequent in the tumour.
"""

import argparse

from pileup import count_bases, may_have_change
from significance import fisher_score

COLUMNS = ("sequence", "position", "ref", "alt", "tumour_depth", "tumour_alt", "tumour_forward",
           "tumour_forward_depth", "tumour_reverse", "tumour_reverse_depth", "normal_depth",
           "normal_alt", "fisher_score")


def candidate(ref, tumour, normal, limits):
    """(alt, score) of a site, or None. `limits` are the `calling` settings of config.yaml."""
    if tumour.depth() < limits.min_depth or normal.depth() < limits.min_depth:
        return None
    alt = max((base for base in "ACGT" if base != ref), key=tumour.of)
    changed, depth = tumour.of(alt), tumour.depth()
    normal_changed, normal_depth = normal.of(alt), normal.depth()
    if changed < limits.min_alt_reads or changed < limits.min_tumour_fraction * depth \
            or normal_changed > limits.max_normal_fraction * normal_depth:
        return None
    score = fisher_score(depth - changed, changed, normal_depth - normal_changed, normal_changed)
    return (alt, score) if 10 ** -score <= limits.max_fisher_p else None


def filter_lines(lines, limits):
    for line in lines:
        sequence, position, ref, _, tumour_bases, _, _, normal_bases, _ = \
            line.rstrip("\n").split("\t")
        ref = ref.upper()
        if ref not in "ACGT" or not may_have_change(tumour_bases, limits.min_alt_reads):
            continue
        tumour, normal = count_bases(ref, tumour_bases), count_bases(ref, normal_bases)
        found = candidate(ref, tumour, normal, limits)
        if found:
            alt, score = found
            (forward, forward_depth), (reverse, reverse_depth) = tumour.strands(alt)
            yield (sequence, position, ref, alt, tumour.depth(), tumour.of(alt), forward,
                   forward_depth, reverse, reverse_depth, normal.depth(), normal.of(alt),
                   f"{score:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pileup")
    parser.add_argument("out")
    parser.add_argument("--min-depth", type=int, required=True)
    parser.add_argument("--min-alt-reads", type=int, required=True)
    parser.add_argument("--min-tumour-fraction", type=float, required=True)
    parser.add_argument("--max-normal-fraction", type=float, required=True)
    parser.add_argument("--max-fisher-p", type=float, required=True)
    limits = parser.parse_args()
    with open(limits.pileup, encoding="ascii") as lines, \
            open(limits.out, "w", encoding="ascii") as out:
        out.write("\t".join(COLUMNS) + "\n")
        for row in filter_lines(lines, limits):
            out.write("\t".join(map(str, row)) + "\n")


if __name__ == "__main__":
    main()
