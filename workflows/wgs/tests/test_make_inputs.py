"""If these failed, two runs of the demo would not have the same inputs, and the proof by checksum
would compare nothing; or the truth file would name mutations that are in no read."""

import csv
import gzip
import os
import tempfile
import unittest

import scripts_path  # noqa: F401

import genome
import make_inputs

REFERENCE = genome.make_reference(5, {"chrA": 20000, "chrB": 12000})


def bytes_of(folder, name):
    with open(os.path.join(folder, name), "rb") as data:
        return data.read()


class DeterminismTest(unittest.TestCase):
    def test_same_seed_same_bytes_other_seed_other_bytes(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            for folder in (one, two):
                make_inputs.write_sample((folder, 5, "tumour", 3, REFERENCE))
            make_inputs.write_sample((two, 6, "normal", 3, REFERENCE))
            make_inputs.write_sample((one, 5, "normal", 3, REFERENCE))
            for mate in (1, 2):
                self.assertEqual(bytes_of(one, f"tumour_{mate}.fq.gz"),
                                 bytes_of(two, f"tumour_{mate}.fq.gz"))
                self.assertNotEqual(bytes_of(one, f"normal_{mate}.fq.gz"),
                                    bytes_of(two, f"normal_{mate}.fq.gz"))


class SampleTest(unittest.TestCase):
    def test_truth_is_in_tumour_haplotypes_only(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "truth.tsv")
            make_inputs.write_truth(path, 5, REFERENCE)
            with open(path, newline="", encoding="ascii") as lines:
                truth = list(csv.DictReader(lines, delimiter="\t"))
        self.assertEqual(len(truth), 20000 // 8000 + 12000 // 8000)
        sites = {name: genome.plant_sites(5, name, bases) for name, bases in REFERENCE.items()}
        choices = {sample: make_inputs.sample_haplotypes(5, sample, REFERENCE, sites)
                   for sample in ("tumour", "normal")}
        for row in truth:
            name, at = row["sequence"], int(row["position"]) - 1
            self.assertEqual(REFERENCE[name][at], row["ref"])
            fraction = {sample: sum(weight for weight, bases in choices[sample][name]
                                    if bases[at] == row["alt"]) for sample in choices}
            self.assertAlmostEqual(fraction["tumour"], float(row["expected_fraction"]), places=3)
            self.assertEqual(fraction["normal"], 0)

    def test_reads_are_whole_and_names_are_unique(self):
        with tempfile.TemporaryDirectory() as folder:
            make_inputs.write_sample((folder, 5, "control1", 3, REFERENCE))
            names = []
            for mate in (1, 2):
                with gzip.open(os.path.join(folder, f"control1_{mate}.fq.gz"), "rt") as lines:
                    data = lines.read().splitlines()
                self.assertEqual({len(line) for line in data[1::4] + data[3::4]}, {100})
                names.append([line.split()[0] for line in data[::4]])
        self.assertEqual(len(names[0]), 480)   # 32,000 bases x 3 / 200
        self.assertEqual(len(set(names[0])), 480)
        self.assertEqual(names[0], names[1])

    def test_real_genome_is_cut_in_order(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "genome.fa.gz")
            with gzip.open(path, "wt") as out:
                out.write(">g\nacgtNNACGT\nTTTT\n")
            self.assertEqual(genome.make_reference(1, {"a": 5, "b": 7}, path),
                             {"a": "ACGTA", "b": "CGTTTTT"})
            with self.assertRaises(SystemExit):
                genome.make_reference(1, {"a": 13}, path)


if __name__ == "__main__":
    unittest.main()
