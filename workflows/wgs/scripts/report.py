"""Compare the calls with the planted truth and sum up duplicates: the run's last word.

Recall is of all planted sites, also those in repeats or at low fraction, so it is below 1 by
design; a recall near 0 means that the pipeline between reads and calls is broken.
"""

import argparse
import csv
import gzip


def read_truth(path):
    """{(sequence, position, ref, alt): expected fraction}; position is 1-based."""
    with open(path, newline="", encoding="ascii") as lines:
        return {(row["sequence"], row["position"], row["ref"], row["alt"]):
                float(row["expected_fraction"]) for row in csv.DictReader(lines, delimiter="\t")}


def read_calls(path):
    """{(sequence, position, ref, alt): filter} of a bgzipped VCF."""
    with gzip.open(path, "rt", encoding="ascii") as lines:
        fields = [line.split("\t") for line in lines if not line.startswith("#")]
    return {(field[0], field[1], field[3], field[4]): field[6] for field in fields}


def share(part, whole):
    return f"{part}/{whole}" + (f" = {100 * part / whole:.1f} %" if whole else "")


def summary(truth, calls):
    """Lines of the report about calls; `truth` and `calls` as read above."""
    passed = {call for call, state in calls.items() if state == "PASS"}
    fractions = sorted(set(truth.values()), reverse=True)
    yield f"candidates_after_fisher\t{len(calls)}"
    yield f"calls_after_panel\t{len(passed)}"
    yield f"recall\t{share(len(passed & truth.keys()), len(truth))}"
    for fraction in fractions:
        planted = {site for site, value in truth.items() if value == fraction}
        yield f"recall_at_fraction_{fraction:.3f}\t{share(len(passed & planted), len(planted))}"
    yield f"precision\t{share(len(passed & truth.keys()), len(passed))}"
    yield f"precision_without_panel\t{share(len(calls.keys() & truth.keys()), len(calls))}"


def duplicate_share(metrics_paths):
    """Duplicate pairs / examined pairs of Picard-style metrics files, summed."""
    examined = duplicates = 0
    for path in metrics_paths:
        with open(path, encoding="ascii") as lines:
            rows = csv.DictReader((line for line in lines if line.strip() and line[0] != "#"),
                                  delimiter="\t")
            row = next(rows)   # the histogram that follows has other columns
            examined += int(row["READ_PAIRS_EXAMINED"])
            duplicates += int(row["READ_PAIR_DUPLICATES"])
    return share(duplicates, examined)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--truth", required=True)
    parser.add_argument("--calls", required=True)
    parser.add_argument("--metrics", nargs="+", required=True,
                        help="sample=path, several for one sample are summed")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    samples = {}
    for item in options.metrics:
        name, path = item.split("=", 1)
        samples.setdefault(name, []).append(path)
    with open(options.out, "w", encoding="ascii") as out:
        for line in summary(read_truth(options.truth), read_calls(options.calls)):
            out.write(line + "\n")
        for name, paths in samples.items():
            out.write(f"duplicate_pairs_{name}\t{duplicate_share(paths)}\n")


if __name__ == "__main__":
    main()
