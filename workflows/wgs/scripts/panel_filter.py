"""Second filter of a region: candidates against the control panel (an EBFilter-like test).

Each candidate is looked up in every control BAM by its index: small random reads over files that
all regions share, the access pattern of Genomon's panel step. Writes the region's VCF: what the
panel explains is kept with the filter PANEL, the rest is PASS.
"""

import argparse
import csv

import pysam

from significance import eb_score

VCF_HEADER = """##fileformat=VCFv4.2
##FILTER=<ID=PANEL,Description="The control panel shows this change often enough to explain it">
##INFO=<ID=FS,Number=1,Type=Float,Description="-log10 P of Fisher's exact test, tumour vs normal">
##INFO=<ID=EB,Number=1,Type=Float,Description="-log10 P of the beta-binomial panel test">
##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Bases counted">
##FORMAT=<ID=AD,Number=1,Type=Integer,Description="Bases with the change">
"""
COLUMN_LINE = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ttumour\tnormal\n"
MAX_DEPTH = 8000


def panel_counts(bam, sequence, position, alt, min_mapping_quality, min_base_quality):
    """((changed, depth) forward, reverse) of one control; `position` is 0-based.

    Overlapping mates are counted once (stepper "samtools" does it), as in the tumour's pileup."""
    counts = [[0, 0], [0, 0]]
    for column in bam.pileup(sequence, position, position + 1, truncate=True,
                             stepper="samtools", max_depth=MAX_DEPTH, compute_baq=False,
                             min_mapping_quality=min_mapping_quality,
                             min_base_quality=min_base_quality):
        for read in column.pileups:
            if read.is_del or read.is_refskip:
                continue
            strand = counts[read.alignment.is_reverse]
            strand[1] += 1
            strand[0] += read.alignment.query_sequence[read.query_position] == alt
    return tuple(map(tuple, counts))


def vcf_line(row, score, min_score):
    return "\t".join((
        row["sequence"], row["position"], ".", row["ref"], row["alt"], ".",
        "PASS" if score >= min_score else "PANEL",
        f"FS={row['fisher_score']};EB={min(score, 300.0):.3f}", "DP:AD",
        f"{row['tumour_depth']}:{row['tumour_alt']}",
        f"{row['normal_depth']}:{row['normal_alt']}")) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("candidates")
    parser.add_argument("out")
    parser.add_argument("--panel", nargs="+", required=True, help="indexed BAMs")
    parser.add_argument("--min-mapping-quality", type=int, required=True)
    parser.add_argument("--min-base-quality", type=int, required=True)
    parser.add_argument("--min-eb-score", type=float, required=True)
    options = parser.parse_args()

    panel = [pysam.AlignmentFile(path, "rb") for path in options.panel]
    with open(options.candidates, newline="", encoding="ascii") as lines, \
            open(options.out, "w", encoding="ascii") as out:
        out.write(VCF_HEADER)
        for name, length in zip(panel[0].references, panel[0].lengths):
            out.write(f"##contig=<ID={name},length={length}>\n")
        out.write(COLUMN_LINE)
        for row in csv.DictReader(lines, delimiter="\t"):
            tumour = [(int(row[f"tumour_{strand}"]), int(row[f"tumour_{strand}_depth"]))
                      for strand in ("forward", "reverse")]
            controls = [panel_counts(bam, row["sequence"], int(row["position"]) - 1, row["alt"],
                                     options.min_mapping_quality, options.min_base_quality)
                        for bam in panel]
            out.write(vcf_line(row, eb_score(tumour, list(zip(*controls))), options.min_eb_score))


if __name__ == "__main__":
    main()
