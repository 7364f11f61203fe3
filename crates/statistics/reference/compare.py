#!/usr/bin/env python3
"""Writes compare.json: values of SciPy and of formulas as their papers have them, for the tests of src/compare/.

Needs scipy (written with 1.17.1): python3 compare.py > compare.json
"""

import itertools
import json
import math
import random

from scipy import stats

CHANCE = 0.05
LEAST_CLUSTERS = 6


def fisher():
    tables = [(18, 20, 9, 20), (9, 20, 18, 20), (20, 20, 0, 20), (5, 5, 4, 5), (3, 3, 0, 3), (1, 1, 0, 1), (40, 50, 33, 60), (0, 10, 0, 12), (500, 600, 470, 600)]
    return [[a, n, b, m, stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue] for a, n, b, m in tables]


def sign_test():
    changed = [(9, 0), (12, 0), (5, 1), (1, 5), (3, 3), (10, 4), (40, 22), (1, 0), (300, 240)]
    return [[fell, rose, stats.binomtest(fell, fell + rose, 0.5).pvalue] for fell, rose in changed]


def discoveries():
    lists = [[0.01, 0.04, 0.03, 0.005], [1.0, 1.0], [0.0002, 0.5, 0.5, 0.9, 0.01, 0.02, 0.049], [0.05]]
    return [[chances, list(stats.false_discovery_control(chances))] for chances in lists]


def exact_rank_sum(base, new):
    """All splits of the mid-ranks."""
    ranks = stats.rankdata(base + new)
    mean = len(new) * ranks.mean()
    found = abs(ranks[len(base):].sum() - mean)
    sums = [abs(sum(split) - mean) for split in itertools.combinations(ranks, len(new))]
    return sum(one >= found - 1e-9 for one in sums) / len(sums)


def rank_sum():
    draw = random.Random(7)
    rows = []
    for base, new in [([1, 2, 3, 4], [5, 6, 7, 8]), ([1, 2, 2, 3], [2, 3, 4, 4]), ([1, 5], [3]), ([1, 1, 1, 2], [1, 1, 1, 1])]:
        rows.append([base, new, exact_rank_sum(base, new)])
    base, new = [draw.randint(1, 9) for _ in range(8)], [draw.randint(3, 12) for _ in range(9)]
    rows.append([base, new, exact_rank_sum(base, new)])
    few = list(range(1, 13)), [one + 0.5 for one in range(4, 18)]
    rows.append([few[0], few[1], stats.mannwhitneyu(few[0], few[1], method="exact").pvalue])
    for size in (25, 60):
        base, new = [draw.randint(1, 30) for _ in range(size)], [draw.randint(5, 34) for _ in range(size + 5)]
        rows.append([base, new, stats.mannwhitneyu(base, new, method="asymptotic", use_continuity=True).pvalue])
    return rows


def rate(cells):
    """cells: scenario, base pass, base trials, new pass, new trials, and of pairs those that fell and rose."""
    differences = [c[3] / c[4] - c[1] / c[2] for c in cells]
    mean = sum(differences) / len(cells)
    scenarios = {}
    for cell, difference in zip(cells, differences):
        scenarios.setdefault(cell[0], []).append(difference)
    clusters = len(scenarios)
    if clusters >= LEAST_CLUSTERS:
        squares = sum((sum(one) - len(one) * mean) ** 2 for one in scenarios.values())
        pairs = min(sum(c[2] for c in cells), sum(c[4] for c in cells))
        variance = clusters / (clusters - 1) * squares / len(cells) ** 2 + 2 / (pairs + 2) ** 2
        law = stats.t(clusters - 1)
    else:
        variance = 0
        for cell in cells:
            if len(cell) > 5:
                n = cell[2] + 2
                fell, rose = (cell[5] + 1) / n, (cell[6] + 1) / n
                variance += (fell + rose - (fell - rose) ** 2) / n * (n / cell[2]) ** 2
            else:
                for passed, trials in ((cell[1], cell[2]), (cell[3], cell[4])):
                    share = (passed + 1) / (trials + 2)
                    variance += share * (1 - share) / (trials + 2) * ((trials + 2) / trials) ** 2
        variance /= len(cells) ** 2
        law = stats.norm()
    error = math.sqrt(variance)
    half = law.ppf(1 - CHANCE) * error
    return {
        "cells": cells,
        "difference": mean,
        "low": max(mean - half, -1),
        "high": min(mean + half, 1),
        "chance_if_equal": 2 * law.sf(abs(mean) / error),
        "chance_if_worse_by_3_points": law.sf((mean + 0.03) / error),
    }


def rates():
    draw = random.Random(11)
    many = []
    for scenario in range(12):
        for _ in range(draw.randint(1, 3)):
            many.append([scenario, draw.randint(5, 10), 10, draw.randint(3, 10), 10])
    return [rate([[0, 18, 20, 9, 20]]), rate([[0, 18, 20, 9, 20, 10, 1], [1, 20, 20, 20, 20, 0, 0]]), rate([[0, 5, 5, 5, 5], [1, 2, 4, 3, 8]]), rate(many)]


def at(values, total, share):
    reached = 0
    for value, weight in values:
        reached += weight
        if reached >= share * total * (1 - 1e-12):
            return value
    return values[-1][0]


def estimate(clusters, share):
    values = sorted((value, weight) for weight, found in clusters for value in found)
    total = sum(weight for _, weight in values)
    value = at(values, total, share)
    below = [sum(one <= value for one in found) for _, found in clusters]
    found = sum(weight * number for (weight, _), number in zip(clusters, below)) / total
    squares = sum((weight * (number - found * len(of))) ** 2 for (weight, of), number in zip(clusters, below))
    groups = len(clusters)
    independent = share * (1 - share) * sum(weight**2 for _, weight in values) / total**2
    half = stats.t(groups - 1).ppf(1 - CHANCE) * math.sqrt(max(groups / (groups - 1) * squares / total**2, independent))
    low = at(values, total, share - half) if share > half else 0
    return value, low, at(values, total, share + half) if share + half < 1 else math.inf


def quantiles():
    draw = random.Random(13)
    side = lambda count, slow, weight: [[weight, [round(draw.lognormvariate(6, 0.5) * slow, 3) for _ in range(draw.randint(1, 6))]] for _ in range(count)]
    rows = []
    for base, new, share in [(side(40, 1, 0.5), side(60, 1.3, 0.3), 0.5), (side(150, 1, 1), side(150, 1, 1), 0.95), (side(8, 1, 1), side(8, 2, 1), 0.5)]:
        (b, bl, bh), (n, nl, nh) = estimate(base, share), estimate(new, share)
        low, high = n - b - math.hypot(n - nl, bh - b), n - b + math.hypot(nh - n, b - bl)
        rows.append({"base": base, "new": new, "share": share, "expected": [b, n, low, high]})
    return rows


def plain(value):
    """JSON has no infinity: null stands for it."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, float) and math.isinf(value):
        return None
    return float(value) if not isinstance(value, int) else value


print(json.dumps(plain({"fisher": fisher(), "sign_test": sign_test(), "discoveries": discoveries(), "rank_sum": rank_sum(), "rates": rates(), "quantiles": quantiles()})))
