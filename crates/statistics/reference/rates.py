#!/usr/bin/env python3
"""Writes rates.json: values of SciPy and statsmodels for the tests of the crate: intervals and bounds of rates, kappa, the
law of changed sentinels, the exact test over many cells, and differences between nights.

Needs scipy and statsmodels (written with 1.17.1 and 0.15.0): python3 rates.py > rates.json
"""

import itertools
import json
import math

import numpy as np
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa


def wilson():
    rows = [(0, 1), (1, 1), (3, 3), (18, 20), (0, 20), (81, 263), (15, 148), (570, 600), (9999, 10000)]
    interval = lambda passed, trials: stats.binomtest(passed, trials).proportion_ci(0.95, "wilson")
    return [[passed, trials, *interval(passed, trials)] for passed, trials in rows]


def bounds():
    rows = [(0, 5, 0.95), (5, 5, 0.95), (59, 59, 0.95), (9, 10, 0.95), (19, 20, 0.9), (570, 600, 0.95), (1, 10, 0.95)]
    one_sided = lambda passed, trials, confidence, side: stats.binomtest(passed, trials, alternative=side).proportion_ci(confidence, "exact")
    low = lambda row: one_sided(*row, "greater").low
    high = lambda row: one_sided(*row, "less").high
    return [[*row, low(row), high(row)] for row in rows]


def clustered():
    """The design effect by scenario, and Wilson's interval for as many independent trials, with Student's t."""
    sets = [
        [(20, 20)] * 5 + [(0, 20)] * 5,
        [(18, 20), (20, 20), (7, 20), (15, 20), (19, 20), (20, 20), (12, 20)],
        [(3, 4), (4, 4), (0, 4), (4, 4), (4, 5), (2, 3), (4, 4), (1, 4)],
    ]
    rows = []
    for scenarios in sets:
        passed, trials = np.array(scenarios, dtype=float).T
        k, n = len(scenarios), trials.sum()
        rate = passed.sum() / n
        variance = k / (k - 1) * ((passed - rate * trials) ** 2).sum() / n**2
        effect = max(1.0, variance / (rate * (1 - rate) / n))
        t, size = stats.t(k - 1).ppf(0.975), n / effect
        centre = (rate + t * t / (2 * size)) / (1 + t * t / size)
        half = t / (1 + t * t / size) * math.sqrt(rate * (1 - rate) / size + t * t / (4 * size * size))
        rows.append([scenarios, effect, centre - half, centre + half])
    return rows


def kappa():
    """Both yes, first yes and second no, first no and second yes, both no; the error is that of Cohen's paper."""
    rows = []
    for a, b, c, d in [(20, 5, 10, 15), (45, 15, 25, 15), (25, 35, 5, 35), (80, 6, 9, 89), (10, 0, 0, 10)]:
        n = a + b + c + d
        agreed = (a + d) / n
        chance = ((a + b) * (a + c) + (c + d) * (b + d)) / n**2
        half = stats.norm.ppf(0.975) * math.sqrt(agreed * (1 - agreed) / (n * (1 - chance) ** 2))
        found = float(cohens_kappa([[a, b], [c, d]]).kappa)
        rows.append([[a, b, c, d], found, max(-1.0, found - half), min(1.0, found + half)])
    return rows


def sentinels():
    """Deviations and verdicts of the nights before, changed and compared sentinels of tonight."""
    rows = [(0, 50, 1, 10), (0, 50, 3, 10), (8, 40, 3, 10), (5, 200, 6, 30), (40, 200, 10, 20)]
    law = lambda deviations, draws, of: stats.betabinom(of, deviations + 0.5, draws - deviations + 0.5)
    return [[d, n, changed, of, float(law(d, n, of).sf(changed - 1))] for d, n, changed, of in rows]


def stratified():
    """The exact law of BASE's passes over all cells, by enumerating the cells' hypergeometric laws."""
    sets = [
        [(0, 6, 0, 5), (3, 6, 0, 6), (6, 6, 2, 6), (5, 6, 6, 6), (2, 2, 5, 5)],
        [(4, 4, 3, 4), (4, 4, 2, 4), (3, 4, 1, 4), (4, 4, 4, 4)],
        [(18, 20, 9, 20), (20, 20, 20, 20), (10, 20, 12, 20)],
    ]
    rows = []
    for cells in sets:
        law = {0: 1.0}
        for base, n, new, m in cells:
            passed = base + new
            of_cell = {k: stats.hypergeom(n + m, passed, n).pmf(k) for k in range(max(0, passed - m), min(n, passed) + 1)}
            mixed = {}
            for (a, p), (b, q) in itertools.product(law.items(), of_cell.items()):
                mixed[a + b] = mixed.get(a + b, 0.0) + p * q
            law = mixed
        found = law[sum(cell[0] for cell in cells)]
        rows.append([cells, float(sum(p for p in law.values() if p <= found * (1 + 1e-7)))])
    return rows


def nights():
    """Differences of consecutive nights, the difference of two runs, and its standard error."""
    rows = []
    for differences, difference, error in [
        ([0.02, -0.03, 0.01, 0.04, -0.05, 0.02], -0.1, 0.01),
        ([0.02, -0.03, 0.01, 0.04, -0.05, 0.02], -0.1, 0.06),
        ([0.001, 0.0, -0.002, 0.001, 0.0, 0.003, -0.001, 0.002], 0.004, 0.0005),
    ]:
        m = len(differences)
        usual = math.sqrt(sum(one * one for one in differences) / m)
        chance = 2 * stats.t(2 * m / 3).cdf(-abs(difference) / max(usual, error))
        rows.append([differences, difference, error, usual, float(chance)])
    return rows


print(
    json.dumps(
        {
            "wilson": wilson(),
            "bounds": bounds(),
            "clustered": clustered(),
            "kappa": kappa(),
            "sentinels": sentinels(),
            "stratified": stratified(),
            "nights": nights(),
        },
        indent=1,
        default=float,
    )
)
