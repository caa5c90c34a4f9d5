"""The two tests of the caller, in plain Python. The unit tests compare them with scipy and R.

Plain, because importing scipy.stats costs each of the many small region jobs more than the test.
"""

from functools import lru_cache
from math import exp, inf, lgamma, log, log10

LOG_10 = log(10)


def log_choose(n, k):
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


@lru_cache(maxsize=65536)
def fisher_two_sided(a, b, c, d):
    """P value of the table ((a, b), (c, d)): the sum of all tables with the same margins that
    are at most as likely (Fisher 1922; the rule of R's fisher.test, with its tolerance)."""
    row1, row2, column1 = a + b, c + d, a + c
    all_tables = log_choose(row1 + row2, column1)

    def log_probability(x):
        return log_choose(row1, x) + log_choose(row2, column1 - x) - all_tables

    limit = log_probability(a) + 1e-7
    total = sum(exp(value) for x in range(max(0, column1 - row2), min(row1, column1) + 1)
                if (value := log_probability(x)) <= limit)
    return min(total, 1.0)


def log_beta(a, b):
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def beta_binomial_log_pmf(k, n, alpha, beta):
    return log_choose(n, k) + log_beta(k + alpha, n - k + beta) - log_beta(alpha, beta)


def beta_binomial_upper_tail(k, n, alpha, beta):
    """P(X >= k) for n trials: summed from the top, where the terms are small, for precision."""
    if k <= 0:
        return 1.0
    return min(1.0, sum(exp(beta_binomial_log_pmf(x, n, alpha, beta)) for x in range(n, k - 1, -1)))


# What is believed before the panel is seen: pseudo-reads at a sequencer's error rate. A panel of a
# few shallow controls without the change would otherwise fit "any rate is possible".
PRIOR_READS, PRIOR_ERROR_RATE = 100, 0.002
# Precision is alpha + beta. Below the lower bound two controls that differ by chance alone already
# look like an error whose rate has no limit, and every real mutation is explained away.
MIN_PRECISION, MAX_PRECISION = 20.0, 2000.0
MIN_MEAN, MAX_MEAN = 1e-4, 0.9


@lru_cache(maxsize=65536)
def fit_beta_binomial(controls):
    """(alpha, beta) of highest likelihood from ((changed, depth), ...) of the panel and the prior.

    The model is that of EBFilter (Shiraishi et al. 2013, Nucleic Acids Research 41, e89): at one
    site the error rate varies between samples as Beta(alpha, beta). Prior and search are our own.
    The search is a shrinking grid over log(mean) and log(precision): the surface is smooth with
    one top, and a grid needs no library.
    """
    seen = [(changed, depth) for changed, depth in controls if depth]
    seen.append((PRIOR_READS * PRIOR_ERROR_RATE, PRIOR_READS))

    def loss(log_mean, log_precision):
        mean, precision = exp(log_mean), exp(log_precision)
        alpha, beta = mean * precision, (1 - mean) * precision
        return len(seen) * log_beta(alpha, beta) - sum(
            log_beta(alpha + changed, beta + depth - changed) for changed, depth in seen)

    low = edge_low = (log(MIN_MEAN), log(MIN_PRECISION))
    high = edge_high = (log(MAX_MEAN), log(MAX_PRECISION))
    best, steps = None, 8
    for _ in range(6):
        sizes = [(high[axis] - low[axis]) / steps for axis in (0, 1)]
        best = min(((low[0] + i * sizes[0], low[1] + j * sizes[1])
                    for i in range(steps + 1) for j in range(steps + 1)),
                   key=lambda point: loss(*point))
        low = tuple(max(edge_low[axis], best[axis] - sizes[axis]) for axis in (0, 1))
        high = tuple(min(edge_high[axis], best[axis] + sizes[axis]) for axis in (0, 1))
        steps = 4
    mean, precision = exp(best[0]), exp(best[1])
    return mean * precision, (1 - mean) * precision


def combine_two(p, q):
    """Fisher's method for two P values: -2 ln(pq) is chi-square with 4 degrees of freedom, whose
    upper tail has the closed form used here."""
    product = p * q
    return product * (1 - log(product)) if product > 0 else 0.0


def eb_score(tumour_strands, controls_by_strand):
    """-log10 of the chance that panel-like errors give the tumour's changed reads.

    tumour_strands: ((changed, depth) forward, reverse); controls_by_strand: for each strand the
    same pairs of all controls. Strands are fitted alone: many artefacts live on one only.
    """
    tails = [beta_binomial_upper_tail(changed, depth, *fit_beta_binomial(tuple(controls)))
             for (changed, depth), controls in zip(tumour_strands, controls_by_strand)]
    p = combine_two(*tails)
    return -log10(p) if p > 0 else inf


def fisher_score(*table):
    return -log10(max(fisher_two_sided(*table), 1e-300))
