#!/usr/bin/env python3
"""Writes ledger.json: values of SciPy for the tests of src/ledger.rs.

Needs scipy (written with 1.17.1): python3 ledger.py > ledger.json
"""

import json
import random

from scipy import stats

STABLE, BROKEN, NEW = 0.98, 0.2, 3


def belief(nights, correlation, half_life, following=()):
    alpha = beta = 0.5
    for age, (passed, trials) in enumerate(reversed([night for night in nights if night[1] > 0])):
        weight = 0.5 ** (age / half_life) / (1 + (trials - 1) * correlation)
        alpha += weight * passed
        beta += weight * (trials - passed)
    law = stats.beta(alpha, beta)
    stable, broken = law.sf(STABLE), law.cdf(BROKEN)
    chances = {"stable": stable, "flaky": 1 - stable - broken, "broken": broken}
    played = sum(night[1] > 0 for night in nights)
    both = 1 / (alpha + beta + 1)
    both += (1 - both) * correlation
    size = 1 / both - 1
    mean = alpha / (alpha + beta)
    return {
        "nights": nights,
        "correlation": correlation,
        "half_life": half_life,
        "alpha": alpha,
        "beta": beta,
        "rate": law.mean(),
        "low": law.ppf(0.025),
        "high": law.ppf(0.975),
        **chances,
        "state": "new" if played < NEW else max(chances, key=chances.get),
        "next": [[passed, trials, stats.betabinom(trials, mean * size, (1 - mean) * size).cdf(passed)] for passed, trials in following],
    }


def correlation(cases):
    """One-way analysis of variance of nights within cases, with single trials as the observations."""
    between = within = sizes = 0.0
    nights_free = trials_free = 0
    for nights in cases:
        nights = [night for night in nights if night[1] > 0]
        if len(nights) < 2:
            continue
        groups = [[1.0] * passed + [0.0] * (trials - passed) for passed, trials in nights]
        every = [one for group in groups for one in group]
        mean = sum(every) / len(every)
        for group in groups:
            of = sum(group) / len(group)
            between += len(group) * (of - mean) ** 2
            within += sum((one - of) ** 2 for one in group)
        nights_free += len(groups) - 1
        trials_free += len(every) - len(groups)
        sizes += len(every) - sum(len(group) ** 2 for group in groups) / len(every)
    if nights_free < 5 or trials_free == 0:
        return 0.0
    between, within, size = between / nights_free, within / trials_free, sizes / nights_free
    spread = between + (size - 1) * within
    return 0.0 if spread <= 0 else min(max((between - within) / spread, 0), 0.95)


def correlations():
    draw = random.Random(3)
    rows = [[[[18, 20], [9, 20]]], [[[20, 20]] * 8], [[[5, 5], [0, 5]] * 4]]
    for planted in (0.05, 0.25):
        size = 1 / planted - 1
        cases = []
        for _ in range(8):
            nights = []
            for _ in range(draw.randint(1, 9)):
                trials = draw.randint(0, 20)
                rate = draw.betavariate(0.7 * size, 0.3 * size)
                nights.append([sum(draw.random() < rate for _ in range(trials)), trials])
            cases.append(nights)
        rows.append(cases)
    return [{"cases": cases, "correlation": correlation(cases)} for cases in rows]


beliefs = [
    belief([[5, 5]], 0, 7, [[0, 5]]),
    belief([[20, 20]] * 5, 0, 7, [[20, 20], [18, 20], [15, 20]]),
    belief([[3, 3]] * 12, 0, 7, [[2, 3], [0, 3]]),
    belief([[16, 20]] * 9, 0, 7, [[16, 20], [9, 20], [5, 20]]),
    belief([[16, 20], [4, 20], [20, 20], [0, 0], [11, 20]], 0.3, 3, [[4, 20], [0, 20]]),
    belief([[0, 10], [1, 10], [0, 10], [0, 10]], 0.1, 7, [[0, 10], [3, 10]]),
    belief([[20, 20]] * 6 + [[0, 20]] * 3, 0.05, 14, [[0, 20], [20, 20]]),
]
print(json.dumps({"beliefs": beliefs, "correlations": correlations()}))
