"""If these failed, indel letters or read marks would be counted as mutations."""

import unittest
from types import SimpleNamespace

import scripts_path  # noqa: F401

import fisher_filter
import pileup

LIMITS = SimpleNamespace(min_depth=8, min_alt_reads=4, min_tumour_fraction=0.05,
                         max_normal_fraction=0.05, max_fisher_p=0.1)


class CountTest(unittest.TestCase):
    def test_strands_and_reference(self):
        counts = pileup.count_bases("A", "..,,,TTt")
        self.assertEqual(counts.forward, {"A": 2, "T": 2})
        self.assertEqual(counts.reverse, {"A": 3, "T": 1})
        self.assertEqual((counts.depth(), counts.of("T"), counts.of("G")), (8, 3, 0))
        self.assertEqual(counts.strands("T"), ((2, 4), (1, 4)))

    def test_marks_and_indels_are_not_bases(self):
        # "^T" opens a read of mapping quality 51; "+3TTT" and "-2gt" belong to the base before.
        for bases, depth in (("^T.", 1), ("^^.,$", 2), (".+3TTT,", 2), (",-2gt.", 2), ("*#<>.", 1),
                             (".+12ACGTACGTACGTt", 2)):
            with self.subTest(bases=bases):
                counts = pileup.count_bases("C", bases)
                self.assertEqual(counts.depth(), depth)
        self.assertEqual(pileup.count_bases("C", ".+12ACGTACGTACGTt").of("T"), 1)

    def test_quick_test_never_hides_a_change(self):
        self.assertTrue(pileup.may_have_change("..TTtt,,", 4))
        self.assertTrue(pileup.may_have_change("^TT^Tttt", 4))
        self.assertFalse(pileup.may_have_change("..,,..,,$^].", 4))


class CandidateTest(unittest.TestCase):
    def lines(self, tumour, normal):
        return [f"chr01\t17\ta\t{len(tumour)}\t{tumour}\tF\t{len(normal)}\t{normal}\tF\n"]

    def found(self, tumour, normal):
        return list(fisher_filter.filter_lines(self.lines(tumour, normal), LIMITS))

    def test_somatic_site_is_found_with_its_counts(self):
        (row,) = self.found("." * 10 + "," * 10 + "GGGGggg", "." * 12 + "," * 12)
        self.assertEqual(row[:12], ("chr01", "17", "A", "G", 27, 7, 4, 14, 3, 13, 24, 0))
        self.assertGreater(float(row[12]), 1)

    def test_others_are_not(self):
        for why, tumour, normal in (
                ("germline", "." * 10 + "G" * 10, "." * 10 + "G" * 10),
                ("three reads", "." * 20 + "GGG", "." * 20),
                ("shallow normal", "." * 20 + "GGGG", "." * 7),
                ("too few for Fisher", "." * 60 + "GGGG", "." * 8),
                ("reference N", "", "")):
            with self.subTest(why=why):
                self.assertEqual(self.found(tumour, normal), [])


if __name__ == "__main__":
    unittest.main()
