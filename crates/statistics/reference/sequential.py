#!/usr/bin/env python3
"""Writes sequential.json: values of SciPy, for the tests of src/sequential/.

Needs scipy (written with 1.17.1): python3 sequential.py > sequential.json
"""

import json
import math

from scipy import integrate, special, stats


def at_least(bound, passes, failures):
    """By the incomplete beta function."""
    a, b = passes + 1, failures + 1
    share = special.betainc(a, b, bound)
    return -math.inf if share == 0 else special.betaln(a, b) + math.log(share) - a * math.log(bound) - failures * math.log1p(-bound)


def at_least_by_integral(bound, passes, failures):
    """By its definition: the likelihood of all rates below the bound."""
    likelihood = lambda q: (q / bound) ** passes * ((1 - q) / (1 - bound)) ** failures / bound
    return math.log(integrate.quad(likelihood, 0, bound, epsabs=0, epsrel=1e-12, limit=500)[0])


def mixtures():
    rows = []
    for bound in (0.3, 0.5, 0.8, 0.95, 0.99):
        for passes, failures in ((0, 0), (1, 0), (0, 1), (20, 0), (0, 3), (3, 7), (57, 3), (30, 30), (400, 100), (950, 50), (9400, 600)):
            found = at_least(bound, passes, failures)
            if passes + failures <= 60:
                assert math.isclose(found, at_least_by_integral(bound, passes, failures), rel_tol=1e-8, abs_tol=1e-8), (bound, passes, failures)
            if math.isfinite(found):
                rows.append([bound, passes, failures, found])
    return rows


def ratios():
    ln = lambda rate, s, f: stats.binom.logpmf(s, s + f, rate)
    return [[bad, good, s, f, ln(good, s, f) - ln(bad, s, f)] for bad, good in ((0.75, 0.9), (0.9, 0.95)) for s, f in ((0, 0), (1, 0), (0, 1), (30, 2), (100, 40))]


def judge(rule, passes, failures):
    bad, good, false_pass, false_fail = rule
    if bad < good:
        for_pass = passes * math.log(good / bad) + failures * math.log((1 - good) / (1 - bad))
        for_fail = -for_pass
    else:
        for_pass, for_fail = at_least(1 - bad, failures, passes), at_least(good, passes, failures)
    if for_fail >= -math.log(false_fail):
        return "fail"
    return "pass" if for_pass >= -math.log(false_pass) else None


def characteristic(rule, round, rounds, rate):
    """By adding whole rounds at once, with the binomial distribution."""
    step = [stats.binom.pmf(k, round, rate) for k in range(round + 1)]
    live, ended, mean = {0: 1.0}, {"pass": 0.0, "fail": 0.0}, 0.0
    for number in range(1, rounds + 1):
        after = {}
        for passes, chance in live.items():
            for k, share in enumerate(step):
                after[passes + k] = after.get(passes + k, 0.0) + chance * share
        trials, live = number * round, {}
        for passes, chance in after.items():
            verdict = judge(rule, passes, trials - passes)
            if verdict:
                ended[verdict] += chance
                mean += chance * trials
            else:
                live[passes] = chance
    undecided = sum(live.values())
    return [ended["pass"], ended["fail"], undecided, mean + undecided * round * rounds]


def characteristics():
    mixture, ratio, suite = [0.8, 0.8, 0.05, 0.05], [0.75, 0.9, 0.10, 0.05], [0.9, 0.95, 0.05, 0.05]
    rows = [[mixture, 1, 60, rate] for rate in (1, 0.95, 0.8, 0.4, 0)]
    rows += [[ratio, 1, 400, rate] for rate in (1, 0.95, 0.9, 0.85, 0.75, 0.3)]
    rows += [[suite, 20, 30, rate] for rate in (0.98, 0.95, 0.9)]
    return [row + [characteristic(*row)] for row in rows]


def least():
    rules = [[0.8, 0.8, 0.05, 0.05], [0.95, 0.95, 0.05, 0.05], [0.475, 0.475, 0.05, 0.05], [0.9, 0.95, 0.05, 0.05], [0.75, 0.9, 0.10, 0.05]]
    first = lambda verdict, of: next(n for n in range(1, 2000) if of(n) == verdict)
    return [[rule, first("pass", lambda n: judge(rule, n, 0)), first("fail", lambda n: judge(rule, 0, n))] for rule in rules]


plain = lambda value: [plain(one) for one in value] if isinstance(value, (list, tuple)) else float(value) if not isinstance(value, int) else value
print(json.dumps({name: plain(of()) for name, of in [("mixtures", mixtures), ("ratios", ratios), ("characteristics", characteristics), ("least", least)]}))
