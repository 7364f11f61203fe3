#!/usr/bin/env python3
"""Writes power.json: the power of the comparison's test, for the tests of src/compare/power.rs.

The integral over the estimated variance is SciPy's. Beside each value stands how often a simulated test finds the fall.
Needs scipy and numpy (written with scipy 1.17.1): python3 power.py > power.json
"""

import json

import numpy as np
from scipy import integrate, stats

CHANCE, LEAST_CLUSTERS = 0.05, 6


def parts(cells, repeats, fall, correlation, common):
    scenario = np.array([cell[0] for cell in cells])
    before = np.array([cell[1] for cell in cells])
    after = before * (1 - fall / before.mean())
    indicator = (scenario[:, None] == np.unique(scenario)[None, :]).astype(float)
    common = min(common, (correlation * before * (1 - before)).mean())
    noise = (before * (1 - before) + after * (1 - after)) * (1 - correlation) / repeats
    night = [np.sqrt(np.maximum(correlation * rate * (1 - rate) - common, 0)) for rate in (before, after)]
    variances = noise @ indicator + sum((one @ indicator) ** 2 for one in night)
    return indicator, before, after, variances, common


def power(cells, repeats, fall, correlation, common, margin):
    indicator, before, after, variances, common = parts(cells, repeats, fall, correlation, common)
    number, scenarios = indicator.shape
    variance = variances.sum() / number**2
    spread = np.sqrt(variance + 2 * common)
    clustered = scenarios >= LEAST_CLUSTERS
    if clustered:
        sizes = indicator.sum(0)
        grown = scenarios / (scenarios - 1) / number**2
        # The mean of the sum of squares about the mean, as a quadratic form.
        about = np.eye(scenarios) - np.outer(sizes, np.ones(scenarios)) / number
        estimate = grown * np.trace(about @ np.diag(variances) @ about.T)
        falls = (before - after) @ indicator
        besides = grown * ((falls - sizes * fall) ** 2).sum() + 2 / (number * repeats + 2) ** 2
        freedom = min(variances.sum() ** 2 / (variances**2).sum(), scenarios - 1)
        reach = stats.t(scenarios - 1).ppf(1 - CHANCE)
    else:
        # The mean of Bonett and Price's variance, over all numbers of pairs that fall and rise.
        estimate, besides, freedom, reach = 0.0, 0.0, None, stats.norm.ppf(1 - CHANCE)
        fells = np.arange(repeats + 1)
        for old, new in zip(before, after):
            down, up = old * (1 - new), new * (1 - old)
            for fell in fells:
                rises = np.arange(repeats - fell + 1)
                chances = stats.multinomial.pmf(
                    np.stack([np.full_like(rises, fell), rises, repeats - fell - rises], axis=1), repeats, [down, up, 1 - down - up]
                )
                shares = ((fell + 1) / (repeats + 2), (rises + 1) / (repeats + 2))
                found = (shares[0] + shares[1] - (shares[0] - shares[1]) ** 2) / (repeats + 2)
                estimate += (chances * found).sum() * ((repeats + 2) / repeats) ** 2
        estimate /= number**2

    def found(share):
        half = reach * np.sqrt(estimate * share + besides)
        return stats.norm.cdf((min(-half, half - margin) + fall) / spread)

    if freedom is None:
        return found(1.0)
    law = stats.chi2(freedom)
    return integrate.quad(lambda q: found(law.ppf(q) / freedom), 0, 1, limit=200)[0]


def simulated(cells, repeats, fall, correlation, common, margin, experiments=20_000):
    random = np.random.default_rng(7)
    indicator, before, after, _, common = parts(cells, repeats, fall, correlation, common)
    number, scenarios = indicator.shape

    def night(rate):
        own = random.standard_normal((experiments, scenarios)) @ indicator.T
        spread = np.sqrt(np.maximum(correlation * rate * (1 - rate) - common, 0))
        all_cells = np.sqrt(common) * random.standard_normal((experiments, 1))
        return random.binomial(repeats, np.clip(rate + all_cells + own * spread, 0, 1))

    base, new = night(before), night(after)
    cell = (new - base) / repeats
    difference = cell.mean(1)
    if scenarios >= LEAST_CLUSTERS:
        sizes = indicator.sum(0)
        squares = ((cell @ indicator - sizes * difference[:, None]) ** 2).sum(1)
        error = np.sqrt(scenarios / (scenarios - 1) * squares / number**2 + 2 / (number * repeats + 2) ** 2)
        reach = stats.t(scenarios - 1).ppf(1 - CHANCE)
    else:
        share = [(passes + 1) / (repeats + 2) for passes in (base, new)]
        error = np.sqrt(sum(one * (1 - one) / (repeats + 2) * ((repeats + 2) / repeats) ** 2 for one in share).sum(1)) / number
        reach = stats.norm.ppf(1 - CHANCE)
    low, high = difference - reach * error, difference + reach * error
    return float(((low <= -margin) & (high < 0)).mean())


def mixed(scenarios, each):
    return [[at // each, round(0.6 + 0.38 * ((at * 37 + 11) % 100) / 100, 6)] for at in range(scenarios * each)]


ROWS = [
    (mixed(150, 1), 4, 0.06, 0.0, 0.0, 0.03),
    (mixed(150, 1), 4, 0.03, 0.0, 0.0, 0.0),
    (mixed(40, 2), 10, 0.05, 0.0, 0.0, 0.03),
    (mixed(12, 3), 20, 0.05, 0.0, 0.0, 0.0),
    (mixed(7, 1), 60, 0.08, 0.0, 0.0, 0.03),
    ([[0, 0.9], [0, 0.8], [1, 0.7]], 100, 0.08, 0.0, 0.0, 0.03),
    ([[0, 0.9]], 200, 0.08, 0.0, 0.0, 0.03),
    (mixed(40, 2), 20, 0.08, 0.05, 0.0, 0.03),
    (mixed(40, 2), 20, 0.08, 0.02, 0.002, 0.03),
    ([[0, 0.9], [0, 0.95], [1, 0.7], [2, 0.8], [3, 0.99], [4, 0.6], [5, 0.85], [5, 0.9], [5, 0.75]], 30, 0.1, 0.01, 0.0, 0.03),
]
NAMES = ["cells", "repeats", "fall", "correlation", "common", "margin"]
rows = [dict(zip(NAMES, row)) | {"power": float(power(*row)), "simulated": simulated(*row)} for row in ROWS]
print(json.dumps({"rows": rows}))
