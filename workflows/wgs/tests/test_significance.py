"""If these failed, calls would still be made, only wrong ones: nothing else checks the numbers.

The oracle is scipy, and R's printed values where a table is famous.
"""

import unittest
from math import inf, log
from random import Random

import scripts_path  # noqa: F401
from scipy import stats

import significance as s


class FisherTest(unittest.TestCase):
    def test_known_tables(self):
        # Fisher's tea tasting, the convictions of R's fisher.test page, a textbook table.
        for table, p in (((3, 1, 1, 3), 0.4857143), ((2, 10, 15, 3), 0.0005367241),
                         ((8, 2, 1, 5), 0.03496503)):
            with self.subTest(table=table):
                self.assertAlmostEqual(s.fisher_two_sided(*table), p, delta=1e-7)

    def test_as_scipy_on_random_tables(self):
        rng = Random(1)
        for number in range(300):
            table = [rng.randrange(0, rng.choice((5, 40, 300))) for _ in range(4)]
            with self.subTest(seed=1, number=number, table=table):
                expected = stats.fisher_exact([table[:2], table[2:]])[1]
                self.assertAlmostEqual(s.fisher_two_sided(*table), expected,
                                       delta=1e-9 + 1e-6 * expected)

    def test_empty_and_equal_tables_say_nothing(self):
        self.assertAlmostEqual(s.fisher_two_sided(0, 0, 0, 0), 1.0)
        self.assertAlmostEqual(s.fisher_two_sided(20, 5, 20, 5), 1.0)

    def test_score_is_minus_log10(self):
        self.assertAlmostEqual(s.fisher_score(3, 1, 1, 3), 0.3136, places=4)
        self.assertLessEqual(s.fisher_score(0, 9000, 9000, 0), 300)


class BetaBinomialTest(unittest.TestCase):
    def test_tail_as_scipy(self):
        for alpha, beta in ((0.1, 20.0), (1.0, 1.0), (3.5, 40.0), (20.0, 2000.0)):
            for n in (1, 7, 60):
                for k in (0, 1, n // 2, n):
                    with self.subTest(alpha=alpha, beta=beta, n=n, k=k):
                        expected = stats.betabinom.sf(k - 1, n, alpha, beta)
                        self.assertAlmostEqual(s.beta_binomial_upper_tail(k, n, alpha, beta),
                                               expected, delta=1e-9 + 1e-6 * expected)

    def test_uniform_rate_gives_uniform_counts(self):
        self.assertAlmostEqual(s.beta_binomial_upper_tail(4, 9, 1.0, 1.0), 0.6)

    def test_fit_finds_the_rate_of_a_deep_panel(self):
        rng = Random(2)
        panel = tuple((sum(rng.random() < 0.1 for _ in range(2000)), 2000) for _ in range(20))
        alpha, beta = s.fit_beta_binomial(panel)
        self.assertAlmostEqual(alpha / (alpha + beta), 0.1, delta=0.01)

    def test_fit_stays_in_its_bounds(self):
        for panel in ((), ((0, 0),), ((0, 5000),) * 9, ((50, 50),) * 9, ((0, 30), (30, 30))):
            with self.subTest(panel=panel):
                alpha, beta = s.fit_beta_binomial(panel)
                self.assertGreater(min(alpha, beta), 0)
                self.assertGreaterEqual(alpha + beta, s.MIN_PRECISION * 0.999)
                self.assertLessEqual(alpha + beta, s.MAX_PRECISION * 1.001)

    def test_combined_as_scipy(self):
        for p, q in ((0.5, 0.5), (1.0, 0.01), (1e-8, 1e-3)):
            with self.subTest(p=p, q=q):
                expected = stats.combine_pvalues([p, q], method="fisher")[1]
                self.assertAlmostEqual(log(s.combine_two(p, q)), log(expected), places=6)
        self.assertEqual(s.combine_two(0.0, 0.5), 0.0)


class PanelScoreTest(unittest.TestCase):
    CLEAN = [((0, 6), (0, 5), (0, 4), (0, 7))] * 2

    def test_clean_panel_lets_a_mutation_pass(self):
        self.assertGreater(s.eb_score(((4, 20), (5, 18)), self.CLEAN), 5)

    def test_panel_with_the_same_one_strand_error_explains_it(self):
        dirty = [((2, 6), (1, 5), (0, 4), (2, 7)), self.CLEAN[1]]
        self.assertLess(s.eb_score(((6, 20), (0, 18)), dirty), 2)

    def test_more_changed_reads_score_higher(self):
        scores = [s.eb_score(((k, 20), (k, 20)), self.CLEAN) for k in range(0, 21, 4)]
        self.assertEqual(scores, sorted(scores))
        self.assertAlmostEqual(scores[0], 0.0)
        self.assertLess(scores[-1], inf)


if __name__ == "__main__":
    unittest.main()
