#!/usr/bin/env python3
"""Writes noise.json: values of statsmodels, SciPy and NumPy for the tests of src/noise/ and src/corrected.rs.

Needs numpy, scipy, statsmodels and pandas (written with 2.4.6, 1.17.1, 0.15.0): python3 noise.py > noise.json

- `mixed`: scores of balanced nested designs, and the restricted-maximum-likelihood variances of statsmodels' MixedLM. In a balanced
  design these equal the analysis of variance, where no part is negative.
- `binary`: verdicts of unbalanced designs; the parts and jackknife intervals by leaving out and estimating everything again.
- `votes`: what a majority of votes leaves, by integrating over the Beta distribution of the judge's chances.
- `corrected`: Rogan and Gladen's rate with the interval of Lang and Reiczigel.
"""

import json
import warnings

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from scipy import integrate, stats

LEAST_CASES = 6


def mixed(draw, cases, conversations, replays, judgings):
    """Scores with planted parts; the replays and the judge's noise are estimated by REML."""
    design, rows = [], []
    for case in range(cases):
        of_case = []
        for conversation in range(conversations):
            user = draw.normal(0.5 + 0.02 * case, 0.12)
            of_replays = []
            for replay in range(replays):
                transcript = draw.normal(user, 0.09)
                scores = [round(draw.normal(transcript, 0.05), 6) for _ in range(judgings)]
                of_replays.append(scores)
                group = f"{case}/{conversation}"
                rows += [(case, group, f"{group}/{replay}", score) for score in scores]
            recorded = [round(draw.normal(draw.normal(user, 0.09), 0.05), 6)]
            of_case.append({"judged": recorded, "replays": of_replays})
        design.append(of_case)
    frame = pd.DataFrame(rows, columns=["case", "conversation", "replay", "score"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = smf.mixedlm(
            "score ~ C(case)", frame, groups="conversation", re_formula="1", vc_formula={"replay": "0 + C(replay)"}
        )
        fit = model.fit(reml=True, method=["powell"], xtol=1e-9, ftol=1e-12, maxiter=10_000)
    recorded = np.array([[one["judged"][0] for one in of_case] for of_case in design])
    judge = float(fit.scale)
    return {
        "cases": design,
        "judge": judge,
        "agent": float(fit.vcomp[0]),
        "between": float(recorded.var(axis=1, ddof=1).mean()) - judge,
    }


def squares(of):
    return float(((np.asarray(of, float) - np.mean(of)) ** 2).sum())


def of_case(case, replayed):
    """The parts of one case, or None."""
    transcripts = [c["judged"] for c in case] + [r for c in case for r in c["replays"]]
    freedom = sum(len(t) - 1 for t in transcripts)
    if len(case) < 2 or freedom == 0:
        return None
    judge = sum(squares(t) for t in transcripts) / freedom
    between = np.var([np.mean(c["judged"]) for c in case], ddof=1) - judge * np.mean([1 / len(c["judged"]) for c in case])
    agent = 0.0
    if replayed:
        many = [c["replays"] for c in case if len(c["replays"]) > 1]
        if not many:
            return None
        free = sum(len(m) - 1 for m in many)
        noise = sum((len(m) - 1) * np.mean([1 / len(r) for r in m]) for m in many)
        agent = (sum(squares([np.mean(r) for r in m]) for m in many) - judge * noise) / free
    return np.array([judge, agent, between])


def parts(cases, weights, replayed):
    found = [(of_case(case, replayed), weight) for case, weight in zip(cases, weights)]
    used = [(one, weight) for one, weight in found if one is not None]
    return sum(one * weight for one, weight in used) / sum(weight for _, weight in used)


def shares(of, replayed):
    judge, agent, between = of
    raw = [judge, agent, between - agent] if replayed else [judge, between]
    return np.array(raw) / (judge + between)


def limited(of, replayed):
    judge, agent, between = of
    between = max(between, 0.0)
    agent = min(max(agent, 0.0), between)
    values = [judge, agent, between - agent] if replayed else [judge, between]
    return np.array(values) / sum(values)


def binary(draw, cases, replayed):
    design = []
    for _ in range(cases):
        rate = draw.beta(4, 2)
        case = []
        for _ in range(int(draw.integers(3, 7))):
            user = draw.beta(5 * rate, 5 * (1 - rate))
            chance = lambda: draw.beta(3 * user + 0.05, 3 * (1 - user) + 0.05)
            judged = lambda: [int(draw.random() < p) for p in [chance()] for _ in range(int(draw.integers(2, 5)))]
            replays = [judged() for _ in range(int(draw.integers(2, 4)))] if replayed else []
            case.append({"judged": judged(), "replays": replays})
        design.append(case)
    weights = [len(case) for case in design]
    whole = parts(design, weights, replayed)
    if cases >= LEAST_CASES:
        without = [[parts(design[:n] + design[n + 1 :], weights[:n] + weights[n + 1 :], replayed) for n in range(cases)]]
        freedom = cases - 1
    else:
        without = []
        for n, case in enumerate(design):
            # A case keeps its weight without one of its conversations.
            others = lambda at: design[:n] + [case[:at] + case[at + 1 :]] + design[n + 1 :]
            without.append([parts(others(at), weights, replayed) for at in range(len(case))])
        freedom = sum(len(case) - 1 for case in design)
    error = np.zeros(3 if replayed else 2)
    for group in without:
        group = np.array([shares(one, replayed) for one in group])
        error += (len(group) - 1) / len(group) * ((group - group.mean(axis=0)) ** 2).sum(axis=0)
    reach = stats.t.ppf(0.975, freedom) * np.sqrt(error)
    rows = []
    for share, half in zip(limited(whole, replayed), reach):
        if 0 < share < 1:
            odds, wide = np.log(share / (1 - share)), half / (share * (1 - share))
            rows.append([share, 1 / (1 + np.exp(wide - odds)), 1 / (1 + np.exp(-odds - wide))])
        else:
            rows.append([share, None, None])
    return {"cases": design, "parts": list(whole), "shares": rows}


def votes(mean, judge, between, count):
    differ = mean * (1 - mean) - judge
    law = stats.beta(mean * judge / differ, (1 - mean) * judge / differ)
    win = lambda p: stats.binom.sf(count // 2, count, p)
    over = lambda of: integrate.quad(lambda u: of(law.ppf(u)), 0, 1, limit=500, epsabs=1e-11)[0]
    once, twice = over(win), over(lambda p: win(p) ** 2)
    after = (twice - once**2) / differ * between
    return {"mean": mean, "judge": judge, "between": between, "votes": count, "left": [once - twice, after]}


def corrected(met, n, found, of_found, kept, of_kept):
    """`found` of `of_found` items labelled not met, and `kept` of `of_kept` labelled met, got the label's verdict."""
    z = stats.norm.ppf(0.975)
    se, sp = found / of_found, kept / of_kept
    estimate = float(np.clip((met / n + se - 1) / (se + sp - 1), 0, 1))
    n2, share = n + z**2, (met + z**2 / 2) / (n + z**2)
    se, sp, m0, m1 = (found + 1) / (of_found + 2), (kept + 1) / (of_kept + 2), of_found + 2, of_kept + 2
    theta = float(np.clip((share + se - 1) / (se + sp - 1), 0, 1))
    v0, v1 = se * (1 - se) / m0, sp * (1 - sp) / m1
    shift = 2 * z**2 * (theta * v1 - (1 - theta) * v0)
    half = z * np.sqrt(share * (1 - share) / n2 + (1 - theta) ** 2 * v0 + theta**2 * v1) / (se + sp - 1)
    low, high = np.clip([theta + shift - half, theta + shift + half], 0, 1)
    return {
        "judged": [met, n],
        "sensitivity": [found, of_found],
        "specificity": [kept, of_kept],
        "rate": [estimate, min(low, estimate), max(high, estimate)],
    }


draw = np.random.default_rng(15)
print(
    json.dumps(
        {
            "mixed": [mixed(draw, 4, 6, 3, 2), mixed(draw, 8, 4, 2, 3)],
            "binary": [binary(draw, 8, True), binary(draw, 3, True), binary(draw, 12, False), binary(draw, 2, False)],
            "votes": [votes(*of) for of in [(0.8, 0.06, 0.05, 3), (0.8, 0.06, 0.05, 5), (0.6, 0.15, 0.02, 3), (0.95, 0.01, 0.03, 9)]],
            "corrected": [
                corrected(*of)
                for of in [
                    (160, 200, 45, 50, 47, 50),
                    (190, 200, 30, 40, 57, 60),
                    (12, 20, 18, 20, 20, 20),
                    (199, 200, 50, 50, 50, 50),
                    (2, 50, 20, 30, 25, 30),
                    (455, 500, 95, 100, 80, 100),
                ]
            ],
        },
        default=float,
    )
)
